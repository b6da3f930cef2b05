//! The settings that make the agent tell its events.

use std::net::SocketAddr;

use serde_json::{Map, Value, json};

use super::{
    HookConfiguration, HookGate, HookKind, HookReply, HookRoute, HookServerError,
    PermissionVerdict, ToolVerdict,
};

/// How long the agent waits for an event that nobody decides, in seconds. Its own default is 600.
const TIMEOUT: u64 = 30;

/// What is added to the host's deadline, so that the host's default comes before the agent gives
/// up, in seconds. The agent lets pass what it gives up on.
pub(super) const MARGIN: u64 = 10;

/// The agent's limit for all hooks of the end together (protocol, section D.1), in seconds.
const END_TIMEOUT: u64 = 10;

/// The longest id of an interaction.
const LONGEST_INTERACTION: usize = 128;

/// The address that events of an interaction are posted to.
pub(super) fn url(address: SocketAddr, interaction: &str) -> Result<String, HookServerError> {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
    let is_sound =
        (1..=LONGEST_INTERACTION).contains(&interaction.len()) && interaction.bytes().all(is_plain);
    if !is_sound {
        let id = interaction.to_owned();
        return Err(HookServerError::Interaction { id });
    }
    Ok(format!("http://{address}/hooks/{interaction}"))
}

/// The settings, in the agent's own schema (protocol, section D.1).
pub(super) fn settings(configuration: &HookConfiguration, url: &str) -> Value {
    let mut hooks = Map::new();
    for kind in &configuration.kinds {
        if let Some(handler) = handler(configuration, kind, url) {
            let group = json!([{ "hooks": [handler] }]);
            hooks.insert(kind.name().to_owned(), group);
        }
    }
    json!({ "hooks": hooks })
}

fn handler(configuration: &HookConfiguration, kind: &HookKind, url: &str) -> Option<Value> {
    let is_posted = configuration.route == HookRoute::Http && kind.is_posted();
    let token = &configuration.variables.token;
    let mut handler = if is_posted {
        json!({
            "type": "http",
            "url": url,
            "headers": {"Authorization": format!("Bearer ${token}")},
            "allowedEnvVars": [token],
        })
    } else {
        let helper = configuration.helper.as_ref()?;
        let words = helper.args.iter().map(String::as_str);
        let words = [helper.program.to_str()?]
            .into_iter()
            .chain(words)
            .chain([url, token]);
        let line = shlex::try_join(words).ok()?;
        json!({"type": "command", "command": line})
    };
    let gate = configuration.gate.as_ref();
    let gate = gate.filter(|gate| gate.kinds.contains(kind));
    handler["timeout"] = timeout(kind, gate).into();
    if gate.is_some_and(refuses) {
        handler["onFailure"] = "block".into();
    }
    Some(handler)
}

fn timeout(kind: &HookKind, gate: Option<&HookGate>) -> u64 {
    match (gate, kind) {
        (Some(gate), _) => gate.patience().as_secs() + MARGIN,
        (None, HookKind::SessionEnd) => END_TIMEOUT,
        (None, _) => TIMEOUT,
    }
}

/// Whether a gate stays shut when nobody is there.
const fn refuses(gate: &HookGate) -> bool {
    matches!(
        gate.default,
        HookReply::Block { .. }
            | HookReply::Tool {
                verdict: ToolVerdict::Deny,
                ..
            }
            | HookReply::Permission(PermissionVerdict::Deny { .. })
    )
}

