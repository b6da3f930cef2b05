//! Hooks, as the real agent has them: the commands and addresses of `--settings`, really run and
//! really asked.
//!
//! They are waited for one after another, and nothing else goes on meanwhile. A matcher is a list
//! of names, as the agent's exact form is; its regular expressions are not understood.

mod command;
mod post;

use std::fs;
use std::time::Duration;

use serde_json::{Map, Value};

/// How long a handler may take if its settings do not say (protocol.md D.1).
const TIMEOUT: Duration = Duration::from_secs(600);

/// The handlers of each event.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    events: Map<String, Value>,
}

impl Hooks {
    /// Reads the value of `--settings`: JSON, or else the path of a file.
    pub(crate) fn of(settings: Option<&str>) -> Result<Self, String> {
        let Some(settings) = settings else {
            return Ok(Self::default());
        };
        let text = if settings.trim_start().starts_with('{') {
            settings.to_owned()
        } else {
            let unread = |_| format!("Error: Settings file not found: {settings}");
            fs::read_to_string(settings).map_err(unread)?
        };
        let settings: Value = serde_json::from_str(&text)
            .map_err(|error| format!("Error: Invalid settings: {error}"))?;
        let is_off = settings["disableAllHooks"] == true;
        let events = settings["hooks"].as_object().filter(|_| !is_off);
        Ok(Self {
            events: events.cloned().unwrap_or_default(),
        })
    }

    /// Whether anybody wants to know of an event.
    pub(crate) fn want(&self, event: &str) -> bool {
        self.events.contains_key(event)
    }

    /// Tells an event to every handler whose matcher fits, and gives what they answered.
    pub(crate) fn tell(&self, event: &str, matched: &str, payload: &Value) -> Vec<Value> {
        let groups = self.events.get(event).and_then(Value::as_array);
        let groups = groups.into_iter().flatten();
        let fitting = groups.filter(|group| fits(group["matcher"].as_str(), matched));
        let handlers = fitting.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
        handlers
            .filter_map(|handler| answer(handler, payload))
            .collect()
    }
}

fn fits(matcher: Option<&str>, name: &str) -> bool {
    match matcher {
        None | Some("" | "*") => true,
        Some(list) => list.split(['|', ',']).any(|it| it.trim() == name),
    }
}

fn answer(handler: &Value, payload: &Value) -> Option<Value> {
    let timeout = handler["timeout"].as_f64().filter(|it| *it > 0.0);
    let timeout = timeout.map_or(TIMEOUT, Duration::from_secs_f64);
    let body = payload.to_string();
    let told = match handler["type"].as_str() {
        Some("command") => command::run(handler, &body, timeout),
        Some("http") => post::post(handler, &body, timeout),
        _ => return None,
    };
    match told {
        Ok(output) => output,
        Err(why) if handler["onFailure"] == "block" => Some(refusal(&why)),
        Err(_) => None,
    }
}

/// What a handler says that refuses.
fn refusal(reason: &str) -> Value {
    serde_json::json!({"decision": "block", "reason": reason})
}

/// What a handler said, if it is JSON.
fn output(text: &str) -> Option<Value> {
    let text = text.trim();
    serde_json::from_str(text).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hooks(handler: &Value, matcher: &str) -> Hooks {
        let settings = json!({"hooks": {"PreToolUse": [{"matcher": matcher, "hooks": [handler]}]}});
        Hooks::of(Some(&settings.to_string())).unwrap()
    }

    #[test]
    fn a_command_is_given_the_event_and_answers() {
        let handler = json!({"type": "command", "command": "cat"});
        let told = hooks(&handler, "Bash|Edit").tell("PreToolUse", "Edit", &json!({"a": 1}));
        assert_eq!(told, [json!({"a": 1})]);
        let other = hooks(&handler, "Bash|Edit").tell("PreToolUse", "Write", &json!({}));
        assert!(other.is_empty());
    }

    #[test]
    fn exit_code_2_refuses_and_others_do_not() {
        let exits = |code: u8| {
            let command = format!("echo no >&2; exit {code}");
            let handler = json!({"type": "command", "command": command});
            hooks(&handler, "*").tell("PreToolUse", "Bash", &json!({}))
        };
        assert_eq!(exits(2), [json!({"decision": "block", "reason": "no"})]);
        assert!(exits(1).is_empty());
    }

    #[test]
    fn a_handler_that_hangs_is_given_up() {
        let handler = json!({
            "type": "command", "command": "tail -f /dev/null", "timeout": 0.05, "onFailure": "block",
        });
        let told = hooks(&handler, "*").tell("PreToolUse", "Bash", &json!({}));
        assert_eq!(told[0]["decision"], "block");
    }

    #[test]
    fn settings_are_json_or_a_file() {
        assert!(Hooks::of(Some("/no/such/file")).is_err());
        assert!(Hooks::of(Some("{")).is_err());
        assert!(!Hooks::of(None).unwrap().want("Stop"));
        let off = json!({"disableAllHooks": true, "hooks": {"Stop": []}}).to_string();
        assert!(!Hooks::of(Some(&off)).unwrap().want("Stop"));
    }
}
