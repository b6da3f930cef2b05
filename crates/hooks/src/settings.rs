//! The agent settings that configure its hooks (`crates/jsonl/PROTOCOL.md`, Hooks).

use std::net::SocketAddr;

use serde_json::{Map, Value, json};

use crate::configuration::REPLY_MARGIN;
use crate::reply::is_refusal;
use crate::{HookConfiguration, HookGate, HookKind, HookRoute, HookServerError};

/// How long the agent waits for the reply to an event outside the gate, in seconds; its own default
/// is 600.
const TIMEOUT: u64 = 30;

/// Timeout of `SessionEnd`, in seconds; it raises the agent's 1.5 s for all hooks of the end.
const END_TIMEOUT: u64 = 10;

/// Longest interaction id, in bytes.
const MAX_INTERACTION: usize = 128;

/// Returns the URL that the events of an interaction are posted to.
pub(crate) fn url(address: SocketAddr, interaction: &str) -> Result<String, HookServerError> {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
    let is_valid =
        (1..=MAX_INTERACTION).contains(&interaction.len()) && interaction.bytes().all(is_plain);
    if !is_valid {
        let id = interaction.to_owned();
        return Err(HookServerError::Interaction { id });
    }
    Ok(format!("http://{address}/hooks/{interaction}"))
}

/// Returns the settings in the agent's schema.
pub(crate) fn settings(configuration: &HookConfiguration, url: &str) -> Value {
    let mut hooks = Map::new();
    for kind in configuration.kinds() {
        if let Some(handler) = handler(configuration, kind, url) {
            let group = json!([{ "hooks": [handler] }]);
            hooks.insert(kind.name().to_owned(), group);
        }
    }
    json!({ "hooks": hooks })
}

/// Returns whether the settings make the agent send an event.
pub(crate) fn is_received(configuration: &HookConfiguration, kind: &HookKind) -> bool {
    configuration.kinds().contains(kind) && handler(configuration, kind, "").is_some()
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
    if gate.is_some_and(|gate| is_refusing(gate, kind)) {
        handler["onFailure"] = "block".into();
    }
    Some(handler)
}

/// Returns whether the default of the gate refuses an event.
pub(crate) fn is_refusing(gate: &HookGate, kind: &HookKind) -> bool {
    let default = gate.default.output(kind).ok().flatten();
    is_refusal(default.as_ref())
}

fn timeout(kind: &HookKind, gate: Option<&HookGate>) -> u64 {
    match (gate, kind) {
        (Some(gate), _) => gate.capped_deadline().as_secs() + REPLY_MARGIN,
        (None, HookKind::SessionEnd) => END_TIMEOUT,
        (None, _) => TIMEOUT,
    }
}

/// Merges hook settings into other settings, after the hooks that these have: the agent runs all of
/// them.
///
/// # Errors
///
/// [`HookServerError::Settings`] if `settings` do not have the agent's schema.
pub fn merge_settings(settings: &Value, hooks: &Value) -> Result<Value, HookServerError> {
    let refuse = |reason: &str| HookServerError::Settings {
        reason: reason.to_owned(),
    };
    let mut merged = settings.clone();
    let all = merged.as_object_mut();
    let all = all.ok_or_else(|| refuse("they are not an object"))?;
    let events = all.entry("hooks").or_insert_with(|| json!({}));
    let events = events.as_object_mut();
    let events = events.ok_or_else(|| refuse("their hooks are not an object"))?;
    for (kind, groups) in hooks["hooks"].as_object().into_iter().flatten() {
        let merged_groups = events.entry(kind.clone()).or_insert_with(|| json!([]));
        let merged_groups = merged_groups.as_array_mut();
        let merged_groups =
            merged_groups.ok_or_else(|| refuse("the hooks of an event are not a list"))?;
        merged_groups.extend(groups.as_array().into_iter().flatten().cloned());
    }
    Ok(merged)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{HookHelper, HookReply};

    const URL: &str = "http://127.0.0.1:9/hooks/i";

    #[test]
    fn http_hook_names_the_token_variable() {
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
            "not posted by the agent"
        );
    }

    #[test]
    fn helper_command_line_is_quoted() {
        let configuration = HookConfiguration {
            kinds: Some(vec![HookKind::SessionStart, HookKind::Stop]),
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
    fn timeout_never_exceeds_agents_timer() {
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
    fn refusing_gate_blocks_when_server_is_unreachable() {
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
        let halt = HookReply::Halt {
            reason: "no host".into(),
        };
        let block = HookReply::Raw(json!({"decision": "block"}));
        let deny = json!({"hookSpecificOutput": {"permissionDecision": "deny"}});
        for default in [
            HookReply::deny("no host"),
            HookReply::ask("?"),
            halt,
            block,
            HookReply::Raw(deny),
        ] {
            let handler = of(default);
            assert_eq!(
                (&handler["timeout"], &handler["onFailure"]),
                (&json!(30), &json!("block"))
            );
        }
        for default in [
            HookReply::allow(),
            HookReply::Nothing,
            HookReply::Raw(json!({})),
        ] {
            assert_eq!(of(default).get("onFailure"), None);
        }
    }

    #[test]
    fn merged_hooks_follow_existing_ones() {
        let existing = json!({"model": "opus", "hooks": {"Stop": [{"hooks": [1]}]}});
        let added = json!({"hooks": {"Stop": [{"hooks": [2]}], "SessionEnd": [{"hooks": [3]}]}});
        assert_eq!(
            merge_settings(&existing, &added).unwrap(),
            json!({"model": "opus", "hooks": {
                "Stop": [{"hooks": [1]}, {"hooks": [2]}], "SessionEnd": [{"hooks": [3]}],
            }})
        );
        for invalid in [
            json!([]),
            json!({"hooks": []}),
            json!({"hooks": {"Stop": {}}}),
        ] {
            assert!(merge_settings(&invalid, &added).is_err(), "{invalid}");
        }
    }

    #[test]
    fn invalid_interaction_id_is_refused() {
        let address = SocketAddr::from(([127, 0, 0, 1], 9));
        assert_eq!(url(address, "i").unwrap(), URL);
        for id in ["", "a/b", "a b", "ä", &"x".repeat(129)] {
            assert!(url(address, id).is_err(), "{id:?}");
        }
    }
}
