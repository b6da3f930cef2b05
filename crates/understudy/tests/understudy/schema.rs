//! ACP lines against the crate of its schema, and Codex' lines against the recordings.

use std::collections::{BTreeMap, BTreeSet};

use agent_client_protocol_schema::v1 as schema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::process::{fixture_path, paths};
use crate::rpc::Host;

/// A turn with every kind of event, and one that fails.
const EVERYTHING: &str = r#"
[[turn]]
match = "all"
steps = [
  { thinking = "Let me see." },
  { plan = [ { text = "look", state = "in_progress" }, { text = "act", state = "pending" } ] },
  { text = "I look." },
  { parallel = [
    { tool = { name = "Read", input = { file_path = "/a/b" }, result = "text" } },
    { tool = { name = "Grep", input = { pattern = "x" }, result = "a:1" } },
    { tool = { name = "Odd", input = { k = 1 }, result = "odd" } },
    { tool = { name = "Bash", input = { command = "false" }, is_error = true, result = "Exit code 1\nno" } },
  ] },
  { limits = { window_minutes = 300, used_percent = 40, resets_at = 1795500000 } },
  { api_retry = { attempts = 1 } },
  { notice = "Take care." },
  { agent = { description = "child", prompt = "do", type = "Explore", steps = [
    { thinking = "Hm." }, { text = "Child." },
    { tool = { name = "Bash", input = { command = "ls" }, ask = true, result = "f" } }, { text = "Report." },
  ] } },
  { agent = { description = "failing", prompt = "do", fails = "it broke" } },
  { tool = { name = "Write", input = { file_path = "/a/n", content = "new\n" }, ask = true, result = "ok" } },
  { tool = { name = "Edit", input = { file_path = "/a/o", old_string = "a\n", new_string = "b\n" }, result = "ok" } },
  { tool = { name = "Odd", input = {}, ask = true, result = "odd" } },
  { text = "Done." },
]
[[turn]]
match = "fail"
steps = [ { fail = {} } ]
[[turn]]
match = "limit"
steps = [ { text = "a" }, { max_turns = 1 } ]
[[turn]]
match = "stop"
steps = [ { text = "begun" }, { tool = { name = "Bash", input = { command = "x" }, ask = true, result = "r" } } ]
"#;

/// Plays everything; returns the agent's lines.
fn lines(dialect: &str, client: &Value) -> Vec<Value> {
    let mut host = Host::open_as(dialect, EVERYTHING, client);
    for (id, text, allow) in [
        ("p0", "all", true),
        ("p1", "fail", true),
        ("p2", "limit", true),
    ] {
        host.prompt(id, text);
        loop {
            let line = host.next();
            if line["method"].is_string() && line["id"].is_u64() {
                host.decide(&line["id"], allow);
            }
            if host.is_turn_end(&line, id) {
                break;
            }
        }
    }
    host.prompt("p3", "stop");
    let turn = host.find(|line| {
        line["params"]["turnId"].is_string() || line["method"] == "session/request_permission"
    });
    host.interrupt(&turn["params"]["turnId"]);
    host.turn_end("p3");
    if dialect == "acp" {
        let session = json!({"sessionId": host.id, "cwd": "/", "mcpServers": []});
        host.call("list", "session/list", &json!({}));
        host.call(
            "mode",
            "session/set_mode",
            &json!({"sessionId": host.id, "modeId": "plan"}),
        );
        let option = json!({"sessionId": host.id, "configId": "model", "value": "opus"});
        host.call("option", "session/set_config_option", &option);
        host.call("load", "session/load", &session);
        host.call("resume", "session/resume", &session);
        host.call("fork", "session/fork", &session);
    } else {
        host.call("load", "thread/resume", &json!({"threadId": host.id}));
    }
    let log = host.log.take();
    log.into_iter()
        .filter(|(from_host, _)| !from_host)
        .map(|(_, line)| line)
        .collect()
}

#[test]
fn acp_lines_are_of_the_schema() {
    let shows_all = json!({"subagents": {}, "session": {"notices": {}}});
    for client in [json!({}), shows_all] {
        let mut kinds = BTreeSet::new();
        for line in lines("acp", &client) {
            assert_eq!(line["jsonrpc"], "2.0", "{line}");
            kinds.insert(checked(&line));
        }
        let asked = kinds.contains("request_permission");
        assert!(
            asked && kinds.contains("tool_call") && kinds.contains("plan"),
            "{kinds:?}"
        );
        assert_eq!(
            kinds.contains("subagent_update"),
            client["subagents"].is_object()
        );
    }
}

/// Checks a line; returns what it is.
fn checked(line: &Value) -> String {
    let (params, result) = (&line["params"], &line["result"]);
    match (line["method"].as_str(), line["id"].as_str()) {
        (Some("session/update"), _) => {
            assert_is::<schema::SessionNotification>(params);
            params["update"]["sessionUpdate"]
                .as_str()
                .unwrap()
                .to_owned()
        }
        (Some("session/request_permission"), _) => {
            assert_is::<schema::RequestPermissionRequest>(params);
            "request_permission".to_owned()
        }
        (Some("$/cancel_request"), _) => "cancel_request".to_owned(),
        (Some(method), _) => panic!("{method} is not of the schema"),
        (None, Some("p1")) => {
            assert_is::<schema::Error>(&line["error"]);
            "error".to_owned()
        }
        (None, id) => {
            match id.unwrap() {
                "init" => assert_is::<schema::InitializeResponse>(result),
                "open" => assert_is::<schema::NewSessionResponse>(result),
                "list" => assert_is::<schema::ListSessionsResponse>(result),
                "mode" => assert_is::<schema::SetSessionModeResponse>(result),
                "option" => assert_is::<schema::SetSessionConfigOptionResponse>(result),
                "load" => assert_is::<schema::LoadSessionResponse>(result),
                "resume" => assert_is::<schema::ResumeSessionResponse>(result),
                "fork" => assert_is::<schema::ForkSessionResponse>(result),
                _ => assert_is::<schema::PromptResponse>(result),
            }
            "response".to_owned()
        }
    }
}

