//! Lines of JSON-RPC, compared with `serde_json` and with the build without `unsafe`.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::{same, whole};
use crate::guided::{Check, Target};
use crate::{safe, shipped};

/// Recordings of agents that speak JSON-RPC.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/agents");

/// Longest line that is a seed, in bytes.
const LONGEST: usize = 1_500;

/// One line.
pub(super) static RPC: Target = Target {
    name: "rpc",
    what: "a line is the message that serde_json finds in it, in any build, and no message panics a dialect",
    longest: 2_000,
    seeds: || seeds(&["acp.", "app-server."]),
    dictionary: &TOKENS,
    repair: whole,
    check,
};

/// Members and values of both dialects.
pub(super) const TOKENS: [&[u8]; 40] = [
    b"\n",
    b"{",
    b"}",
    b"[]",
    b"{}",
    b"null",
    b"0",
    b"-1",
    b"\"\"",
    b"\\ud83d",
    b"\\u0069",
    b",",
    b":",
    b"\"id\":1,",
    b"\"id\":\"a\",",
    b"\"id\":null,",
    b"\"jsonrpc\":\"2.0\",",
    b"\"result\":{}",
    b"\"error\":{\"code\":-32603}",
    b"\"method\":\"session/update\",",
    b"\"method\":\"session/prompt\",",
    b"\"method\":\"session/request_permission\",",
    b"\"method\":\"session/load\",",
    b"\"sessionId\":\"s\",",
    b"\"sessionUpdate\":\"tool_call\",",
    b"\"sessionUpdate\":\"agent_message_chunk\",",
    b"\"toolCallId\":\"c\",",
    b"\"status\":\"completed\"",
    b"\"content\":[{\"type\":\"diff\",\"path\":\"/p\",\"newText\":\"n\"}]",
    b"\"stopReason\":\"cancelled\"",
    b"\"method\":\"item/started\",",
    b"\"method\":\"item/completed\",",
    b"\"method\":\"turn/completed\",",
    b"\"method\":\"turn/start\",",
    b"\"method\":\"thread/resume\",",
    b"\"threadId\":\"t\",",
    b"\"itemId\":\"i\",",
    b"\"type\":\"commandExecution\"",
    b"\"type\":\"collabAgentToolCall\"",
    b"\"receiverThreadIds\":[\"u\"]",
];

/// The messages of recordings whose names begin with one of `dialects`, each once, both directions.
pub(super) fn seeds(dialects: &[&str]) -> std::io::Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for agent in fs::read_dir(RECORDINGS)? {
        for file in fs::read_dir(agent?.path())? {
            let path = file?.path();
            if is_trace(&path, dialects) {
                let trace = fs::read_to_string(&path)?;
                seeds.extend(trace.lines().filter_map(message));
            }
        }
    }
    seeds.sort();
    seeds.dedup();
    Ok(seeds)
}

fn is_trace(path: &Path, dialects: &[&str]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".trace.jsonl") && dialects.iter().any(|it| name.starts_with(it))
}

fn message(line: &str) -> Option<Vec<u8>> {
    let line: Value = serde_json::from_str(line).ok()?;
    let message = line.get("msg")?.to_string();
    (message.len() <= LONGEST).then(|| message.into_bytes())
}

fn check() -> Result<Check, String> {
    Ok(Box::new(|line| {
        let Ok(line) = std::str::from_utf8(line) else {
            return Ok(());
        };
        let one = shipped_message(line);
        same("in both builds", &one, &safe_message(line))?;
        let Ok(object) = serde_json::from_str::<Map<String, Value>>(line) else {
            return Ok(());
        };
        if shipped::jsonl::RawJson::parse(line).is_none() {
            // It has a line end inside, or nests deeper than what is kept; `serde_json` takes more.
            return Ok(());
        }
        same("a message", &one.map(|it| it.0), &kind_of(&object))
    }))
}

/// The kind of a message, its id and method.
type Kind = (&'static str, Value, Value);

macro_rules! message_of {
    ($name:ident, $jsonl:path) => {
        /// The message of a line, and all that a dialect reads of it.
        fn $name(line: &str) -> Option<(Kind, String)> {
            use jsonl::rpc::{Id, Message};
            use $jsonl as jsonl;
            let message = Message::parse(jsonl::RawJson::parse(line)?)?;
            let id = |id: Option<Id<'_>>| {
                id.map_or(Value::Null, |id| {
                    serde_json::from_str(id.text()).unwrap_or_default()
                })
            };
            let kind = match message {
                Message::Request { id: it, method, .. } => {
                    ("request", id(Some(it)), json!(method.decode()))
                }
                Message::Notification { method, .. } => {
                    ("notification", Value::Null, json!(method.decode()))
                }
                Message::Response { id: it, result } => {
                    let is_error = result.is_err();
                    ("response", id(it), json!(is_error))
                }
            };
            let agent = jsonl::acp::AgentMessage::of(message);
            let update = match &agent {
                jsonl::acp::AgentMessage::Update(update) => Some(update.update()),
                _ => None,
            };
            let host = jsonl::acp::HostMessage::of(message);
            let server = jsonl::codex::ServerMessage::of(message);
            let client = jsonl::codex::ClientMessage::of(message);
            Some((
                kind,
                format!("{agent:?} {update:?} {host:?} {server:?} {client:?}"),
            ))
        }
    };
}

message_of!(shipped_message, shipped::jsonl);
message_of!(safe_message, safe::jsonl);

/// The message that an object is, by the rules of JSON-RPC.
fn kind_of(object: &Map<String, Value>) -> Option<Kind> {
    let id = object.get("id").filter(|id| !id.is_null());
    if id.is_some_and(|id| !id.is_string() && !id.is_number()) {
        return None;
    }
    let it = id.cloned().unwrap_or_default();
    if let Some(method) = object.get("method") {
        let method = json!(method.as_str()?);
        let kind = if id.is_some() {
            "request"
        } else {
            "notification"
        };
        return Some((kind, it, method));
    }
    object.get("id")?;
    let is_error = object.get("error").is_some_and(|error| !error.is_null());
    if !is_error {
        object.get("result")?;
    }
    Some(("response", it, json!(is_error)))
}
