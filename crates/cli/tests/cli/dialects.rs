//! `bowline run` with agents that speak JSON-RPC.

use bowline_transport::journal::{Body, Record, recover};
use bowline_transport::wire::StreamId;
use serde_json::Value;

use crate::support::{BOWLINE, ScriptedAgent, bowline, command, finish, json};

const TOOL: &str = r#"
[[turn]]
steps = [
  { text = "I will look." },
  { tool = { name = "Bash", input = { command = "ls" }, ask = true, result = "a\nb",
    allowed = [ { text = "Two files." } ], denied = [ { text = "I may not." } ] } },
]
"#;

/// Runs the understudy in a dialect.
fn run(dialect: &str, more: &[&str]) -> Value {
    let agent = ScriptedAgent::new(TOOL);
    let scenario = format!("--scenario={}", agent.path("scenario.toml"));
    let played = format!("--dialect={dialect}");
    let mut args = vec!["run", "--agent", BOWLINE, "--dialect", dialect];
    for arg in ["understudy", &scenario, "--pace=0", &played] {
        args.extend(["--agent-arg", arg]);
    }
    args.extend(["--output", "transcript"]);
    args.extend(more);
    args.push("What is here?");
    let output = bowline(&args);
    // Standard error says that the permission was denied.
    assert_eq!(output.code, Some(0), "{output:?}");
    json(&output.stdout)
}

#[test]
fn session_ends_with_its_turn_in_all_dialects() {
    for dialect in ["codex", "acp"] {
        let transcript = run(dialect, &[]);
        assert_eq!(transcript["dialect"], dialect);
        assert_eq!(transcript["status"]["phase"], "ended");
        let entries = transcript["entries"].as_array().unwrap();
        assert_eq!(entries[0]["text"], "What is here?", "{transcript}");
        let result = entries.iter().find(|it| it["kind"] == "result").unwrap();
        assert_eq!(result["outcome"], "completed", "{transcript}");
        let unexpected = entries.iter().filter(|it| it["kind"] == "error");
        assert_eq!(unexpected.count(), 0, "{transcript}");
        // Without a terminal, requests are denied.
        assert_eq!(
            transcript["permissions"][0]["state"], "denied",
            "{transcript}"
        );
        assert!(
            transcript.to_string().contains("I may not."),
            "{transcript}"
        );
    }
}

#[test]
fn agent_that_is_not_installed_is_one_line() {
    for (agent, package) in [
        ("claude", "@anthropic-ai/claude-code"),
        ("codex", "@openai/codex"),
        ("gemini", "@google/gemini-cli"),
        ("opencode", "opencode-ai"),
        ("qwen", "@qwen-code/qwen-code"),
        ("copilot", "@github/copilot"),
    ] {
        let token = format!("absent-{agent}-{}", std::process::id());
        let mut command = command(&["run", "--agent", agent, "Hello"]);
        command.env("PATH", "/nowhere").env("BOWLINE_TEST", &token);
        let line = finish(command.spawn().unwrap()).failed(1);
        let wanted = format!("start {agent}: it is not installed; run `npm install -g {package}`");
        assert!(line.contains(&wanted), "{line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{line}");
        assert_eq!(with_variable(&token), Vec::<String>::new(), "{agent}");
    }
}

