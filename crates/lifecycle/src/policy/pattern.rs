//! Wildcards in one word: `*` stands for any characters, `?` for one.

/// How strictly a text is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// Exactly: for rules that allow.
    Exact,
    /// Whatever the case of ASCII letters, since some file systems ignore it: for rules that deny or ask.
    Loose,
}

impl Strictness {
    /// Returns whether two texts are the same.
    pub(super) fn is_equal(self, left: &str, right: &str) -> bool {
        match self {
            Self::Exact => left == right,
            Self::Loose => left.eq_ignore_ascii_case(right),
        }
    }

    fn is_same(self, left: char, right: char) -> bool {
        left == right || self == Self::Loose && left.eq_ignore_ascii_case(&right)
    }
}

/// Returns whether a pattern matches a whole text. Takes time proportional to the product of their lengths.
pub(super) fn matches(pattern: &str, text: &str, strictness: Strictness) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut next) = (0, 0);
    // Where the last `*` was, and up to where it has matched.
    let mut star = None;
    while next < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, next));
                at += 1;
            }
            Some(&it) if it == '?' || strictness.is_same(it, text[next]) => {
                at += 1;
                next += 1;
            }
            _ => {
                let Some((star_at, matched)) = star else {
                    return false;
                };
                star = Some((star_at, matched + 1));
                at = star_at + 1;
                next = matched + 1;
            }
        }
    }
    pattern[at..].iter().all(|it| *it == '*')
}

/// Returns whether a pattern has a wildcard.
pub(super) fn has_wildcard(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_whole_text() {
        let exact = |pattern, text| matches(pattern, text, Strictness::Exact);
        assert!(exact("*", "") && exact("a*c", "abbc") && exact("a*b*c", "aXbYbZc"));
        assert!(exact("mcp__*__get_?", "mcp__x__get_1"));
        assert!(!exact("a*c", "abcd") && !exact("a", "A") && !exact("?", ""));
        assert!(matches("r?AD", "Read", Strictness::Loose));
    }

    #[test]
    fn many_stars_take_polynomial_time() {
        let pattern = "a*".repeat(200) + "b";
        assert!(!matches(&pattern, &"a".repeat(2000), Strictness::Exact));
    }
}
