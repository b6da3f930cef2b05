//! The command line: the understudy's own flags, the agent's flags that it implements, and the
//! agent's flags that it ignores.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::version::Version;

/// Flags of the agent that take a value and are ignored. Without this table their values would be
/// taken for prompts.
const IGNORED_WITH_VALUE: &[&str] = &[
    "--output-format",
    "--permission-prompts",
    "--fallback-model",
    "--effort",
    "--thinking",
    "--max-thinking-tokens",
    "--thinking-display",
    "--setting-sources",
    "--managed-settings",
    "--project-config-root",
    "--initialize-fields",
    "--system-prompt",
    "--system-prompt-file",
    "--append-system-prompt",
    "--append-system-prompt-file",
    "--append-subagent-system-prompt",
    "--system-prompt-snapshot",
    "--max-turns",
    "--task-budget",
    "--max-budget-usd",
    "--json-schema",
    "--agent",
    "--agents",
    "--plugin-dir",
    "--plugin-dir-no-mcp",
    "--plugin-url",
    "--debug-file",
    "--resume-session-at",
    "--resume-drops-turn",
    "-n",
    "--name",
    "-w",
    "--worktree",
];

/// Flags of the agent that take all words up to the next flag and are ignored.
const IGNORED_WITH_VALUES: &[&str] = &[
    "--allowedTools",
    "--allowed-tools",
    "--disallowedTools",
    "--disallowed-tools",
    "--tools",
    "--mcp-config",
    "--add-dir",
    "--betas",
    "--file",
];

/// The names of the dialects, for `--dialect`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DialectName {
    /// Claude Code's stream-json.
    #[default]
    Claude,
    /// `codex app-server`.
    Codex,
    /// The Agent Client Protocol, version 1.
    Acp,
}

impl DialectName {
    /// Parses the value of `--dialect`.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "acp" => Self::Acp,
            _ => return None,
        })
    }
}

/// The parsed command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) help: bool,
    pub(crate) version: bool,
    pub(crate) play: Option<PathBuf>,
    pub(crate) scenario: Option<OsString>,
    pub(crate) speed: Option<f64>,
    pub(crate) pace: Option<f64>,
    pub(crate) exit: Option<u8>,
    pub(crate) resume: Option<String>,
    pub(crate) continues: bool,
    pub(crate) fork: bool,
    pub(crate) session_id: Option<String>,
    pub(crate) partials: bool,
    pub(crate) replay: bool,
    pub(crate) forward: bool,
    pub(crate) asks_host: bool,
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<String>,
    pub(crate) may_bypass: bool,
    pub(crate) stream_input: bool,
    pub(crate) text_input: bool,
    pub(crate) settings: Option<String>,
    pub(crate) prompt: Option<String>,
    pub(crate) dialect: DialectName,
    pub(crate) state: Option<PathBuf>,
    /// The version of the agent whose behaviour is reproduced.
    pub(crate) as_version: Version,
    /// A flag that this version does not have, as it was given.
    pub(crate) unknown: Option<String>,
}

/// The remaining words of the command line.
struct Words {
    rest: std::vec::IntoIter<String>,
    /// The value of `--flag=value`.
    attached: Option<String>,
}

impl Words {
    fn value(&mut self) -> Option<String> {
        self.attached.take().or_else(|| self.rest.next())
    }

    /// Returns the value, unless another flag follows.
    fn optional(&mut self) -> Option<String> {
        self.attached.take().or_else(|| self.plain())
    }

    fn dialect(&mut self) -> Result<DialectName, String> {
        let name = self.value().unwrap_or_default();
        DialectName::parse(&name)
            .ok_or_else(|| format!("--dialect needs claude, codex or acp, not {name:?}"))
    }

    fn plain(&mut self) -> Option<String> {
        let next = self.rest.as_slice().first()?;
        if next.starts_with('-') {
            None
        } else {
            self.rest.next()
        }
    }

    fn number<T: std::str::FromStr>(&mut self, flag: &str) -> Result<Option<T>, String> {
        let value = self
            .value()
            .ok_or_else(|| format!("{flag} needs a number"))?;
        value
            .parse()
            .map(Some)
            .map_err(|_| format!("{flag} needs a number, not {value:?}"))
    }
}

