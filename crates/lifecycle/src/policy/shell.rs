//! Splits a shell command into its simple commands.
//!
//! The grammar is what POSIX shells, bash and zsh share: words, quotes, and the operators between commands.
//! Anything else, such as an expansion or a redirection to a file, makes the result inexact: then the words are a
//! guess, by which a rule may deny, but not allow.

use std::iter::Peekable;
use std::str::Chars;

/// A shell command in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// The words of each simple command.
    pub(super) commands: Vec<Vec<String>>,
    /// Whether the shell runs exactly these words.
    pub(super) is_exact: bool,
}

/// Words that begin a compound command, or change how the next is run.
const KEYWORDS: [&str; 21] = [
    "!", "[[", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "in", "repeat", "select", "then", "time", "until", "while", "foreach",
];

/// Shells whose `-c` takes a command.
const SHELLS: [&str; 5] = ["sh", "bash", "zsh", "dash", "ksh"];

/// Folders in which a program of these names is the shell.
const SHELL_FOLDERS: [&str; 5] = [
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "",
];

/// How deep commands in commands are followed.
const MAX_DEPTH: usize = 4;

impl CommandLine {
    /// Parses a command. One that is passed whole to a shell (`bash -lc '…'`) is that command.
    pub(super) fn parse(text: &str) -> Self {
        let mut line = Self::split(text);
        for _ in 0..MAX_DEPTH {
            let [words] = &line.commands[..] else { break };
            let inner = shell_argument(words).filter(|_| words.len() == 3);
            let Some(inner) = inner.map(Self::split) else {
                break;
            };
            line = Self {
                is_exact: inner.is_exact && line.is_exact,
                ..inner
            };
        }
        line
    }

    fn split(text: &str) -> Self {
        let mut lexer = Lexer::new(text);
        lexer.run();
        let mut line = lexer.line;
        line.is_exact &= !line.commands.is_empty();
        line
    }

    /// Returns every command that may run: also those that programs such as `sudo` or `sh -c` get as arguments.
    pub(super) fn possible_commands(&self) -> Vec<Vec<String>> {
        let mut all = Vec::new();
        collect_possible(&self.commands, MAX_DEPTH, &mut all);
        all
    }
}

/// Programs that run their arguments as a command.
const WRAPPERS: [&str; 22] = [
    "sudo", "doas", "env", "command", "exec", "builtin", "nohup", "nice", "ionice", "time",
    "timeout", "xargs", "stdbuf", "setsid", "eval", "watch", "strace", "chroot", "find", "then",
    "do", "else",
];

fn collect_possible(commands: &[Vec<String>], depth: usize, all: &mut Vec<Vec<String>>) {
    for words in commands {
        let is_assignment = |it: &&String| assigns(it);
        let skipped = words.iter().take_while(is_assignment).count();
        let words = &words[skipped..];
        all.push(words.to_vec());
        let Some(program) = words.first().filter(|_| depth > 0) else {
            continue;
        };
        let program = base_name(program).to_lowercase();
        if WRAPPERS.contains(&&*program) || KEYWORDS.contains(&&*program) {
            // Options of the wrapper may have values, so any word may be the program.
            all.extend((1..words.len()).map(|at| words[at..].to_vec()));
        }
        let scripts = words
            .iter()
            .skip(1)
            .filter(|it| it.contains([' ', ';', '\n', '|', '&']));
        for script in scripts {
            collect_possible(&CommandLine::split(script).commands, depth - 1, all);
        }
    }
}

/// Returns the command that a shell runs, if the words are a shell with `-c` and a command.
fn shell_argument(words: &[String]) -> Option<&str> {
    let [program, option, command, ..] = words else {
        return None;
    };
    let (folder, name) = program.rsplit_once('/').unwrap_or(("", program));
    let is_shell = SHELLS.contains(&name) && SHELL_FOLDERS.contains(&folder);
    let is_command = matches!(&**option, "-c" | "-lc" | "-ic" | "-lic" | "-ilc");
    (is_shell && is_command).then_some(command)
}

/// Returns a program's name without its folder.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn assigns(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '[' || it == ']';
    !name.is_empty() && name.chars().all(is_name)
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// A word of the command.
    Word,
    /// The file of a redirection.
    File,
    /// The descriptor of a redirection.
    Descriptor,
}

struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    line: CommandLine,
    words: Vec<String>,
    word: String,
    /// Whether there is a word, which may be empty.
    has_word: bool,
    /// Whether a part of the word is quoted.
    is_quoted: bool,
    expected: Expected,
    /// Whether an operator needs a command after it.
    needs_command: bool,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.chars().peekable(),
            line: CommandLine {
                commands: Vec::new(),
                is_exact: true,
            },
            words: Vec::new(),
            word: String::new(),
            has_word: false,
            is_quoted: false,
            expected: Expected::Word,
            needs_command: false,
        }
    }

    fn run(&mut self) {
        while let Some(next) = self.rest.next() {
            match next {
                ' ' | '\t' => self.end_word(),
                '\n' => self.end_command(),
                ';' => {
                    self.operator();
                    self.end_command();
                }
                '&' => self.ampersand(),
                '|' => {
                    self.operator();
                    let _ = self.rest.next_if(|it| matches!(it, '|' | '&'));
                    self.end_command();
                    self.needs_command = true;
                }
                '<' | '>' => self.redirection(next),
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => match self.rest.next() {
                    None | Some('\n') => self.inexact(),
                    Some(escaped) => {
                        self.push(escaped);
                        self.is_quoted = true;
                    }
                },
                // Of an expansion, the commands inside it are a guess.
                '$' => {
                    self.inexact();
                    self.push('$');
                }
                '`' | '(' | ')' | '{' | '}' => {
                    self.inexact();
                    self.end_command();
                }
                '*' | '?' | '[' | ']' => {
                    self.inexact();
                    self.push(next);
                }
                '#' | '=' if !self.has_word => {
                    self.inexact();
                    self.push(next);
                }
                _ if next.is_control() => {
                    self.inexact();
                    self.end_word();
                }
                _ => self.push(next),
            }
        }
        self.end_command();
        if self.needs_command {
            self.inexact();
        }
    }

    const fn inexact(&mut self) {
        self.line.is_exact = false;
    }

    fn push(&mut self, next: char) {
        self.word.push(next);
        self.has_word = true;
    }

    /// An operator follows a command.
    fn operator(&mut self) {
        self.end_word();
        if self.words.is_empty() {
            self.inexact();
        }
    }

    fn ampersand(&mut self) {
        if self.rest.next_if_eq(&'>').is_some() {
            self.end_word();
            self.rest.next_if_eq(&'>');
            self.expected = Expected::File;
            return;
        }
        self.operator();
        let is_and = self.rest.next_if_eq(&'&').is_some();
        self.end_command();
        self.needs_command = is_and;
    }

    fn redirection(&mut self, first: char) {
        let is_descriptor = !self.is_quoted && self.word.chars().all(|it| it.is_ascii_digit());
        if is_descriptor {
            self.word.clear();
            self.has_word = false;
        }
        self.end_word();
        let second = self.rest.next_if(|it| matches!(it, '<' | '>' | '&' | '|'));
        self.expected = match (first, second) {
            (_, Some('&')) => Expected::Descriptor,
            ('<', Some(_)) => {
                self.inexact();
                Expected::File
            }
            _ => Expected::File,
        };
    }

    fn single_quoted(&mut self) {
        self.has_word = true;
        self.is_quoted = true;
        loop {
            match self.rest.next() {
                Some('\'') => return,
                Some(next) => self.word.push(next),
                None => return self.inexact(),
            }
        }
    }

    fn double_quoted(&mut self) {
        self.has_word = true;
        self.is_quoted = true;
        loop {
            match self.rest.next() {
                Some('"') => return,
                Some('\\') => match self.rest.next() {
                    Some(next @ ('"' | '\\' | '$' | '`')) => self.word.push(next),
                    Some('\n') | None => self.inexact(),
                    Some(next) => self.word.extend(['\\', next]),
                },
                Some(next) => {
                    if matches!(next, '$' | '`') {
                        self.inexact();
                    }
                    self.word.push(next);
                }
                None => return self.inexact(),
            }
        }
    }

    fn end_word(&mut self) {
        if !std::mem::take(&mut self.has_word) {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let is_quoted = std::mem::take(&mut self.is_quoted);
        let is_harmless = match std::mem::replace(&mut self.expected, Expected::Word) {
            Expected::Word => {
                let is_first = self.words.is_empty();
                let is_special = !is_quoted && KEYWORDS.contains(&&*word) || assigns(&word);
                self.words.push(word);
                !(is_first && is_special)
            }
            Expected::File => word == "/dev/null",
            Expected::Descriptor => {
                word == "-" || !word.is_empty() && word.chars().all(|it| it.is_ascii_digit())
            }
        };
        self.line.is_exact &= is_harmless;
    }

    fn end_command(&mut self) {
        self.end_word();
        if self.expected != Expected::Word {
            self.expected = Expected::Word;
            self.inexact();
        }
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.line.commands.push(words);
            self.needs_command = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(text: &str) -> Option<Vec<String>> {
        let line = CommandLine::parse(text);
        let join = |words: &Vec<String>| words.join("|");
        line.is_exact
            .then(|| line.commands.iter().map(join).collect())
    }

    #[test]
    fn simple_commands_are_split() {
        let is = |text: &str, commands: &[&str]| {
            let expected: Vec<_> = commands.iter().map(|it| (*it).to_owned()).collect();
            assert_eq!(exact(text), Some(expected), "{text}");
        };
        is("git status", &["git|status"]);
        is(
            "a && b || c ; d | e & f\ng",
            &["a", "b", "c", "d", "e", "f", "g"],
        );
        is(r#"echo "a b" 'c;d' e\ f"#, &["echo|a b|c;d|e f"]);
        is(r#"echo "a \" \\ \x""#, &[r#"echo|a " \ \x"#]);
        is("make 2>&1 >/dev/null", &["make"]);
        is("make &> /dev/null", &["make"]);
        is("/bin/bash -lc 'a b && c'", &["a|b", "c"]);
        is("bash -c \"sh -c 'x y'\"", &["x|y"]);
        is("echo ''", &["echo|"]);
        is("ls\n\n", &["ls"]);
    }

    #[test]
    fn what_the_shell_would_change_is_inexact() {
        let texts = [
            "",
            " ",
            "a $(b)",
            "a `b`",
            "a $b",
            "a ${b}",
            "a \"$(b)\"",
            "a \"`b`\"",
            "a $'b'",
            "a > b",
            "a >> b",
            "a >| b",
            "a < b",
            "a << b",
            "a <<< b",
            "a <(b)",
            "a >(b)",
            "a >&b",
            "a 2>b",
            "a &>b",
            "a &&",
            "&& a",
            "a ||",
            "| a",
            "a ;; b",
            "(a)",
            "{ a; }",
            "a {b,c}",
            "a *",
            "a b?",
            "a [b]",
            "X=1 a",
            "X+=1 a",
            "if a; then b; fi",
            "! a",
            "a # b",
            "#a",
            "=a",
            "a\\\nb",
            "a\r",
            "a\0b",
            "a 'b",
            "a \"b",
            "a \\",
            "a() { b; }",
            "while a; do b; done",
            "a >",
            "a 2>&",
            "bash -c 'a $b'",
            "a <&b",
        ];
        for text in texts {
            assert_eq!(exact(text), None, "{text:?}");
        }
    }

    #[test]
    fn commands_in_commands_are_found() {
        let finds = |text: &str| {
            let possible = CommandLine::parse(text).possible_commands();
            let is_rm = |words: &Vec<String>| words.first().is_some_and(|it| base_name(it) == "rm");
            assert!(possible.iter().any(is_rm), "{text}: {possible:?}");
        };
        for text in [
            "rm x",
            "/bin/rm x",
            "a; rm x",
            "a $(rm x)",
            "a `rm x`",
            "sudo -u me rm x",
            "X=1 rm x",
            "env -i X=1 rm x",
            "sh -c 'a; rm x'",
            "sudo bash -c 'rm x'",
            "xargs rm",
            "(rm x)",
            "if a; then rm x; fi",
            "a \"$(rm x)\"",
            "find . -exec rm {} +",
            "a | rm x",
            "r\\m x",
            "'r'm x",
            "eval 'rm x'",
        ] {
            finds(text);
        }
    }
}
