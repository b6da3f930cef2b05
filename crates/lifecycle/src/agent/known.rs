//! The agents that are known by name: program, arguments and protocol.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use bowline_reducer::dialect::DialectName;

/// An agent that is known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KnownAgent {
    /// Its name, which is that of its program.
    pub name: &'static str,
    /// The protocols that it can be driven by, the preferred one first, each with the arguments that select
    /// it.
    pub dialects: &'static [(DialectName, &'static [&'static str])],
    /// How it is installed.
    pub install: &'static str,
}

impl KnownAgent {
    /// All known agents.
    // Arguments: `--help` of the versions that PROTOCOL.md, PROTOCOL-codex.md and PROTOCOL-acp.md name.
    // Gemini CLI has `--acp` since 0.33.
    pub const ALL: [Self; 6] = [
        Self {
            name: "claude",
            dialects: &[(DialectName::Claude, &[])],
            install: "npm install -g @anthropic-ai/claude-code",
        },
        Self {
            name: "codex",
            dialects: &[(DialectName::Codex, &["app-server"])],
            install: "npm install -g @openai/codex",
        },
        Self {
            name: "gemini",
            dialects: &[(DialectName::Acp, &["--acp"])],
            install: "npm install -g @google/gemini-cli",
        },
        Self {
            name: "opencode",
            dialects: &[(DialectName::Acp, &["acp"])],
            install: "npm install -g opencode-ai",
        },
        Self {
            name: "qwen",
            dialects: &[
                (DialectName::Acp, &["--acp"]),
                (
                    DialectName::Qwen,
                    &[
                        "--input-format",
                        "stream-json",
                        "--output-format",
                        "stream-json",
                        "--include-partial-messages",
                    ],
                ),
            ],
            install: "npm install -g @qwen-code/qwen-code",
        },
        Self {
            name: "copilot",
            dialects: &[(DialectName::Acp, &["--acp"])],
            install: "npm install -g @github/copilot",
        },
    ];

    /// Finds an agent by its name, or by the path of its program.
    #[must_use]
    pub fn find(program: &OsStr) -> Option<&'static Self> {
        let name = Path::new(program).file_stem()?;
        Self::ALL.iter().find(|it| name == it.name)
    }

    /// Returns the preferred protocol.
    #[must_use]
    pub const fn dialect(&self) -> DialectName {
        self.dialects[0].0
    }

    /// Returns the arguments that select a protocol; none for one that the agent is not known to speak.
    #[must_use]
    pub fn args(&self, dialect: DialectName) -> Vec<OsString> {
        let known = self.dialects.iter().find(|(it, _)| *it == dialect);
        let args = known.map_or(&[][..], |(_, args)| args);
        args.iter().map(OsString::from).collect()
    }

    /// Returns the protocol that a command line speaks, such as that of a session at a runner: the one whose
    /// arguments it begins with, or else Claude Code's.
    #[must_use]
    pub fn dialect_of(program: &OsStr, args: &[impl AsRef<OsStr>]) -> DialectName {
        let begins = |with: &[&str]| {
            let mut args = args.iter().map(AsRef::as_ref);
            with.iter().all(|it| args.next() == Some(OsStr::new(it)))
        };
        let dialects = Self::find(program).map_or(&[][..], |agent| agent.dialects);
        let found = dialects.iter().find(|(_, with)| begins(with));
        found.map_or(DialectName::Claude, |(dialect, _)| *dialect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_is_found_by_name_or_path() {
        let name = |program: &str| KnownAgent::find(OsStr::new(program)).map(|it| it.name);
        assert_eq!(name("codex"), Some("codex"));
        assert_eq!(name("/opt/bin/gemini"), Some("gemini"));
        assert_eq!(name("/opt/codex/bin/other"), None);
    }

    #[test]
    fn command_line_tells_its_protocol() {
        for agent in &KnownAgent::ALL {
            for (dialect, _) in agent.dialects {
                let mut args = agent.args(*dialect);
                args.push("--more".into());
                let found = KnownAgent::dialect_of(OsStr::new(agent.name), &args);
                assert_eq!(found, *dialect, "{}", agent.name);
            }
        }
        let other = KnownAgent::dialect_of(OsStr::new("sh"), &["app-server"]);
        assert_eq!(other, DialectName::Claude);
    }
}
