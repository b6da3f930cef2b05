//! The values that options take.

use std::path::PathBuf;
use std::sync::Arc;

use crate::private_file::PrivateFile;

/// How the agent talks to its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentMode {
    /// JSON lines in both directions, turn after turn: what a dialogue session speaks.
    #[default]
    Dialogue,
    /// One prompt, one answer (`--print`).
    Print(PrintFormat),
    /// A person sits in front of it.
    Interactive,
}

/// What an agent with one prompt prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrintFormat {
    /// The last answer as text.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// JSON lines as they come.
    StreamJson,
}

/// A JSON document for the agent.
#[derive(Clone, Debug)]
pub enum AgentDocument {
    /// JSON in the argument itself, which every user of the machine can read.
    Json(String),
    /// A file of the host's.
    File(PathBuf),
    /// A file that nobody else can open: for documents with secrets. A session keeps it until its
    /// end.
    Private(Arc<PrivateFile>),
}

/// A text for the agent.
#[derive(Clone, Debug)]
pub enum AgentText {
    /// In the argument itself.
    Inline(String),
    /// A file of the host's.
    File(PathBuf),
}

/// How hard the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// `low`.
    Low,
    /// `medium`.
    Medium,
    /// `high`.
    High,
    /// `xhigh`.
    ExtraHigh,
    /// `max`.
    Max,
}

impl Effort {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::ExtraHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// Whether the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Thinking {
    /// `enabled`.
    Enabled,
    /// `adaptive`.
    Adaptive,
    /// `disabled`.
    Disabled,
}

impl Thinking {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Adaptive => "adaptive",
            Self::Disabled => "disabled",
        }
    }
}

/// How far permissions may be left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipPermissions {
    /// Not at all.
    #[default]
    Never,
    /// The host may switch to it later.
    Allowed,
    /// From the start. The agent refuses it to root.
    Now,
}

/// Who answers when the agent must ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionPrompts {
    /// The host, or the permission tool.
    Host,
    /// Nobody: what would ask is denied.
    Nobody,
}

/// A place that the agent reads settings from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingSource {
    /// The user's.
    User,
    /// The project's.
    Project,
    /// The project's on this machine.
    Local,
}

impl SettingSource {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}
