//! A rollout as lines in the agent's output format.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use bowline_jsonl::RawJson;
use serde_json::{Value, json};

use crate::file::read;
use crate::lines::{is_kind, parse, text};
use crate::stream::StreamWriter;

/// Deepest nesting of sub-agents; damaged rollouts may name each other.
const DEEPEST: usize = 32;

const TOO_DEEP: &str = "it is nested more than 32 levels deep";
const NO_FILE: &str = "it has no rollout";

/// Types of lines that hold no part of the conversation.
const SILENT: &[&str] = &[
    "session_meta",
    "token_usage_record",
    "turn_context",
    "world_state",
];

/// Returns uuid and text of a line that is a prompt of the user.
pub(super) fn prompt(line: RawJson<'_>) -> Option<(Option<String>, String)> {
    let event = line.get("payload").filter(|_| is_kind(line, "event_msg"))?;
    if is_kind(event, "user_message") {
        return Some((None, text(event, "message")?));
    }
    let item = event
        .get("item")
        .filter(|item| is_kind(*item, "UserMessage"))?;
    Some((text(item, "id"), content_text(item)))
}

/// Writes a conversation with its sub-agents, each after the call that started it.
pub(super) fn conversation(
    data: &[u8],
    agents: &HashMap<String, PathBuf>,
    title: Option<&str>,
    out: &mut StreamWriter,
) {
    let lines = lines(data);
    let meta = lines
        .iter()
        .filter_map(|(_, line)| *line)
        .find(|line| is_kind(*line, "session_meta"));
    let meta = meta.and_then(|meta| meta.get("payload"));
    let of_meta = |key: &str| meta.and_then(|meta| meta.get(key));
    out.line("system")
        .text("subtype", Some("init"))
        .raw("session_id", of_meta("id"))
        .raw("cwd", of_meta("cwd"))
        .text("model", model(&lines).as_deref())
        .raw("claude_code_version", of_meta("cli_version"));
    if let Some(title) = title {
        out.line("system")
            .text("subtype", Some("session_title_changed"))
            .text("title", Some(title))
            .raw("session_id", of_meta("id"));
    }
    let session = meta.and_then(|meta| text(meta, "id")).unwrap_or_default();
    let mut converter = Converter {
        agents,
        begun: HashSet::from([session.clone()]),
        session,
        out,
    };
    converter.thread(&lines, None, 0);
}

type Lines<'a> = Vec<(&'a [u8], Option<RawJson<'a>>)>;

fn lines(data: &[u8]) -> Lines<'_> {
    let lines = data.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.trim_ascii().is_empty());
    lines.map(|line| (line, parse(line))).collect()
}

fn model(lines: &Lines<'_>) -> Option<String> {
    let contexts = lines.iter().rev().filter_map(|(_, line)| *line);
    let mut contexts = contexts.filter(|line| is_kind(*line, "turn_context"));
    contexts.find_map(|line| text(line.get("payload")?, "model"))
}

struct Converter<'a, 'o> {
    agents: &'a HashMap<String, PathBuf>,
    /// Threads that were written.
    begun: HashSet<String>,
    session: String,
    out: &'o mut StreamWriter,
}

/// What the events of a thread say about its calls.
struct Thread<'a> {
    /// The call that started this thread.
    parent: Option<&'a str>,
    model: Option<String>,
    /// Whether prompts are items rather than events.
    has_items: bool,
    /// Finished items by the id of their call.
    items: HashMap<String, RawJson<'a>>,
}

impl Converter<'_, '_> {
    fn thread(&mut self, lines: &Lines<'_>, parent: Option<&str>, depth: usize) {
        let items = lines
            .iter()
            .filter_map(|(_, line)| line.as_ref()?.get("payload")?.get("item"));
        let items: HashMap<_, _> = items.filter_map(|it| Some((text(it, "id")?, it))).collect();
        let mut thread = Thread {
            parent,
            model: model(lines),
            has_items: items.values().any(|item| is_kind(*item, "UserMessage")),
            items,
        };
        for (number, (bytes, line)) in lines.iter().enumerate() {
            let Some(line) = *line else {
                self.out.copy(bytes);
                continue;
            };
            let payload = line.get("payload");
            match (text(line, "type").as_deref(), payload) {
                (Some("response_item"), Some(item)) => {
                    self.response(line, item, &thread, number, bytes);
                    let call = text(item, "call_id").filter(|_| is_kind(item, "function_call"));
                    self.started_by(call, &thread, depth);
                }
                (Some("event_msg"), Some(event)) => self.event(line, event, &thread),
                (Some("turn_context"), Some(context)) => {
                    thread.model = text(context, "model").or(thread.model);
                }
                (Some("compacted"), _) => self.notice(line, "the history was compacted"),
                (Some(kind), _) if SILENT.contains(&kind) => {}
                _ => self.out.copy(bytes),
            }
        }
    }

    /// Writes the threads that a call started.
    fn started_by(&mut self, call: Option<String>, thread: &Thread<'_>, depth: usize) {
        let Some(call) = call else {
            return;
        };
        let item = thread
            .items
            .get(&call)
            .filter(|item| is_kind(**item, "CollabAgentToolCall"));
        let is_start =
            |item: &&RawJson<'_>| text(**item, "tool").is_some_and(|it| it == "spawn_agent");
        let threads = item
            .filter(is_start)
            .and_then(|item| item.get("receiver_thread_ids"));
        for id in threads.into_iter().flat_map(RawJson::elements) {
            let id = id.as_str().unwrap_or_default().decode().into_owned();
            if self.begun.insert(id.clone()) {
                self.sub_agent(&call, &id, depth + 1);
            }
        }
    }

