//! Words as a shell takes them.

/// A shell that a command line can be written for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shell {
    /// POSIX `sh`, and those that keep its quoting: dash, bash, zsh, ksh.
    #[default]
    Sh,
    /// fish.
    Fish,
    /// PowerShell 7.3 and later. Older ones break words with `"` on their way to a program.
    PowerShell,
}

impl Shell {
    /// One word, quoted so that the shell passes on exactly these characters.
    ///
    /// What is plain in every shell stays as it is. A NUL cannot be part of a word in any.
    #[must_use]
    pub fn quote(self, word: &str) -> String {
        if self.is_plain(word) {
            word.to_owned()
        } else {
            self.quoted(word)
        }
    }

    fn quoted(self, word: &str) -> String {
        match self {
            // POSIX, 2.2.2: nothing is special between single quotes, and a quote ends them.
            Self::Sh => format!("'{}'", word.replace('\'', r"'\''")),
            // fish, "Quotes": between single quotes only `\'` and `\\` mean something else.
            Self::Fish => format!("'{}'", word.replace('\\', r"\\").replace('\'', r"\'")),
            Self::PowerShell => format!("'{}'", doubled(word)),
        }
    }

    /// A command line of a program and its arguments.
    #[must_use]
    pub fn line<'a>(self, program: &str, args: impl IntoIterator<Item = &'a str>) -> String {
        let mut line = self.program(program);
        for arg in args {
            line.push(' ');
            line.push_str(&self.quote(arg));
        }
        line
    }

    /// A command line that gives a file's bytes to a program's standard input.
    #[must_use]
    pub fn piped<'a>(
        self,
        file: &str,
        program: &str,
        args: impl IntoIterator<Item = &'a str>,
    ) -> String {
        let file = self.quote(file);
        let line = self.line(program, args);
        match self {
            Self::Sh | Self::Fish => format!("cat {file} | {line}"),
            Self::PowerShell => format!("Get-Content -Raw -LiteralPath {file} | {line}"),
        }
    }

    /// A quoted word is a value to PowerShell, and a command only behind `&`. In the others a plain
    /// word with `=` would be an assignment in this place.
    fn program(self, program: &str) -> String {
        match self {
            Self::PowerShell => format!("& {}", self.quoted(program)),
            _ if program.contains('=') => self.quoted(program),
            _ => self.quote(program),
        }
    }

    fn is_plain(self, word: &str) -> bool {
        // PowerShell parts `-a.b` and takes `--` for itself: only what is certain stays bare.
        let marks: &[u8] = match self {
            Self::Sh | Self::Fish => b"-_./:@+,=",
            Self::PowerShell => b"_/",
        };
        // zsh expands `=word`.
        !word.is_empty()
            && !word.starts_with('=')
            && word
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || marks.contains(&it))
    }
}

/// PowerShell, about_Quoting_Rules: between single quotes a quote is written twice. It takes the
/// typographic ones (U+2018 to U+201B) for quotes too.
fn doubled(word: &str) -> String {
    let mut text = String::with_capacity(word.len());
    for c in word.chars() {
        text.push(c);
        if matches!(c, '\'' | '\u{2018}'..='\u{201b}') {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What fish makes of a word, by the rules of its "Quotes" page: bare, or in single quotes.
    fn fish(word: &str) -> String {
        let Some(inner) = word.strip_prefix('\'').and_then(|it| it.strip_suffix('\'')) else {
            return word.to_owned();
        };
        let (mut text, mut chars) = (String::new(), inner.chars().peekable());
        while let Some(c) = chars.next() {
            match (c, chars.peek()) {
                ('\\', Some(&next @ ('\\' | '\''))) => {
                    chars.next();
                    text.push(next);
                }
                ('\'', _) => panic!("the quotes end inside {word}"),
                _ => text.push(c),
            }
        }
        text
    }

    /// What PowerShell makes of a word: bare, or verbatim in single quotes of any kind.
    fn power_shell(word: &str) -> String {
        let is_quote = |c: &char| matches!(c, '\'' | '\u{2018}'..='\u{201b}');
        let mut chars = word.chars().peekable();
        if chars.next_if(is_quote).is_none() {
            assert!(
                word.chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_/".contains(c)),
                "{word}"
            );
            return word.to_owned();
        }
        let mut text = String::new();
        while let Some(c) = chars.next() {
            if is_quote(&c) {
                match chars.next_if(is_quote) {
                    Some(second) => text.push(second),
                    None => {
                        assert_eq!(chars.next(), None, "the quotes end inside {word}");
                        return text;
                    }
                }
            } else {
                text.push(c);
            }
        }
        panic!("the quotes never end in {word}")
    }

    proptest! {
        #[test]
        fn fish_passes_on_what_was_quoted(word in "[^\0]*") {
            prop_assert_eq!(fish(&Shell::Fish.quote(&word)), word);
        }

        #[test]
        fn fish_passes_on_quotes_and_backslashes(word in r"['\\a\n ]*") {
            prop_assert_eq!(fish(&Shell::Fish.quote(&word)), word);
        }

        #[test]
        fn power_shell_passes_on_what_was_quoted(word in "[^\0]*") {
            prop_assert_eq!(power_shell(&Shell::PowerShell.quote(&word)), word);
        }

        #[test]
        fn power_shell_passes_on_quotes_of_every_kind(word in "['\u{2018}-\u{201b}a$` ]*") {
            prop_assert_eq!(power_shell(&Shell::PowerShell.quote(&word)), word);
        }
    }

    #[test]
    fn plain_words_stay_as_they_are() {
        assert_eq!(Shell::Sh.quote("--model=opus"), "--model=opus");
        assert_eq!(Shell::Sh.quote(""), "''");
        assert_eq!(Shell::Sh.quote("=ls"), "'=ls'");
        assert_eq!(Shell::Sh.quote("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(Shell::Fish.quote(r"it's \"), r"'it\'s \\'");
        assert_eq!(Shell::PowerShell.quote("it's"), "'it''s'");
        assert_eq!(Shell::PowerShell.quote("-a.b"), "'-a.b'");
    }

    #[test]
    fn a_program_is_never_taken_for_something_else() {
        assert_eq!(Shell::Sh.line("A=1", ["x"]), "'A=1' x");
        assert_eq!(
            Shell::PowerShell.line("/bin/x", ["--", "y"]),
            "& '/bin/x' '--' y"
        );
        assert_eq!(
            Shell::PowerShell.piped("a b", "x", []),
            "Get-Content -Raw -LiteralPath 'a b' | & 'x'"
        );
    }
}
