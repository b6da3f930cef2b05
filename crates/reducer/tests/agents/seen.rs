//! What a recording, or a transcript, shows: each part once, in order.

use std::collections::BTreeMap;

use bowline_reducer::model::Content;
use bowline_reducer::{BlockKind, EntryKind, Thread, ToolCall, Transcript};
use serde::Serialize;
use serde_json::Value;

/// The parts of a conversation.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Prompts, thoughts, texts, calls and ends of turns, by thread; the main one is ``.
    pub(crate) threads: BTreeMap<String, Vec<String>>,
    pub(crate) calls: BTreeMap<String, Call>,
    /// Request, call, answer.
    pub(crate) requests: Vec<[String; 3]>,
    /// The plan at the end: state and text.
    pub(crate) plan: Vec<String>,
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Call {
    pub(crate) input: Value,
    pub(crate) state: String,
    pub(crate) result: Option<String>,
    /// Path, old text, new text or patch.
    pub(crate) diffs: Vec<String>,
    pub(crate) exit_code: Option<i64>,
    /// What its command printed.
    pub(crate) output: Option<String>,
}

pub(crate) fn text<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key).and_then(Value::as_str)
}

pub(crate) fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

impl Seen {
    pub(crate) fn push(&mut self, thread: &str, part: String) {
        self.threads
            .entry(thread.to_owned())
            .or_default()
            .push(part);
    }

    /// Number of parts of a thread.
    pub(crate) fn count(&self, thread: &str) -> usize {
        self.threads.get(thread).map_or(0, Vec::len)
    }

    /// Continues a part of a thread.
    pub(crate) fn append(&mut self, thread: &str, at: usize, more: &str) {
        let parts = self.threads.get_mut(thread).expect("its thread");
        parts[at].push_str(more);
    }

    /// Closes the calls that have no end.
    pub(crate) fn close(&mut self, state: impl Fn(&str) -> &'static str) {
        for (id, call) in &mut self.calls {
            if call.state.is_empty() {
                call.state = state(id).to_owned();
            }
        }
    }

    /// What differs from `expected`, part by part.
    pub(crate) fn differences(&self, expected: &Self) -> Vec<String> {
        let lines = |seen: &Self| {
            let mut lines = Vec::new();
            for (thread, parts) in &seen.threads {
                lines.extend(parts.iter().map(|part| format!("{thread}| {part}")));
            }
            lines.extend(seen.calls.iter().map(|(id, call)| format!("{id} {call:?}")));
            lines.extend(seen.requests.iter().map(|it| it.join(" ")));
            lines.extend(seen.plan.iter().cloned());
            lines
        };
        let (shown, expected) = (lines(self), lines(expected));
        let pairs =
            (0..shown.len().max(expected.len())).map(|at| (shown.get(at), expected.get(at)));
        pairs
            .filter(|(shown, expected)| shown != expected)
            .map(|(shown, expected)| format!("  shown    {shown:?}\n  expected {expected:?}"))
            .collect()
    }

    /// Reads a transcript.
    pub(crate) fn of_transcript(transcript: &Transcript) -> Self {
        let mut seen = Self::default();
        seen.thread("", transcript.main());
        for thread in transcript.threads() {
            seen.thread(thread.name().unwrap_or_default(), thread);
        }
        for request in transcript.permissions() {
            let call = request.tool_use_id().unwrap_or_default();
            let request = [request.request_id(), call, &word(&request.state())];
            seen.requests.push(request.map(str::to_owned));
        }
        let plan = transcript.session().plan();
        seen.plan = plan
            .iter()
            .map(|step| format!("{} {}", word(&step.state), step.text))
            .collect();
        seen
    }

    fn thread(&mut self, id: &str, thread: Thread<'_>) {
        for entry in thread.entries() {
            match entry.kind() {
                EntryKind::User { text, .. } => self.push(id, format!("prompt: {text}")),
                EntryKind::Assistant { blocks, .. } => {
                    for block in blocks.iter() {
                        self.push(id, shown(block.kind()));
                    }
                }
                EntryKind::Result { outcome, .. } => {
                    self.push(id, format!("end: {}", word(&outcome)));
                }
                _ => {}
            }
        }
        for call in thread.tool_calls().iter() {
            self.calls.insert(call.id().to_owned(), Call::of(call));
        }
    }
}

fn shown(block: BlockKind<'_>) -> String {
    match block {
        BlockKind::Text { text } => format!("text: {text}"),
        BlockKind::Thinking { text } => format!("thought: {text}"),
        BlockKind::ToolCall { id } => format!("call: {id}"),
        other => format!("{other:?}"),
    }
}

/// The name of a state.
pub(crate) fn word(state: &impl Serialize) -> String {
    let state = serde_json::to_value(state).expect("JSON");
    state.as_str().expect("a string").to_owned()
}

impl Call {
    fn of(call: ToolCall<'_>) -> Self {
        let content = call.shown().content;
        let diffs = content.iter().filter_map(|part| match part {
            Content::Diff {
                path,
                old,
                new,
                patch,
            } => {
                let new = new.as_deref().or(patch.as_deref());
                Some(diff(Some(path), old.as_deref(), new))
            }
            _ => None,
        });
        Self {
            input: call.input().map_or(Value::Null, |input| {
                serde_json::to_value(input).expect("JSON")
            }),
            state: word(&call.state()),
            result: call.result().map(|result| result.text().to_string()),
            diffs: diffs.collect(),
            exit_code: call.exit_code(),
            output: call.output().map(|output| output.to_string()),
        }
    }
}

pub(crate) fn diff(path: Option<&str>, old: Option<&str>, new: Option<&str>) -> String {
    format!("{path:?}: {old:?} -> {new:?}")
}
