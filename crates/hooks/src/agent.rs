//! What versions of the agent know of hooks.
//!
//! The versions are those of the agent's change log. Where it is silent, they are the oldest of the
//! tested versions whose schema of settings has the name.

use bowline_jsonl::AgentVersion;

use crate::settings::is_refusing;
use crate::{HookConfiguration, HookKind, HookRoute, HookServerError};

/// The version that added hooks over HTTP.
const HTTP: AgentVersion = AgentVersion::new(2, 1, 63);

/// A version that has `onFailure`.
const ON_FAILURE: AgentVersion = AgentVersion::new(2, 1, 324);

impl HookKind {
    /// Returns a version of the agent that sends the event; it may exist in an earlier one. Returns
    /// `None` for [`Other`](Self::Other).
    #[must_use]
    pub const fn added(&self) -> Option<AgentVersion> {
        let (major, minor, patch) = match self {
            Self::PreToolUse
            | Self::PostToolUse
            | Self::UserPromptSubmit
            | Self::SessionStart
            | Self::SessionEnd
            | Self::Stop
            | Self::SubagentStop
            | Self::PreCompact
            | Self::Notification => (1, 0, 128),
            Self::SubagentStart => (2, 0, 43),
            Self::PermissionRequest => (2, 0, 45),
            Self::PostToolUseFailure => (2, 0, 77),
            Self::Setup => (2, 1, 10),
            Self::TaskCompleted | Self::TeammateIdle => (2, 1, 33),
            Self::ConfigChange => (2, 1, 49),
            Self::WorktreeCreate | Self::WorktreeRemove => (2, 1, 50),
            Self::InstructionsLoaded => (2, 1, 69),
            Self::PostCompact | Self::Elicitation | Self::ElicitationResult => (2, 1, 76),
            Self::StopFailure => (2, 1, 78),
            Self::CwdChanged | Self::FileChanged => (2, 1, 83),
            Self::TaskCreated => (2, 1, 84),
            Self::PermissionDenied => (2, 1, 89),
            Self::MessageDisplay => (2, 1, 152),
            Self::PostToolBatch | Self::UserPromptExpansion => (2, 1, 197),
            Self::DirectoryAdded => (2, 1, 219),
            Self::PreModelSwitch | Self::PostModelSwitch => (2, 1, 265),
            Self::Other(_) => return None,
        };
        Some(AgentVersion::new(major, minor, patch))
    }

    fn is_known_to(&self, agent: AgentVersion) -> bool {
        self.added().is_none_or(|added| agent >= added)
    }
}

