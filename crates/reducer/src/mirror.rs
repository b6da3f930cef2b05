//! Reconstructs the transcript's JSON from the JSON of changes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::schema::SCHEMA;

/// Members of an entry that are beside its value in a change.
const ENTRY_MEMBERS: [&str; 4] = ["turn", "at_ms", "bytes", "history"];

/// A copy of a transcript that is kept up to date by changes, as in another process.
///
/// It takes the JSON of each [`Change`](crate::Change) in order and returns the transcript as JSON,
/// schema 2. It is also the reference for what changes mean. The crate documentation has an
/// example.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    session: Value,
    status: Value,
    usage: Value,
    stats: Value,
    entries: BTreeMap<u64, Entry>,
    /// The entry of each block.
    owners: BTreeMap<u64, u64>,
    calls: BTreeMap<u64, Call>,
    tasks: Map<String, Value>,
    permissions: BTreeMap<u64, Value>,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    thread: Option<String>,
    value: Value,
    blocks: BTreeMap<u64, Value>,
}

#[derive(Clone, Debug)]
struct Call {
    thread: Option<String>,
    value: Value,
}

impl Mirror {
    /// Returns a mirror of an empty transcript.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies the next change. Unknown changes are ignored, for compatibility with newer writers.
    pub fn apply(&mut self, change: &Value) {
        let value = || change.get("value").cloned().unwrap_or_default();
        match change.get("change").and_then(Value::as_str) {
            Some("reset") => *self = Self::default(),
            // Where `session` is the id of the session, the new one is the value.
            Some("session") if change.get("value").is_some() => self.session = value(),
            Some("session") => self.session = member(change, "session"),
            Some("status") => self.status = member(change, "status"),
            Some("usage") => self.usage = member(change, "usage"),
            Some("stats") => self.stats = member(change, "stats"),
            Some("entry") => {
                let entry = self.entries.entry(number(change, "entry")).or_default();
                entry.thread = text(change, "thread");
                entry.value = with_members(value(), change, &ENTRY_MEMBERS);
            }
            Some("entry_removed") => {
                self.entries.remove(&number(change, "entry"));
            }
            Some("block") => self.put_block(change, with_members(value(), change, &["bytes"])),
            Some("append") => self.append(change),
            Some("block_removed") => self.remove_block(number(change, "block")),
            Some("tool_call") => {
                let call = Call {
                    thread: text(change, "thread"),
                    value: value(),
                };
                self.calls.insert(number(change, "call"), call);
            }
            Some("tool_call_removed") => {
                self.calls.remove(&number(change, "call"));
            }
            Some("task") => {
                let name = text(change, "task").unwrap_or_default();
                self.tasks.insert(name, value());
            }
            Some("permission") => {
                self.permissions
                    .insert(number(change, "permission"), value());
            }
            _ => {}
        }
    }

    fn put_block(&mut self, change: &Value, value: Value) {
        let (block, entry) = (number(change, "block"), number(change, "entry"));
        self.owners.insert(block, entry);
        if let Some(entry) = self.entries.get_mut(&entry) {
            entry.blocks.insert(block, value);
        }
    }

    fn append(&mut self, change: &Value) {
        let block = number(change, "block");
        let owner = self.owners.get(&block).copied().unwrap_or(u64::MAX);
        let entry = self.entries.get_mut(&owner);
        let value = entry.and_then(|entry| entry.blocks.get_mut(&block));
        let Some(value) = value else { return };
        if let Some(Value::String(content)) = value.get_mut("text") {
            content.truncate(number(change, "from") as usize);
            content.push_str(&text(change, "text").unwrap_or_default());
        }
        if let Some(end) = value.get_mut("bytes").and_then(|bytes| bytes.get_mut(1)) {
            *end = member(change, "end");
        }
    }

    fn remove_block(&mut self, block: u64) {
        let owner = self.owners.remove(&block).unwrap_or(u64::MAX);
        if let Some(entry) = self.entries.get_mut(&owner) {
            entry.blocks.remove(&block);
        }
    }

    /// Returns the transcript as JSON, schema 2.
    #[must_use]
    pub fn transcript(&self) -> Value {
        let mut out = Map::new();
        out.insert("schema".into(), SCHEMA.into());
        if let Value::Object(session) = &self.session {
            out.extend(session.clone());
        }
        out.insert("status".into(), self.status.clone());
        self.thread_into(None, &mut out);
        out.insert("tasks".into(), self.tasks.clone().into());
        let permissions: Vec<_> = self.permissions.values().cloned().collect();
        out.insert("permissions".into(), permissions.into());
        out.insert("usage".into(), self.usage.clone());
        out.insert("stats".into(), self.stats.clone());
        out.insert("threads".into(), self.threads().into());
        out.into()
    }

    /// The threads of sub-agents. Those that a call holds are known by the call.
    fn threads(&self) -> Map<String, Value> {
        let mut threads = Map::new();
        let unheld = self.session.get("threads").and_then(Value::as_object);
        for (name, head) in unheld.into_iter().flatten() {
            let mut thread = head.as_object().cloned().unwrap_or_default();
            self.thread_into(Some(name), &mut thread);
            threads.insert(name.clone(), thread.into());
        }
        for call in self.calls.values().map(|call| &call.value) {
            let Some(subagent) = call.get("subagent").filter(|it| !it.is_null()) else {
                continue;
            };
            let name = text(subagent, "agent_id").filter(|name| !threads.contains_key(name));
            let name = name.or_else(|| text(call, "id"));
            let thread = json!({
                "call": call.get("id"),
                "title": subagent.get("title"),
                "state": subagent.get("state"),
                "usage": subagent.get("usage"),
                "entries": null,
                "tool_calls": null,
            });
            threads.insert(name.unwrap_or_default(), thread);
        }
        threads
    }

    fn thread_into(&self, thread: Option<&str>, out: &mut Map<String, Value>) {
        let entries = self.entries.values();
        let entries = entries.filter(|entry| entry.thread.as_deref() == thread);
        let entries: Vec<_> = entries.map(Entry::to_json).collect();
        out.insert("entries".into(), entries.into());
        let calls = self.calls.values();
        let calls = calls.filter(|call| call.thread.as_deref() == thread);
        let calls = calls
            .map(|call| self.call_to_json(call))
            .collect::<Map<_, _>>();
        out.insert("tool_calls".into(), calls.into());
    }

    fn call_to_json(&self, call: &Call) -> (String, Value) {
        let mut value = call.value.clone();
        let id = text(&value, "id").unwrap_or_default();
        if let Some(Value::Object(subagent)) = value.get_mut("subagent") {
            self.thread_into(Some(&id), subagent);
        }
        (id, value)
    }
}

impl Entry {
    fn to_json(&self) -> Value {
        let mut value = self.value.clone();
        if let Some(blocks) = value.get_mut("blocks") {
            *blocks = json!(self.blocks.values().collect::<Vec<_>>());
            // The entry ends with the last of its blocks.
            let ends = self
                .blocks
                .values()
                .filter_map(|block| block["bytes"][1].as_u64());
            let start = value["bytes"][0].as_u64();
            value["bytes"][1] = json!(ends.max().or(start));
        }
        value
    }
}

/// A value with further members of its change.
fn with_members(mut value: Value, change: &Value, members: &[&str]) -> Value {
    if let Value::Object(value) = &mut value {
        for &name in members {
            value.insert(name.to_owned(), member(change, name));
        }
    }
    value
}

fn member(value: &Value, key: &str) -> Value {
    value.get(key).cloned().unwrap_or_default()
}

fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or(u64::MAX)
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key).and_then(Value::as_str).map(str::to_owned)
}
