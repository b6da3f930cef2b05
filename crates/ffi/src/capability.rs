//! What a session can do.

use crate::core;

/// Something that a session may be able to do, by its agent's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
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
    /// Returns the counterpart of a capability; `None` for one that these bindings do not name.
    pub(crate) fn of(capability: core::Capability) -> Option<Self> {
        Some(match capability {
            core::Capability::Steer => Self::Steer,
            core::Capability::Queue => Self::Queue,
            core::Capability::Interrupt => Self::Interrupt,
            core::Capability::Tasks => Self::Tasks,
            core::Capability::Resume => Self::Resume,
            core::Capability::Fork => Self::Fork,
            core::Capability::Modes => Self::Modes,
            core::Capability::Models => Self::Models,
            core::Capability::Effort => Self::Effort,
            core::Capability::Images => Self::Images,
            core::Capability::Questions => Self::Questions,
            core::Capability::Subagents => Self::Subagents,
            core::Capability::Hooks => Self::Hooks,
            core::Capability::PermissionRules => Self::PermissionRules,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capability_is_exported() {
        for capability in core::Capability::ALL {
            let exported = Capability::of(capability);
            assert_eq!(format!("{exported:?}"), format!("Some({capability:?})"));
        }
    }
}
