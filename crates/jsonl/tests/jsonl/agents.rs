//! The recordings of agents that speak JSON-RPC: each line is a message, and all but a few are known.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use bowline_jsonl::acp::{AgentMessage, HostMessage, Update};
use bowline_jsonl::codex::{ClientMessage, ServerMessage};
use bowline_jsonl::rpc::Message;
use bowline_jsonl::{RawJson, Str};
use bytes::Bytes;

use crate::support::for_each;

/// Methods and updates that have no struct.
const UNKNOWN: &[&str] = &[
    "acp _auth/status_update",
    "acp craft/drainMidTurnQueue",
    "acp fs/read_text_file",
    "acp fs/write_text_file",
    "acp qwen/notify/session/prompt-suggestion",
    "codex remoteControl/status/changed",
    "codex thread/readState/changed",
];

/// Files of `tests/fixtures/agents` that end with `ending`, with their dialect.
fn recordings(ending: &str) -> Vec<(&'static str, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/agents");
    let mut files = Vec::new();
    for agent in std::fs::read_dir(root).expect("valid") {
        for file in std::fs::read_dir(agent.expect("valid").path()).expect("valid") {
            let path = file.expect("valid").path();
            let name = path
                .file_name()
                .expect("valid")
                .to_string_lossy()
                .into_owned();
            if !name.ends_with(ending) {
                continue;
            }
            if name.starts_with("acp.") {
                files.push(("acp", path));
            } else if name.starts_with("app-server.") {
                files.push(("codex", path));
            }
        }
    }
    assert!(files.len() > 50, "{}", files.len());
    files
}

#[expect(
    clippy::disallowed_methods,
    reason = "the crate does no I/O; its tests read recordings"
)]
fn read(path: &Path) -> Bytes {
    std::fs::read(path).expect("valid").into()
}

fn unknown_of_agent(dialect: &str, message: Message<'_>) -> Option<String> {
    let named = |method: Str<'_>| Some(format!("{dialect} {method}"));
    if dialect == "codex" {
        return match ServerMessage::of(message) {
            // Parts of an item that its end repeats.
            ServerMessage::Other(message) => message
                .method()
                .filter(|method| *method != "item/reasoning/summaryPartAdded")
                .and_then(named),
            _ => None,
        };
    }
    match AgentMessage::of(message) {
        AgentMessage::Other(message) => message.method().and_then(named),
        AgentMessage::Update(update) => match update.update() {
            Update::Unknown { kind } => named(kind.unwrap_or_default()),
            _ => None,
        },
        _ => None,
    }
}

#[test]
fn every_line_of_agents_is_message() {
    let mut unknown = BTreeSet::new();
    let mut lines = 0;
    for (dialect, path) in recordings(".out.jsonl") {
        for_each([read(&path)], |item| {
            let raw = item.event.expect("a line of JSON").raw;
            let message = Message::parse(raw).unwrap_or_else(|| panic!("{path:?}: {raw}"));
            unknown.extend(unknown_of_agent(dialect, message));
            lines += 1;
        });
    }
    assert!(lines > 1000, "{lines}");
    let unknown: Vec<_> = unknown.iter().map(String::as_str).collect();
    assert_eq!(unknown, UNKNOWN);
}

#[test]
fn every_line_of_hosts_is_message() {
    let mut others = BTreeSet::new();
    for (dialect, path) in recordings(".trace.jsonl") {
        for_each([read(&path)], |item| {
            let line = item.event.expect("a line of JSON").raw;
            if line.get("dir").and_then(RawJson::as_str).expect("valid") != "host>" {
                return;
            }
            let message = Message::parse(line.get("msg").expect("valid")).expect("a message");
            let method = if dialect == "codex" {
                match ClientMessage::of(message) {
                    ClientMessage::Other(message) => message.method(),
                    _ => None,
                }
            } else {
                match HostMessage::of(message) {
                    HostMessage::Other(message) => message.method(),
                    _ => None,
                }
            };
            others.extend(method.map(|method| method.decode().into_owned()));
        });
    }
    let others: Vec<_> = others.iter().map(String::as_str).collect();
    assert_eq!(others, ["authenticate", "initialized", "session/list"]);
}
