//! The version of the agent that is reproduced.

use std::env;
use std::fmt;

/// An environment variable with the version of an older agent, which is reproduced instead of the
/// newest.
const VARIABLE: &str = "UNDERSTUDY_VERSION";

/// Flags that an older agent refuses, with the first version that has each.
const ADDED: &[(&str, Version)] = &[
    ("--max-budget-usd", Version(2, 0, 28)),
    ("--json-schema", Version(2, 0, 77)),
    ("--effort", Version(2, 1, 100)),
    ("--include-hook-events", Version(2, 1, 100)),
    ("--forward-subagent-text", Version(2, 1, 211)),
];

/// The first version that sends the text of sub-agents if `initialize` asks for it.
const FORWARDS_ON_REQUEST: Version = Version(2, 1, 131);

/// A version of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u32, u32, u32);

impl Default for Version {
    fn default() -> Self {
        Self(2, 1, 330)
    }
}

impl Version {
    /// Returns the version that the environment names, or the newest.
    pub(crate) fn from_environment() -> Result<Self, String> {
        let Ok(text) = env::var(VARIABLE) else {
            return Ok(Self::default());
        };
        Self::parse(&text).ok_or_else(|| format!("{VARIABLE} needs a version, not {text:?}"))
    }

    fn parse(text: &str) -> Option<Self> {
        let numbers: Option<Vec<u32>> = text.split('.').map(|it| it.parse().ok()).collect();
        match numbers?[..] {
            [major, minor, patch] => Some(Self(major, minor, patch)),
            _ => None,
        }
    }

    /// Returns whether this version accepts a flag.
    pub(crate) fn has_flag(self, flag: &str) -> bool {
        let added = ADDED.iter().find(|(name, _)| *name == flag);
        added.is_none_or(|(_, version)| self >= *version)
    }

    /// Returns whether this version sends the text of sub-agents if `initialize` asks for it.
    pub(crate) fn forwards_on_request(self) -> bool {
        self >= FORWARDS_ON_REQUEST
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}