/// Adds hooks to settings, behind those that are there: the agent runs all of an event.
///
/// # Errors
///
/// One of the two is not an object, or has something else than lists where the hooks belong.
pub fn merge_settings(settings: &Value, hooks: &Value) -> Result<Value, HookServerError> {
    let refuse = |reason: &str| HookServerError::Settings {
        reason: reason.to_owned(),
    };
    let mut merged = settings.clone();
    let all = merged.as_object_mut();
    let all = all.ok_or_else(|| refuse("they are not an object"))?;
    let known = all.entry("hooks").or_insert_with(|| json!({}));
    let known = known.as_object_mut();
    let known = known.ok_or_else(|| refuse("their hooks are not an object"))?;
    for (kind, groups) in hooks["hooks"].as_object().into_iter().flatten() {
        let there = known.entry(kind.clone()).or_insert_with(|| json!([]));
        let there = there.as_array_mut();
        let there = there.ok_or_else(|| refuse("the hooks of an event are not a list"))?;
        there.extend(groups.as_array().into_iter().flatten().cloned());
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::HookHelper;

    const URL: &str = "http://127.0.0.1:9/hooks/i";

    #[test]
    fn hooks_are_posted_with_the_token_by_reference() {
        let configuration = HookConfiguration::default();
        let settings = settings(&configuration, URL);
        assert_eq!(
            settings["hooks"]["Stop"],
            json!([{"hooks": [{
                "type": "http",
                "url": URL,
                "headers": {"Authorization": "Bearer $BOWLINE_HOOK_TOKEN"},
                "allowedEnvVars": ["BOWLINE_HOOK_TOKEN"],
                "timeout": 30,
            }]}])
        );
        assert_eq!(
            settings["hooks"]["SessionEnd"][0]["hooks"][0]["timeout"],
            10
        );
        assert!(
            settings["hooks"].get("SessionStart").is_none(),
            "the agent never posts it"
        );
    }

    #[test]
    fn the_helper_is_quoted_for_a_shell() {
        let configuration = HookConfiguration {
            kinds: vec![HookKind::SessionStart, HookKind::Stop],
            helper: Some(HookHelper::bowline("/a b/bowline")),
            route: HookRoute::Helper,
            ..HookConfiguration::default()
        };
        let settings = settings(&configuration, URL);
        for kind in ["SessionStart", "Stop"] {
            let handler = &settings["hooks"][kind][0]["hooks"][0];
            assert_eq!(handler["type"], "command");
            assert_eq!(
                handler["command"],
                format!("'/a b/bowline' hook {URL} BOWLINE_HOOK_TOKEN")
            );
        }
    }

    #[test]
    fn the_agent_is_never_told_to_wait_for_longer_than_its_timers_count() {
        for (deadline, wanted) in [
            (Duration::from_secs(20), 30),
            (Duration::from_secs(2_147_473), 2_147_483),
            (Duration::from_secs(2_147_474), 2_147_483),
            (Duration::MAX, 2_147_483),
        ] {
            let gate = HookGate {
                kinds: vec![HookKind::PreToolUse],
                deadline,
                default: HookReply::allow(),
            };
            assert_eq!(timeout(&HookKind::PreToolUse, Some(&gate)), wanted);
        }
    }

    #[test]
    fn a_gate_that_refuses_stays_shut_when_the_server_is_gone() {
        let gate = |default| HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline: Duration::from_secs(20),
            default,
        };
        let of = |default| {
            let configuration = HookConfiguration {
                gate: Some(gate(default)),
                ..HookConfiguration::default()
            };
            settings(&configuration, URL)["hooks"]["PreToolUse"][0]["hooks"][0].clone()
        };
        let (shut, open) = (
            of(HookReply::deny("nobody is there")),
            of(HookReply::allow()),
        );
        assert_eq!(
            (&shut["timeout"], &shut["onFailure"]),
            (&json!(30), &json!("block"))
        );
        assert_eq!(open.get("onFailure"), None);
    }

    #[test]
    fn hooks_are_added_behind_those_that_are_there() {
        let theirs = json!({"model": "opus", "hooks": {"Stop": [{"hooks": [1]}]}});
        let ours = json!({"hooks": {"Stop": [{"hooks": [2]}], "SessionEnd": [{"hooks": [3]}]}});
        assert_eq!(
            merge_settings(&theirs, &ours).unwrap(),
            json!({"model": "opus", "hooks": {
                "Stop": [{"hooks": [1]}, {"hooks": [2]}], "SessionEnd": [{"hooks": [3]}],
            }})
        );
        for odd in [
            json!([]),
            json!({"hooks": []}),
            json!({"hooks": {"Stop": {}}}),
        ] {
            assert!(merge_settings(&odd, &ours).is_err(), "{odd}");
        }
    }

    #[test]
    fn an_interaction_goes_into_the_address_as_it_is() {
        let address = SocketAddr::from(([127, 0, 0, 1], 9));
        assert_eq!(url(address, "i").unwrap(), URL);
        for id in ["", "a/b", "a b", "ä", &"x".repeat(129)] {
            assert!(url(address, id).is_err(), "{id:?}");
        }
    }
}
