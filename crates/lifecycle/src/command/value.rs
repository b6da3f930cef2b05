//! Values of options.

use std::path::PathBuf;
use std::sync::Arc;

use crate::private_file::PrivateFile;

/// How the agent communicates with its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentMode {
    /// JSON lines in both directions, for any number of turns. Dialogue sessions use it.
    #[default]
    Dialogue,
    /// One prompt and one answer (`--print`).
    Print(PrintFormat),
    /// An interactive terminal user interface.
    Interactive,
}

/// The output format of [`AgentMode::Print`].
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
    /// JSON in the argument, which every user of the machine can read.
    Json(String),
    /// A file of the host.
    File(PathBuf),
    /// A file that only this user can open, for documents with secrets. A session keeps it until its
    /// end.
    Private(Arc<PrivateFile>),
}

/// A text for the agent.
#[derive(Clone, Debug)]
pub enum AgentText {
    /// Text in the argument.
    Inline(String),
    /// A file of the host.
    File(PathBuf),
}

/// The effort of the model.
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
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::ExtraHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// Whether the model uses extended thinking.
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

/// Whether permission checks are skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SkipPermissions {
    /// Permissions are checked.
    #[default]
    Never,
    /// The host may skip them later.
    Allowed,
    /// They are skipped from the start. The agent refuses this when it runs as root.
    Now,
}

/// Where permission requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionPrompts {
    /// The host, or the permission tool.
    Host,
    /// No requests: a tool that needs a permission is denied.
    Disabled,
}

/// A source of the agent's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingSource {
    /// Settings of the user.
    User,
    /// Settings of the project.
    Project,
    /// Settings of the project on this machine.
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
