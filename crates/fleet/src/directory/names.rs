//! Names of subjects and keys.

use std::fmt;
use std::str::FromStr;

use bowline_process::SessionId;
use bowline_wire::Epoch;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Longest id of a runner, in bytes.
const MAX_RUNNER_ID: usize = 64;

/// Identifies a runner of the fleet: 1 to 64 letters, digits, `-` or `_`, which a subject and a key can have.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunnerId(String);

/// A text that is not the id of a runner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a runner; use 1 to 64 letters, digits, - or _")]
pub struct BadName;

impl RunnerId {
    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunnerId {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_whole = !text.is_empty() && text.len() <= MAX_RUNNER_ID;
        if is_whole && text.bytes().all(is_allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadName)
        }
    }
}

impl fmt::Display for RunnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for RunnerId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RunnerId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// Returns the subject of a session's log. The epoch is a part of it, so that a runner that was cut off and the
/// one that took the session over never write to the same subject.
#[must_use]
pub fn log_subject(session: SessionId, epoch: Epoch) -> String {
    format!("bl.log.{session}.{epoch}")
}

/// Returns the filter of all epochs of a session's log.
#[must_use]
pub fn log_filter(session: SessionId) -> String {
    format!("bl.log.{session}.>")
}

/// Returns the name of the file with the files of a session's conversation.
#[must_use]
pub fn file_name(session: SessionId, epoch: Epoch) -> String {
    format!("{session}/{epoch}")
}

/// Returns the subject on which a runner accepts links.
#[must_use]
pub fn link_subject(runner: &RunnerId) -> String {
    format!("bl.link.{runner}")
}

/// Returns the subject on which a runner that advertises itself lists its sessions.
#[must_use]
pub fn sessions_subject(runner: &RunnerId) -> String {
    format!("bl.sessions.{runner}")
}

/// A conversation of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationKey {
    /// The agent's protocol, such as `claude`.
    pub agent: String,
    /// The agent's id of the conversation.
    pub conversation: String,
}

impl ConversationKey {
    /// Names a conversation.
    #[must_use]
    pub fn new(agent: impl Into<String>, conversation: impl Into<String>) -> Self {
        Self {
            agent: agent.into(),
            conversation: conversation.into(),
        }
    }

    /// Returns the key of its claim.
    #[must_use]
    pub fn key(&self) -> String {
        claim_key(&self.agent, &self.conversation)
    }
}

/// Returns the key of the claim of an agent's conversation. A byte that a key cannot have is written as `=XX`.
fn claim_key(agent: &str, conversation: &str) -> String {
    let mut key = String::new();
    for (n, part) in [agent, conversation].into_iter().enumerate() {
        if n > 0 {
            key.push('.');
        }
        for byte in part.bytes() {
            if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
                key.push(char::from(byte));
            } else {
                key.push_str(&format!("={byte:02X}"));
            }
        }
    }
    key
}