/// The processes that have a text in their environment.
fn with_variable(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        // Of other users, or ended meanwhile.
        let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(text) {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn agent_that_exits_at_once_is_one_line() {
    let line = bowline(&["run", "--agent", "false", "--dialect", "acp", "Hello"]).failed(1);
    assert!(
        line.contains("failed to start the agent: it exited, exit code 1"),
        "{line}"
    );
}

#[test]
fn refused_session_is_one_line() {
    let agent = ScriptedAgent::new("");
    let reply =
        |id: u32, body: &str| format!(r#"read line; echo '{{"id":"bowline-{id}",{body}}}'"#);
    for (first, second, wanted) in [
        (
            r#""result":{"protocolVersion":1,"authMethods":[{"id":"o","name":"Log in"}]}"#,
            r#""error":{"code":-32000,"message":"Authentication required"}"#,
            "start the agent: not logged in, Authentication required; run it once in a terminal to log in (Log in)",
        ),
        (
            r#""result":{"protocolVersion":1,"authMethods":[{"id":"o","description":"Run `it login`"}]}"#,
            r#""result":{"sessionId":"s","configOptions":[{"id":"model","type":"select","options":[]}]}"#,
            "start the agent: not logged in, it offers no model; run it once in a terminal to log in (Run `it login`)",
        ),
        (
            r#""result":{"protocolVersion":2}"#,
            "",
            "start the agent: it speaks version 2 of ACP, not version 1",
        ),
        (
            r#""result":{"protocolVersion":1}"#,
            r#""error":{"code":-32603,"message":"no room"}"#,
            "start the agent: it refused session/new, no room",
        ),
        (
            r#""error":{"code":-32602,"message":"bad params"}"#,
            "",
            "start the agent: it refused initialize, bad params",
        ),
    ] {
        // What it started is left to its host.
        let script = format!(
            "sleep 1000 &\n{}\n{}\nread line",
            reply(1, first),
            reply(2, second)
        );
        let script = agent.script(&script);
        let token = format!("refusing-agent-{}", std::process::id());
        let mut command = command(&["run", "--agent", &script, "--dialect", "acp", "Hello"]);
        command.env("BOWLINE_TEST", &token);
        let line = finish(command.spawn().unwrap()).failed(1);
        assert!(line.contains(wanted), "{line}");
        assert_eq!(line.trim_end().lines().count(), 1, "{line}");
        assert_eq!(with_variable(&token), Vec::<String>::new(), "{wanted}");
    }
}

#[test]
fn unsupported_setting_is_one_line() {
    let args = [
        "run",
        "--agent",
        "codex",
        "--allowed-tools",
        "Read",
        "Hello",
    ];
    let line = bowline(&args).failed(1);
    assert!(
        line.contains("start a codex session: a list of allowed tools is not supported; omit it"),
        "{line}"
    );
}

#[test]
fn refused_session_keeps_its_recording() {
    let agent = ScriptedAgent::new("");
    let refusal = r#"{"id":"bowline-1","result":{"protocolVersion":2}}"#;
    let script = agent.script(&format!("read line; echo '{refusal}'\nread line"));
    for name in ["record.jsonl", "record.bjl"] {
        let path = agent.path(name);
        let args = ["run", "--agent", &script, "--dialect", "acp", "--record"];
        bowline(&[&args[..], &[&path, "Hello"]].concat()).failed(1);
        let seen = json(&bowline(&["inspect", &path, "--json"]).ok());
        assert_eq!(seen["bytes"], refusal.len() + 1, "{seen}");
    }
    // An agent that says nothing leaves nothing to keep.
    let path = agent.path("silent.jsonl");
    let args = ["run", "--agent", "false", "--dialect", "acp", "--record"];
    bowline(&[&args[..], &[&path, "Hello"]].concat()).failed(1);
    assert!(!std::path::Path::new(&path).exists());
}

/// Removes the times and what only the end of the process decides.
fn without_times(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            for name in ["at_ms", "started_ms", "ended_ms", "status"] {
                members.remove(name);
            }
            for member in members.values_mut() {
                *member = without_times(member.take());
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = without_times(item.take());
            }
        }
        _ => {}
    }
    value
}

#[test]
fn recording_of_both_directions_is_replayed_as_it_was_seen() {
    for dialect in ["codex", "acp"] {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("record.bjl").display().to_string();
        let seen = run(dialect, &["--record", &path]);
        let replayed = json(&bowline(&["replay", &path, "--output", "transcript"]).ok());
        assert_eq!(without_times(replayed), without_times(seen), "{dialect}");

        // Each line of input is in the file before the output that follows it.
        let records = recover(&std::fs::read(&path).unwrap().into()).records;
        let (mut output, mut lines) = (0, 0);
        for Record {
            stream,
            offset,
            arrival,
            body,
        } in records
        {
            match (stream, body) {
                (StreamId::STDOUT, Body::Bytes(bytes)) => output = offset + bytes.len() as u64,
                (StreamId::INPUT, _) => {
                    assert_eq!(arrival.output, Some(output), "{dialect}");
                    lines += 1;
                }
                _ => {}
            }
        }
        assert!(lines > 3, "{dialect}: {lines} lines");
    }
}