/// Returns the configuration as far as an agent supports it. An event that the agent does not know
/// makes versions before 2.1.101 ignore all of their settings.
pub(crate) fn supported(
    configuration: &HookConfiguration,
    agent: AgentVersion,
) -> Result<HookConfiguration, HookServerError> {
    let gate = configuration.gate.as_ref();
    let named = configuration.kinds.iter().flatten();
    let named = named.chain(gate.into_iter().flat_map(|gate| &gate.kinds));
    for kind in named {
        if let Some(added) = kind.added().filter(|_| !kind.is_known_to(agent)) {
            let kind = kind.name().to_owned();
            return Err(HookServerError::UnknownEvent { kind, agent, added });
        }
    }
    for (gate, kind) in gate
        .into_iter()
        .flat_map(|gate| gate.kinds.iter().map(move |it| (gate, it)))
    {
        if agent < ON_FAILURE && is_refusing(gate, kind) {
            let (kind, added) = (kind.name().to_owned(), ON_FAILURE);
            return Err(HookServerError::FailsOpen { kind, agent, added });
        }
    }
    let mut supported = configuration.clone();
    if configuration.kinds.is_none() {
        let known = configuration
            .kinds()
            .iter()
            .filter(|it| it.is_known_to(agent));
        supported.kinds = Some(known.cloned().collect());
    }
    if configuration.route == HookRoute::Http && agent < HTTP {
        if configuration.helper.is_none() {
            return Err(HookServerError::NoHttp { agent, added: HTTP });
        }
        supported.route = HookRoute::Helper;
    }
    Ok(supported)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{HookGate, HookHelper, HookReply};

    const OLDEST: AgentVersion = AgentVersion::OLDEST;
    const NEWEST: AgentVersion = AgentVersion::new(2, 1, 330);

    fn with_helper() -> HookConfiguration {
        HookConfiguration {
            helper: Some(HookHelper::bowline("/bin/bowline")),
            ..HookConfiguration::default()
        }
    }

    fn events(agent: AgentVersion) -> Vec<String> {
        let supported = supported(&with_helper(), agent).unwrap();
        let kinds = supported.kinds().iter();
        kinds.map(|kind| kind.name().to_owned()).collect()
    }

    fn gated(kind: HookKind, default: HookReply) -> HookConfiguration {
        let gate = HookGate {
            kinds: vec![kind],
            deadline: Duration::from_secs(1),
            default,
        };
        HookConfiguration {
            gate: Some(gate),
            ..with_helper()
        }
    }

    /// The lists are those of the agents' own schemas.
    #[test]
    fn default_events_are_those_of_the_version() {
        let oldest = [
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "SubagentStop",
            "Stop",
            "Notification",
            "PreCompact",
            "SessionEnd",
        ];
        assert_eq!(events(OLDEST), oldest);
        let newer = events(AgentVersion::new(2, 0, 77));
        let added = newer.iter().filter(|it| !oldest.contains(&it.as_str()));
        let added: Vec<_> = added.collect();
        assert_eq!(
            added,
            ["PermissionRequest", "PostToolUseFailure", "SubagentStart"]
        );
        assert_eq!(events(NEWEST).len(), HookKind::COMMON.len());
    }

    #[test]
    fn named_event_of_newer_agent_is_refused_with_its_version() {
        for configuration in [
            HookConfiguration {
                kinds: Some(vec![HookKind::Stop, HookKind::StopFailure]),
                ..with_helper()
            },
            gated(HookKind::StopFailure, HookReply::Nothing),
        ] {
            let error = supported(&configuration, AgentVersion::new(2, 0, 77)).unwrap_err();
            assert_eq!(
                error.to_string(),
                "agent 2.0.77 has no hook StopFailure; update it to 2.1.78 or later, or omit the event"
            );
            supported(&configuration, AgentVersion::new(2, 1, 78)).unwrap();
        }
    }

    #[test]
    fn event_without_known_version_is_passed_on() {
        let kinds = Some(vec![HookKind::of("FutureEvent")]);
        let configuration = HookConfiguration {
            kinds: kinds.clone(),
            ..with_helper()
        };
        assert_eq!(supported(&configuration, OLDEST).unwrap().kinds, kinds);
    }

    #[test]
    fn agent_without_http_hooks_uses_the_helper() {
        let agent = AgentVersion::new(2, 1, 5);
        let used = supported(&with_helper(), agent).unwrap();
        assert_eq!(used.route, HookRoute::Helper);
        let used = supported(&with_helper(), NEWEST).unwrap();
        assert_eq!(used.route, HookRoute::Http);
        let error = supported(&HookConfiguration::default(), agent).unwrap_err();
        assert_eq!(
            error.to_string(),
            "agent 2.1.5 has no HTTP hooks; update it to 2.1.63 or later, or configure a helper"
        );
    }

    #[test]
    fn refusing_gate_needs_an_agent_that_blocks_on_failure() {
        let refusing = gated(HookKind::PreToolUse, HookReply::deny("no host"));
        let error = supported(&refusing, AgentVersion::new(2, 1, 197)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "agent 2.1.197 runs PreToolUse if its hook fails; update it to 2.1.324 or later, or use a \
             default that lets the agent go on"
        );
        supported(&refusing, NEWEST).unwrap();
        let open = gated(HookKind::PreToolUse, HookReply::allow());
        supported(&open, OLDEST).unwrap();
    }
}
