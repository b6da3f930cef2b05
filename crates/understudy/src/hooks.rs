//! Runs the hooks of `--settings`: commands and HTTP handlers.
//!
//! Handlers run one after another and block the scenario. A matcher is a list of names; regular
//! expressions are not supported.

mod command;
mod http;

use std::fs;
use std::time::Duration;

use serde_json::{Map, Value};

/// Timeout of a handler that sets none, as in the agent.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Longest timeout of a handler; a longer one is cut.
const MAX_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);

/// The handlers of each event.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    events: Map<String, Value>,
}

impl Hooks {
    /// Reads the value of `--settings`: JSON, or the path of a file.
    pub(crate) fn from_settings(settings: Option<&str>) -> Result<Self, String> {
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

    /// Whether an event has handlers.
    pub(crate) fn has_handlers(&self, event: &str) -> bool {
        self.events.contains_key(event)
    }

    /// Runs every handler whose matcher matches and returns their answers.
    pub(crate) fn run(&self, event: &str, matched: &str, payload: &Value) -> Vec<Value> {
        let groups = self.events.get(event).and_then(Value::as_array);
        let groups = groups.into_iter().flatten();
        let matching = groups.filter(|group| matches(group["matcher"].as_str(), matched));
        let handlers = matching.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
        handlers
            .filter_map(|handler| answer(handler, payload))
            .collect()
    }
}

fn matches(matcher: Option<&str>, name: &str) -> bool {
    match matcher {
        None | Some("" | "*") => true,
        Some(list) => list.split(['|', ',']).any(|it| it.trim() == name),
    }
}

fn answer(handler: &Value, payload: &Value) -> Option<Value> {
    let timeout = handler["timeout"].as_f64().filter(|it| *it > 0.0);
    let timeout = timeout.map_or(DEFAULT_TIMEOUT, |it| {
        Duration::try_from_secs_f64(it)
            .unwrap_or(MAX_TIMEOUT)
            .min(MAX_TIMEOUT)
    });
    let body = payload.to_string();
    let answer = match handler["type"].as_str() {
        Some("command") => command::run(handler, &body, timeout),
        Some("http") => http::post(handler, &body, timeout),
        _ => return None,
    };
    match answer {
        Ok(output) => output,
        Err(why) if handler["onFailure"] == "block" => Some(refusal(&why)),
        Err(_) => None,
    }
}

/// Returns the answer of a handler that blocks.
fn refusal(reason: &str) -> Value {
    serde_json::json!({"decision": "block", "reason": reason})
}

/// Parses the output of a handler; `None` if it is no JSON object.
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
        Hooks::from_settings(Some(&settings.to_string())).unwrap()
    }

    #[test]
    fn command_receives_event_and_answers() {
        let handler = json!({"type": "command", "command": "cat"});
        let answers = hooks(&handler, "Bash|Edit").run("PreToolUse", "Edit", &json!({"a": 1}));
        assert_eq!(answers, [json!({"a": 1})]);
        let other = hooks(&handler, "Bash|Edit").run("PreToolUse", "Write", &json!({}));
        assert!(other.is_empty());
    }

    #[test]
    fn exit_code_2_blocks() {
        let exits = |code: u8| {
            let command = format!("echo no >&2; exit {code}");
            let handler = json!({"type": "command", "command": command});
            hooks(&handler, "*").run("PreToolUse", "Bash", &json!({}))
        };
        assert_eq!(exits(2), [json!({"decision": "block", "reason": "no"})]);
        assert!(exits(1).is_empty());
    }

    #[test]
    fn exit_code_2_blocks_after_long_output() {
        let flood = |to: &str| format!("yes | head -c 10000000 {to}");
        for command in [
            format!("{}; exit 2", flood(">&2")),
            format!("{}; {}; exit 2", flood(">&2"), flood("")),
            "printf '\\377' >&2; exit 2".to_owned(),
        ] {
            let handler = json!({"type": "command", "command": command});
            // More than a pipe holds, and not read by the handler.
            let event = json!({"text": "x".repeat(1 << 20)});
            let answers = hooks(&handler, "*").run("PreToolUse", "Bash", &event);
            assert_eq!(answers.len(), 1, "{command}");
            assert_eq!(answers[0]["decision"], "block", "{command}");
        }
    }

    #[test]
    fn endless_timeout_is_accepted() {
        for timeout in [1e300, 1e12] {
            let handler = json!({"type": "command", "command": "cat", "timeout": timeout});
            let answers = hooks(&handler, "*").run("PreToolUse", "Edit", &json!({"a": 1}));
            assert_eq!(answers, [json!({"a": 1})], "{timeout}");
        }
    }

    #[test]
    fn hanging_handler_is_killed() {
        let handler = json!({
            "type": "command", "command": "tail -f /dev/null", "timeout": 0.05, "onFailure": "block",
        });
        let answers = hooks(&handler, "*").run("PreToolUse", "Bash", &json!({}));
        assert_eq!(answers[0]["decision"], "block");
    }

    #[test]
    fn settings_are_json_or_file() {
        assert!(Hooks::from_settings(Some("/no/such/file")).is_err());
        assert!(Hooks::from_settings(Some("{")).is_err());
        assert!(!Hooks::from_settings(None).unwrap().has_handlers("Stop"));
        let off = json!({"disableAllHooks": true, "hooks": {"Stop": []}}).to_string();
        assert!(
            !Hooks::from_settings(Some(&off))
                .unwrap()
                .has_handlers("Stop")
        );
    }
}
