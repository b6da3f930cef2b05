//! Quoting for shells.

/// A shell to write a command line for.
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
    /// Quotes a word, so that the shell passes exactly these characters on. Words without special
    /// characters stay unchanged. No shell accepts a NUL.
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
            Self::Sh => match shlex::Quoter::new().allow_nul(true).quote(word) {
                Ok(quoted) => quoted.into_owned(),
                // The only error is a NUL that is not allowed.
                Err(_) => word.to_owned(),
            },
            // fish, "Quotes": between single quotes only `\'` and `\\` mean something else.
            Self::Fish => format!("'{}'", word.replace('\\', r"\\").replace('\'', r"\'")),
            Self::PowerShell => format!("'{}'", doubled(word)),
        }
    }

    /// Returns the command line of a program and its arguments.
    #[must_use]
    pub fn line<'a>(self, program: &str, args: impl IntoIterator<Item = &'a str>) -> String {
        let mut line = self.program(program);
        for arg in args {
            line.push(' ');
            line.push_str(&self.quote(arg));
        }
        line
    }

    /// Returns a command line that passes a file to a program's standard input.
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

    /// Quotes the program. PowerShell runs a quoted word only after `&`. In the other shells a plain
    /// word with `=` would be an assignment here.
    fn program(self, program: &str) -> String {
        match self {
            Self::PowerShell => format!("& {}", self.quoted(program)),
            _ if program.contains('=') => self.quoted(program),
            _ => self.quote(program),
        }
    }

    fn is_plain(self, word: &str) -> bool {
        // PowerShell splits `-a.b` and interprets `--`.
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

/// Doubles the quotes of a word (PowerShell, about_Quoting_Rules). PowerShell treats the typographic
/// quotes U+2018 to U+201B as single quotes, too.
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

    /// Unquotes a word by the rules of fish.
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

    /// Unquotes a word by the rules of PowerShell.
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
        fn fish_restores_any_word(word in "[^\0]*") {
            prop_assert_eq!(fish(&Shell::Fish.quote(&word)), word);
        }

        #[test]
        fn fish_restores_quotes_and_backslashes(word in r"['\\a\n ]*") {
            prop_assert_eq!(fish(&Shell::Fish.quote(&word)), word);
        }

        #[test]
        fn power_shell_restores_any_word(word in "[^\0]*") {
            prop_assert_eq!(power_shell(&Shell::PowerShell.quote(&word)), word);
        }

        #[test]
        fn power_shell_restores_quotes(word in "['\u{2018}-\u{201b}a$` ]*") {
            prop_assert_eq!(power_shell(&Shell::PowerShell.quote(&word)), word);
        }
    }

    #[test]
    fn plain_words_stay_unquoted() {
        assert_eq!(Shell::Sh.quote("--model=opus"), "--model=opus");
        assert_eq!(Shell::Sh.quote(""), "''");
        assert_eq!(Shell::Sh.quote("=ls"), "'=ls'");
        assert_eq!(Shell::Sh.quote("it's"), r#""it's""#);
        assert_eq!(Shell::Sh.quote("a $HOME"), "'a $HOME'");
        assert_eq!(Shell::Fish.quote(r"it's \"), r"'it\'s \\'");
        assert_eq!(Shell::PowerShell.quote("it's"), "'it''s'");
        assert_eq!(Shell::PowerShell.quote("-a.b"), "'-a.b'");
    }

    #[test]
    fn program_is_always_a_command() {
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