/// Checks that `T` keeps every member of `written`; a type that reads errors as nothing loses them.
fn assert_is<T: DeserializeOwned + Serialize>(written: &Value) {
    let read: T =
        serde_json::from_value(written.clone()).unwrap_or_else(|e| panic!("{written}: {e}"));
    assert_kept(written, &serde_json::to_value(read).unwrap());
}

fn assert_kept(written: &Value, kept: &Value) {
    match (written, kept) {
        (Value::Object(written), Value::Object(kept)) => {
            for (key, value) in written.iter().filter(|(_, value)| !value.is_null()) {
                // Sent by every agent that counts tokens, and not of the stable schema yet.
                if key == "usage" {
                    continue;
                }
                let kept = kept.get(key);
                // The schema leaves out what is its default.
                let empty = value.as_array().is_some_and(Vec::is_empty)
                    || value == "pending"
                    || value == "other";
                match kept {
                    Some(kept) => assert_kept(value, kept),
                    None => assert!(empty, "{key} is lost"),
                }
            }
        }
        (Value::Array(written), Value::Array(kept)) => {
            assert_eq!(written.len(), kept.len(), "{written:?}");
            written
                .iter()
                .zip(kept)
                .for_each(|(written, kept)| assert_kept(written, kept));
        }
        (Value::Number(written), Value::Number(kept)) => {
            assert_eq!(written.as_f64(), kept.as_f64())
        }
        _ => assert_eq!(written, kept),
    }
}

/// Kinds of line that no recording has (`crates/jsonl/PROTOCOL-codex.md` describes them).
const UNRECORDED: [&str; 4] = [
    "item/fileChange/requestApproval",
    "item/started/mcpToolCall",
    "item/completed/mcpToolCall",
    "turn/plan/updated",
];

/// Members that a recorded kind of line may have beside the recorded ones.
const UNRECORDED_PATHS: [&str; 4] = [
    ".params.item.changes.kind.move_path",
    ".params.rateLimits.primary",
    ".params.item.commandActions",
    ".params.commandActions",
];

/// Returns the kind of one of Codex' lines; `None` for a response that is empty.
fn kind(line: &Value) -> Option<String> {
    if let Some(method) = line["method"].as_str() {
        let item = line["params"]["item"]["type"].as_str();
        return Some(item.map_or_else(|| method.to_owned(), |item| format!("{method}/{item}")));
    }
    let result = line["result"].as_object()?;
    let known = ["thread", "turn", "userAgent"]
        .into_iter()
        .find(|key| result.contains_key(*key))?;
    Some(format!("result/{known}"))
}

/// Returns the key paths of a line; those of a map by thread have `*`.
fn members(line: &Value) -> BTreeSet<String> {
    let mut line = line.clone();
    if let Some(states) = line["params"]["item"]["agentsStates"].as_object().cloned() {
        let by_star: serde_json::Map<_, _> = states
            .into_iter()
            .map(|(_, state)| ("*".to_owned(), state))
            .collect();
        line["params"]["item"]["agentsStates"] = by_star.into();
    }
    // Items of a thread or turn are checked where they are sent.
    for part in ["params", "result"] {
        for of in ["thread", "turn"] {
            if line[part][of].is_object() {
                line[part][of]["items"] = Value::Null;
                line[part][of]["turns"] = Value::Null;
            }
        }
    }
    paths(&line)
}

/// Returns the members that some line of a kind has, and those that every line has.
fn recorded() -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
    let mut known: BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for entry in std::fs::read_dir(fixture_path("agents/codex")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("app-server.") || !name.ends_with(".out.jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let Some(kind) = kind(&line) else { continue };
            let its = members(&line);
            let (any, every) = known
                .entry(kind)
                .or_insert_with(|| (its.clone(), its.clone()));
            any.extend(its.iter().cloned());
            every.retain(|path| its.contains(path));
        }
    }
    known
}

#[test]
fn codex_lines_have_recorded_members() {
    let known = recorded();
    let mut checked = BTreeSet::new();
    for line in lines("codex", &json!({})) {
        let Some(kind) = kind(&line) else { continue };
        if UNRECORDED.contains(&kind.as_str()) {
            continue;
        }
        let (any, every) = known
            .get(&kind)
            .unwrap_or_else(|| panic!("no recording has {kind}: {line}"));
        let ours = members(&line);
        let extra: Vec<_> = ours
            .difference(any)
            .filter(|path| !UNRECORDED_PATHS.iter().any(|it| path.starts_with(it)))
            .collect();
        let missing: Vec<_> = every
            .difference(&ours)
            .filter(|path| !UNRECORDED_PATHS.iter().any(|it| path.starts_with(it)))
            .collect();
        assert!(
            extra.is_empty() && missing.is_empty(),
            "{kind}: {extra:?} is new, {missing:?} missing: {line}"
        );
        checked.insert(kind);
    }
    assert!(checked.len() > 20, "{checked:?}");
}
