//! What a session can do, by its agent's protocol.

use std::fmt;

/// Something that a session may be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// A prompt that is sent during a turn joins that turn.
    Steer,
    /// A prompt that is sent during a turn waits for the next one.
    Queue,
    /// A turn can be interrupted.
    Interrupt,
    /// A background task or a sub-agent can be stopped by itself.
    Tasks,
    /// A past conversation can be resumed.
    Resume,
    /// A past conversation can be continued in a copy.
    Fork,
    /// The permission mode can be changed.
    Modes,
    /// The model can be changed.
    Models,
    /// The effort can be changed.
    Effort,
    /// Prompts can hold images.
    Images,
    /// The agent may ask questions.
    Questions,
    /// The agent reports what its sub-agents do.
    Subagents,
    /// The agent has hooks that a host can receive.
    Hooks,
    /// Tools can be allowed by rules, such as `Bash(git:*)`.
    PermissionRules,
}

impl Capability {
    /// All capabilities.
    pub const ALL: [Self; 14] = [
        Self::Steer,
        Self::Queue,
        Self::Interrupt,
        Self::Tasks,
        Self::Resume,
        Self::Fork,
        Self::Modes,
        Self::Models,
        Self::Effort,
        Self::Images,
        Self::Questions,
        Self::Subagents,
        Self::Hooks,
        Self::PermissionRules,
    ];

    /// Returns the name, such as `permission_rules`, for protocols and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Queue => "queue",
            Self::Interrupt => "interrupt",
            Self::Tasks => "tasks",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::Modes => "modes",
            Self::Models => "models",
            Self::Effort => "effort",
            Self::Images => "images",
            Self::Questions => "questions",
            Self::Subagents => "subagents",
            Self::Hooks => "hooks",
            Self::PermissionRules => "permission_rules",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a session can do. See [`DialogueSession::supported`](crate::DialogueSession::supported).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(Vec<Capability>);

impl Capabilities {
    pub(crate) fn new(capabilities: impl IntoIterator<Item = Capability>) -> Self {
        Self(capabilities.into_iter().collect())
    }

    /// Returns whether the session can do something.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.0.contains(&capability)
    }

    /// Returns all that the session can do.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Capability> {
        self.0.iter().copied()
    }
}
