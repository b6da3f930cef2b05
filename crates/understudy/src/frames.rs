//! The agent's lines, with its key names in its order (protocol.md A and B, recorded streams).

mod control;
mod init;
mod message;
mod result;
mod task;

use serde_json::{Map, Value};

pub(crate) use control::{can_use_tool, cancel, failure, initialized, success};
pub(crate) use init::init;
pub(crate) use message::{
    Line, assistant, blocks_usage, stream_event, synthetic, tool_result, user_echo, user_local,
    user_text,
};
pub(crate) use result::{Ending, result, unknown_session};
pub(crate) use task::{background_tasks, notification, progress, started, system, updated};

/// Who speaks: the main thread or a sub-agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Speaker {
    /// The Agent call that started this sub-agent; `None` for the main thread.
    pub(crate) card: Option<Card>,
    /// Its text and thinking are printed.
    pub(crate) heard: bool,
    /// Its tool calls and results are printed.
    pub(crate) seen: bool,
}

/// A task's labels.
#[derive(Clone, Debug, Default)]
pub(crate) struct Card {
    pub(crate) task_id: String,
    pub(crate) run_id: String,
    pub(crate) tool_use_id: String,
    pub(crate) description: String,
    /// Sub-agent type; empty for a shell task.
    pub(crate) kind: String,
    pub(crate) prompt: String,
    pub(crate) depth: u64,
    pub(crate) parent_task: Option<String>,
    pub(crate) background: bool,
}

impl Speaker {
    /// The main thread.
    pub(crate) fn main() -> Self {
        Self {
            card: None,
            heard: true,
            seen: true,
        }
    }

    /// The value of `parent_tool_use_id`.
    pub(crate) fn parent(&self) -> Value {
        self.card
            .as_ref()
            .map_or(Value::Null, |card| card.tool_use_id.clone().into())
    }
}

impl Card {
    /// True for a shell task, false for an agent.
    pub(crate) fn is_shell(&self) -> bool {
        self.kind.is_empty()
    }
}

/// The fields of `value`, which must be an object made here.
pub(crate) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// A frame as a line of bytes. Control characters, DEL to NEL, U+2028, U+2029 and the byte order
/// mark are escaped as in the recorded streams; all other text is raw UTF-8.
pub(crate) fn encode(frame: &Value) -> Vec<u8> {
    let mut text = frame.to_string();
    if text.chars().any(is_escaped) {
        text = text
            .chars()
            .fold(String::with_capacity(text.len() + 16), |mut out, c| {
                if is_escaped(c) {
                    out.push_str(&format!("\\u{:04x}", u32::from(c)));
                } else {
                    out.push(c);
                }
                out
            });
    }
    text.push('\n');
    text.into_bytes()
}

fn is_escaped(c: char) -> bool {
    matches!(
        c,
        '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_separators_are_escaped_and_emoji_are_not() {
        let frame = Value::from("a\u{2028}\u{85}\u{feff}🦀\n");
        assert_eq!(
            encode(&frame),
            "\"a\\u2028\\u0085\\ufeff🦀\\n\"\n".as_bytes()
        );
    }
}
