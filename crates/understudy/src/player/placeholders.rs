//! Placeholders in scripted text: `{{session_id}}`, `{{uuid}}`, `{{cwd}}` and so on.

use serde_json::{Map, Value};

use super::Player;
use crate::clock;
use crate::session::new_uuid;

impl Player {
    /// Replaces the placeholders of a text; keeps unknown ones.
    pub(super) fn fill(&self, text: &str, input: Option<&Map<String, Value>>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let Some((name, tail)) = after.split_once("}}") else {
                break;
            };
            out.push_str(before);
            match self.placeholder(name.trim(), input) {
                Some(value) => out.push_str(&value),
                None => out.push_str(&format!("{{{{{name}}}}}")),
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }

    /// Replaces the placeholders of every string in a value.
    pub(super) fn fill_value(&self, value: &Value, input: Option<&Map<String, Value>>) -> Value {
        match value {
            Value::String(text) => self.fill(text, input).into(),
            Value::Array(items) => items
                .iter()
                .map(|item| self.fill_value(item, input))
                .collect(),
            Value::Object(map) => Value::Object(self.fill_map(map, input)),
            other => other.clone(),
        }
    }

    pub(super) fn fill_map(
        &self,
        map: &Map<String, Value>,
        input: Option<&Map<String, Value>>,
    ) -> Map<String, Value> {
        map.iter()
            .map(|(key, value)| (key.clone(), self.fill_value(value, input)))
            .collect()
    }

    fn placeholder(&self, name: &str, input: Option<&Map<String, Value>>) -> Option<String> {
        if let Some(key) = name.strip_prefix("input.") {
            return input?.get(key).map(plain);
        }
        if let Some(bytes) = name.strip_prefix("fill:") {
            return bytes.parse().ok().map(filler);
        }
        Some(match name {
            "session_id" => self.session.id.clone(),
            "uuid" => new_uuid(),
            "cwd" => self.session.cwd.clone(),
            "model" => self.session.model.clone(),
            "permission_mode" => self.session.mode.clone(),
            "timestamp" => clock::timestamp(),
            "pid" => std::process::id().to_string(),
            "child_pid" => self.child_pid.to_string(),
            "prompt" => self.turn.as_ref()?.prompt.clone(),
            "prompt_uuid" => self.turn.as_ref()?.prompts.last()?.clone(),
            _ => return None,
        })
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns numbered words of this total length in bytes.
pub(super) fn filler(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    let mut line = 0_u64;
    while text.len() < bytes {
        text.push_str(&format!("{line:06} lorem ipsum\n"));
        line += 1;
    }
    text.truncate(bytes);
    text
}
