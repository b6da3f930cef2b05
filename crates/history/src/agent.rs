//! The agents whose conversations can be read, and where they keep them.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// An agent that keeps its conversations on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Agent {
    /// Claude Code: `projects/<slug>/<id>.jsonl` (`crates/jsonl/PROTOCOL.md`, Conversations on disk).
    Claude,
    /// Codex: `sessions/<year>/<month>/<day>/rollout-<time>-<id>.jsonl`.
    Codex,
}

impl Agent {
    /// All agents, in the order of their names.
    pub const ALL: [Self; 2] = [Self::Claude, Self::Codex];

    /// Returns the name: `claude` or `codex`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
        }
    }

    /// The environment variable that moves the agent's folder.
    pub(crate) const fn variable(self) -> &'static str {
        match self {
            Self::Claude => "CLAUDE_CONFIG_DIR",
            Self::Codex => "CODEX_HOME",
        }
    }

    /// The folder in the agent's own that holds the conversations.
    pub(crate) const fn folder(self) -> &'static str {
        match self {
            Self::Claude => "projects",
            Self::Codex => "sessions",
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The agents' own folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFolders {
    /// Claude Code's configuration folder, `~/.claude` by default.
    pub claude: PathBuf,
    /// Codex' folder, `~/.codex` by default.
    pub codex: PathBuf,
}

impl AgentFolders {
    /// Returns the folders for an environment: `CLAUDE_CONFIG_DIR` or `.claude` in `HOME`, and
    /// `CODEX_HOME` or `.codex` in `HOME`. `variable` returns the value of a variable.
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let home = set("HOME").unwrap_or_else(|| "/".into());
        let folder =
            |agent: Agent, name: &str| set(agent.variable()).unwrap_or_else(|| home.join(name));
        Self {
            claude: folder(Agent::Claude, ".claude"),
            codex: folder(Agent::Codex, ".codex"),
        }
    }

    /// The folder of an agent's conversations.
    pub(crate) fn conversations(&self, agent: Agent) -> PathBuf {
        self.of(agent).join(agent.folder())
    }

    /// The agent's own folder.
    pub(crate) fn of(&self, agent: Agent) -> &Path {
        match agent {
            Agent::Claude => &self.claude,
            Agent::Codex => &self.codex,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_from_the_environment() {
        let of = |set: &'static [(&str, &str)]| {
            AgentFolders::from_environment(|name| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| OsString::from(value))
            })
        };
        let default = of(&[("HOME", "/home/u"), ("CODEX_HOME", "")]);
        assert_eq!(
            default.conversations(Agent::Claude),
            Path::new("/home/u/.claude/projects")
        );
        assert_eq!(
            default.conversations(Agent::Codex),
            Path::new("/home/u/.codex/sessions")
        );
        let moved = of(&[("CLAUDE_CONFIG_DIR", "/c"), ("CODEX_HOME", "/x")]);
        assert_eq!((moved.claude, moved.codex), ("/c".into(), "/x".into()));
    }
}
