//! The lines of the agent, with its keys in its order (`crates/jsonl/PROTOCOL.md`).

mod control;
mod init;
mod message;
mod result;
mod task;

use serde_json::{Map, Value};

pub(crate) use control::{can_use_tool, cancel, failure, initialized, success};
pub(crate) use init::init;
pub(crate) use message::{
    MessageIds, assistant, blocks_usage, stream_event, synthetic, tool_result, user_echo,
    user_local, user_text,
};
pub(crate) use result::{TurnEnd, result, unknown_session};
pub(crate) use task::{background_tasks, notification, progress, started, system, updated};

/// The main thread or a sub-agent, and what is printed of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct AgentThread {
    /// The sub-agent's task; `None` for the main thread.
    pub(crate) task: Option<TaskInfo>,
    /// Its text and thinking are printed.
    pub(crate) prints_text: bool,
    /// Its tool calls and results are printed.
    pub(crate) prints_calls: bool,
}

/// The ids and labels of a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskInfo {
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

impl AgentThread {
    /// The main thread.
    pub(crate) fn main() -> Self {
        Self {
            task: None,
            prints_text: true,
            prints_calls: true,
        }
    }

    /// Returns the value of `parent_tool_use_id`.
    pub(crate) fn parent(&self) -> Value {
        self.task
            .as_ref()
            .map_or(Value::Null, |task| task.tool_use_id.clone().into())
    }
}

impl TaskInfo {
    /// Whether it is a shell command and no sub-agent.
    pub(crate) fn is_shell(&self) -> bool {
        self.kind.is_empty()
    }
}

/// Returns the members of an object; none for any other value.
pub(crate) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Encodes a line. As in the recordings, U+007F to U+009F, U+2028, U+2029 and the byte order mark
/// are escaped, and other text is raw UTF-8.
pub(crate) fn encode(line: &Value) -> Vec<u8> {
    let mut text = line.to_string();
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
        let line = Value::from("a\u{2028}\u{85}\u{feff}🦀\n");
        assert_eq!(
            encode(&line),
            "\"a\\u2028\\u0085\\ufeff🦀\\n\"\n".as_bytes()
        );
    }
}