impl Options {
    /// Parses the arguments, without the program name.
    pub(crate) fn parse(
        args: impl Iterator<Item = OsString>,
        as_version: Version,
    ) -> Result<Self, String> {
        let all: Vec<String> = args.map(|arg| arg.to_string_lossy().into_owned()).collect();
        let mut words = Words {
            rest: all.into_iter(),
            attached: None,
        };
        let mut options = Self {
            as_version,
            ..Self::default()
        };
        let mut only_words = false;
        while let Some(word) = words.rest.next() {
            if only_words || word == "-" || !word.starts_with('-') {
                options.prompt.get_or_insert(word);
            } else if word == "--" {
                only_words = true;
            } else {
                let (flag, value) = split(&word);
                if !as_version.has_flag(flag) {
                    options.unknown.get_or_insert_with(|| word.clone());
                }
                words.attached = value;
                options.flag(flag, &mut words)?;
            }
        }
        Ok(options)
    }

    fn flag(&mut self, flag: &str, words: &mut Words) -> Result<(), String> {
        match flag {
            "-h" | "--help" => self.help = true,
            "-v" | "--version" => self.version = true,
            "--play" => self.play = words.value().map(PathBuf::from),
            "--scenario" => self.scenario = words.value().map(OsString::from),
            "--speed" => self.speed = words.number(flag)?,
            "--pace" => self.pace = words.number(flag)?,
            "--state" => self.state = words.value().map(PathBuf::from),
            "--dialect" => self.dialect = words.dialect()?,
            "--exit" => self.exit = words.number(flag)?,
            _ => self.real_flag(flag, words),
        }
        Ok(())
    }

    fn real_flag(&mut self, flag: &str, words: &mut Words) {
        match flag {
            "-r" | "--resume" => {
                self.resume = words.optional();
                self.continues |= self.resume.is_none();
            }
            "-c" | "--continue" => self.continues = true,
            "--fork-session" => self.fork = true,
            "--session-id" => self.session_id = words.value(),
            "--include-partial-messages" => self.partials = true,
            "--replay-user-messages" => self.replay = true,
            "--forward-subagent-text" => self.forward = true,
            "--permission-prompt-tool" => {
                self.asks_host = words.value().as_deref() == Some("stdio");
            }
            "--settings" => self.settings = words.value(),
            "--model" => self.model = words.value(),
            "--permission-mode" => self.mode = words.value(),
            "--dangerously-skip-permissions" => {
                self.may_bypass = true;
                self.mode
                    .get_or_insert_with(|| "bypassPermissions".to_owned());
            }
            "--allow-dangerously-skip-permissions" => self.may_bypass = true,
            "--input-format" => self.input_format(words.value().as_deref()),
            _ if IGNORED_WITH_VALUE.contains(&flag) => drop(words.value()),
            _ if IGNORED_WITH_VALUES.contains(&flag) => {
                if words.attached.take().is_none() {
                    while words.plain().is_some() {}
                }
            }
            _ => words.attached = None,
        }
    }

    fn input_format(&mut self, format: Option<&str>) {
        self.stream_input = format == Some("stream-json");
        self.text_input = format == Some("text");
    }
}

/// Splits `--flag=value`. Short flags have no such form.
fn split(word: &str) -> (&str, Option<String>) {
    match word.split_once('=') {
        Some((flag, value)) if flag.starts_with("--") => (flag, Some(value.to_owned())),
        _ => (word, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Options {
        let args = line.split_whitespace().map(OsString::from);
        Options::parse(args, Version::default()).unwrap()
    }

    #[test]
    fn values_of_ignored_flags_are_no_prompt() {
        let options = parse(
            "-p --output-format stream-json --verbose --allowedTools Bash Read --settings {} \
             --mcp-config a.json --max-turns 3 --made-up hello",
        );
        assert_eq!(options.prompt.as_deref(), Some("hello"));
    }

    #[test]
    fn values_may_be_attached() {
        let options = parse("--resume=abc --model=m --settings={\"a\":1} --permission-mode plan");
        assert_eq!(options.resume.as_deref(), Some("abc"));
        assert_eq!(options.model.as_deref(), Some("m"));
        assert_eq!(options.mode.as_deref(), Some("plan"));
        assert!(parse("--resume --verbose").continues);
    }

    #[test]
    fn wrong_number_is_refused() {
        let args = ["--pace", "fast"].iter().map(OsString::from);
        let result = Options::parse(args, Version::default());
        assert!(result.unwrap_err().contains("--pace needs a number"));
    }
}
