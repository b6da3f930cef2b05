//! Patterns of simple commands.

use super::pattern::{self, Strictness};
use super::shell::base_name;

/// A pattern of a simple command, word by word. A last word `*` stands for any further words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandPattern(Vec<String>);

impl CommandPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// It is empty, or has an operator of the shell.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains([';', '&', '|', '<', '>', '`', '$', '\n', '(', ')']) {
            return Err("has an operator of the shell; write one pattern for each simple command");
        }
        let words = shlex::split(text).ok_or("has a quote without its end; close it")?;
        if words.is_empty() {
            return Err("is empty; write `*` for any command");
        }
        Ok(Self(words))
    }

    /// Returns whether it matches the words of a command.
    pub(super) fn matches(&self, words: &[String], strictness: Strictness) -> bool {
        let (pattern, is_open) = match self.0.split_last() {
            Some((last, before)) if last == "*" => (before, true),
            _ => (&self.0[..], false),
        };
        let is_length = words.len() == pattern.len() || is_open && words.len() > pattern.len();
        let mut pairs = pattern.iter().zip(words).enumerate();
        is_length && pairs.all(|(at, (pattern, word))| is_word(at, pattern, word, strictness))
    }
}

fn is_word(at: usize, pattern: &str, word: &str, strictness: Strictness) -> bool {
    if strictness == Strictness::Loose {
        let is_name = at == 0 && !pattern.contains('/');
        let word = if is_name { base_name(word) } else { word };
        return pattern::matches(pattern, word, strictness);
    }
    if pattern != "*" && pattern::has_wildcard(pattern) {
        // `src/*` is no path out of the folder, and `*.md` no option.
        let leaves = word.split('/').any(|part| part == "..");
        let is_option = word.starts_with('-') && !pattern.starts_with('-');
        if leaves || is_option {
            return false;
        }
    }
    pattern::matches(pattern, word, strictness)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, command: &str, strictness: Strictness) -> bool {
        let words: Vec<_> = command.split(' ').map(str::to_owned).collect();
        let pattern = CommandPattern::parse(pattern).unwrap();
        pattern.matches(&words, strictness)
    }

    #[test]
    fn allowed_words_match_one_by_one() {
        let allows = |pattern, command| matches(pattern, command, Strictness::Exact);
        assert!(allows("git status", "git status") && allows("git *", "git"));
        assert!(allows("git *", "git log -p") && allows("git * HEAD", "git show HEAD"));
        assert!(allows("cat src/*.rs", "cat src/a/b.rs"));
        for command in ["git status -s", "gitx status", "./git status", "GIT status"] {
            assert!(!allows("git status", command), "{command}");
        }
        assert!(!allows("cat src/*", "cat src/../../etc/passwd"));
        assert!(!allows("cat *.md", "cat --output=x.md"));
        assert!(allows("cat *", "cat --output=x.md"));
    }

    #[test]
    fn denied_words_match_however_they_are_written() {
        let denies = |pattern, command| matches(pattern, command, Strictness::Loose);
        for command in ["rm x", "/bin/rm x", "RM x", "../../bin/rm -rf /"] {
            assert!(denies("rm *", command), "{command}");
        }
        assert!(denies("git push --force*", "git push --force-with-lease"));
        assert!(!denies("rm *", "rmdir x"));
    }

    #[test]
    fn pattern_of_several_commands_is_refused() {
        for text in ["", "a && b", "a; b", "a | b", "a $(b)", "a > b", "a 'b"] {
            assert!(CommandPattern::parse(text).is_err(), "{text}");
        }
    }
}