    fn sub_agent(&mut self, call: &str, id: &str, depth: usize) {
        if depth > DEEPEST {
            return self.out.missing_agent(id, TOO_DEEP);
        }
        match self.agents.get(id).map(|path| read(path)) {
            Some(Ok(data)) => self.thread(&lines(&data), Some(call), depth),
            Some(Err(error)) => self.out.missing_agent(id, &error.to_string()),
            None => self.out.missing_agent(id, NO_FILE),
        }
    }

    fn event(&mut self, line: RawJson<'_>, event: RawJson<'_>, thread: &Thread<'_>) {
        if let Some((uuid, text)) = prompt(line) {
            if uuid.is_some() == thread.has_items {
                let message = json!({ "role": "user", "content": text });
                self.message("user", line, &message, uuid.as_deref(), thread);
            }
            return;
        }
        let notice = match text(event, "type").as_deref() {
            Some("turn_aborted") => {
                let reason = text(event, "reason").unwrap_or_default();
                Some(format!("the turn was aborted: {reason}"))
            }
            Some("error" | "warning") => text(event, "message"),
            // Others repeat what a `response_item` says, for display.
            _ => None,
        };
        if let Some(notice) = notice {
            self.notice(line, &notice);
        }
    }

    fn notice(&mut self, line: RawJson<'_>, text: &str) {
        self.out
            .line("system")
            .text("subtype", Some("informational"))
            .text("session_id", Some(&self.session))
            .text("content", Some(text))
            .raw("timestamp", line.get("timestamp"));
    }

    fn response(
        &mut self,
        line: RawJson<'_>,
        item: RawJson<'_>,
        thread: &Thread<'_>,
        number: usize,
        bytes: &[u8],
    ) {
        let call = text(item, "call_id");
        // The summary that a compaction asked for is no item.
        let is_item = |id: String| thread.items.contains_key(&id);
        let is_shown = !thread.has_items || text(item, "id").is_none_or(is_item);
        let block = match text(item, "type").as_deref() {
            Some("message") if is_shown && text(item, "role").as_deref() == Some("assistant") => {
                json!({ "type": "text", "text": content_text(item) })
            }
            // Prompts are events; other messages are made by the agent for the model.
            Some("message") => return,
            Some("reasoning") => match reasoning(item) {
                Some(text) => json!({ "type": "thinking", "thinking": text }),
                None => return,
            },
            Some("function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call") => {
                let name = text(item, "name").or_else(|| text(item, "type"));
                json!({ "type": "tool_use", "id": call, "name": name, "input": input(item) })
            }
            Some("function_call_output" | "custom_tool_call_output") => {
                return self.result(line, item, call.as_deref().unwrap_or_default(), thread);
            }
            _ => return self.out.copy(bytes),
        };
        let id = text(item, "id").unwrap_or_else(|| format!("line-{number}"));
        let message = json!({
            "role": "assistant", "id": id, "model": thread.model, "content": [block],
        });
        self.message("assistant", line, &message, None, thread);
    }

    fn result(&mut self, line: RawJson<'_>, item: RawJson<'_>, call: &str, thread: &Thread<'_>) {
        let output = item.get("output");
        let content = output.map(|output| match output.as_str() {
            Some(text) => text.decode().into_owned(),
            None => output.get("content").and_then(RawJson::as_str).map_or_else(
                || output.text().to_owned(),
                |text| text.decode().into_owned(),
            ),
        });
        let structured = thread.items.get(call).copied();
        let status = structured.and_then(|item| text(item, "status"));
        let is_error = matches!(status.as_deref(), Some("failed" | "declined"));
        let block = json!({
            "type": "tool_result", "tool_use_id": call, "content": content, "is_error": is_error,
        });
        let message = json!({ "role": "user", "content": [block] });
        self.out
            .line("user")
            .value("message", &message)
            .text("parent_tool_use_id", thread.parent)
            .text("session_id", Some(&self.session))
            .raw("timestamp", line.get("timestamp"))
            .raw("tool_use_result", structured);
    }

    fn message(
        &mut self,
        kind: &str,
        line: RawJson<'_>,
        message: &Value,
        uuid: Option<&str>,
        thread: &Thread<'_>,
    ) {
        self.out
            .line(kind)
            .value("message", message)
            .text("parent_tool_use_id", thread.parent)
            .text("session_id", Some(&self.session))
            .text("uuid", uuid)
            .raw("timestamp", line.get("timestamp"));
    }
}

/// The text parts of an item, one a line.
fn content_text(item: RawJson<'_>) -> String {
    texts(item.get("content")).join("\n")
}

/// The summary of a thought, or its text where the model gives it.
fn reasoning(item: RawJson<'_>) -> Option<String> {
    let summary = texts(item.get("summary"));
    let parts = if summary.is_empty() {
        texts(item.get("content"))
    } else {
        summary
    };
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn texts(parts: Option<RawJson<'_>>) -> Vec<String> {
    let parts = parts.into_iter().flat_map(RawJson::elements);
    parts.filter_map(|part| text(part, "text")).collect()
}

/// The input of a call: its arguments, which are JSON in a string, or its text.
fn input(item: RawJson<'_>) -> Value {
    let arguments = text(item, "arguments");
    let parsed = arguments
        .as_deref()
        .and_then(|it| serde_json::from_str(it).ok());
    let input = text(item, "input")
        .or(arguments)
        .map(|text| json!({ "input": text }));
    let action = item
        .get("action")
        .and_then(|it| serde_json::from_str(it.text()).ok());
    parsed.or(input).or(action).unwrap_or_else(|| json!({}))
}
