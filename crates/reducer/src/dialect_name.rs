//! The names of the dialects.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// The protocol that an agent speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DialectName {
    /// Claude Code's stream-json.
    #[default]
    Claude,
    /// Qwen Code's variant of it.
    Qwen,
    /// `codex app-server`.
    Codex,
    /// The Agent Client Protocol, version 1, on stdio.
    Acp,
    /// `gemini --output-format stream-json`; only for reading.
    GeminiStreamJson,
    /// `codex exec --json`; only for reading.
    CodexExec,
    /// `copilot --output-format json`; only for reading.
    CopilotJson,
    /// `opencode run --format json`; only for reading.
    OpencodeRunJson,
}

impl DialectName {
    /// All dialects.
    pub const ALL: [Self; 8] = [
        Self::Claude,
        Self::Qwen,
        Self::Codex,
        Self::Acp,
        Self::GeminiStreamJson,
        Self::CodexExec,
        Self::CopilotJson,
        Self::OpencodeRunJson,
    ];

    /// The label by which a session at a runner names its dialect; without it, it is Claude Code's.
    pub const LABEL: &'static str = "bowline.dialect";

    /// Returns the dialect that the labels of a session name.
    #[must_use]
    pub fn of_labels(labels: &BTreeMap<String, String>) -> Self {
        let named = labels.get(Self::LABEL).and_then(|name| name.parse().ok());
        named.unwrap_or_default()
    }

    /// Returns the name, as on the command line and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Qwen => "qwen",
            Self::Codex => "codex",
            Self::Acp => "acp",
            Self::GeminiStreamJson => "gemini-stream-json",
            Self::CodexExec => "codex-exec",
            Self::CopilotJson => "copilot-json",
            Self::OpencodeRunJson => "opencode-run-json",
        }
    }

    /// Whether its fold is other than Claude Code's.
    pub(crate) const fn has_own_fold(self) -> bool {
        !matches!(self, Self::Claude | Self::Qwen)
    }

    /// Returns the agent that alone speaks it.
    pub(crate) const fn agent(self) -> Option<&'static str> {
        match self {
            Self::Claude => Some("claude"),
            Self::Qwen => Some("qwen"),
            Self::Codex | Self::CodexExec => Some("codex"),
            Self::GeminiStreamJson => Some("gemini"),
            Self::CopilotJson => Some("copilot"),
            Self::OpencodeRunJson => Some("opencode"),
            Self::Acp => None,
        }
    }
}

impl fmt::Display for DialectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for DialectName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A name that is not a dialect's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDialect(String);

impl fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = DialectName::ALL.map(DialectName::as_str).join(", ");
        write!(f, "unknown dialect {:?}; use one of {names}", self.0)
    }
}

impl std::error::Error for UnknownDialect {}

impl FromStr for DialectName {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == name);
        found.ok_or_else(|| UnknownDialect(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_parsed_back() {
        for name in DialectName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        let error = "aider".parse::<DialectName>().unwrap_err();
        assert!(error.to_string().contains("\"aider\""), "{error}");
    }
}
