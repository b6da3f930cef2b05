//! `bowline replay` with every recording of the real agent.

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{
    bowline, bowline_reading, command, finish, fixture, json, json_lines, recordings,
};

fn text(name: &str) -> String {
    bowline(&["replay", &fixture(name)]).ok()
}

#[test]
fn every_recording_replays_in_every_form() {
    for file in recordings() {
        let transcript = json(&bowline(&["replay", &file, "--output", "transcript"]).ok());
        assert_eq!(transcript["schema"], 2, "{file}");
        assert_eq!(transcript["status"]["phase"], "ended", "{file}");
        let former = ["replay", &file, "--output", "transcript", "--schema", "1"];
        let former = json(&bowline(&former).ok());
        assert_eq!(former["schema"], 1, "{file}");
        for (name, value) in former.as_object().unwrap() {
            let is_same = matches!(name.as_str(), "usage" | "stats" | "status" | "session_id");
            assert!(!is_same || transcript[name] == *value, "{file}: {name}");
        }
        let changes = json_lines(&bowline(&["replay", &file, "--output", "changes"]).ok());
        assert!(
            changes.iter().all(|change| change["change"].is_string()),
            "{file}"
        );
        assert!(
            changes.iter().all(|change| change["change"] != "reset"),
            "{file}"
        );
        let text = bowline(&["replay", &file]).ok();
        assert!(!text.is_empty() && text.ends_with('\n'), "{file}");
        assert!(!text.contains('\x1b'), "{file}");
    }
}

#[test]
fn texts_are_shown_in_order() {
    for file in recordings() {
        let transcript = json(&bowline(&["replay", &file, "--output", "transcript"]).ok());
        let text = bowline(&["replay", &file]).ok();
        let mut rest = text.as_str();
        for line in text_lines(&transcript["entries"]) {
            let Some(at) = rest.find(&line) else {
                panic!("{line:?} is not in its place in {file}:\n{text}")
            };
            rest = rest.split_at(at + line.len()).1;
        }
    }
}

fn text_lines(entries: &Value) -> Vec<String> {
    let blocks = |entry: &Value| entry["blocks"].as_array().cloned().unwrap_or_default();
    let blocks = entries.as_array().unwrap().iter().flat_map(blocks);
    let texts = blocks.filter_map(|block| Some(block["text"].as_str()?.to_owned()));
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    // Sanitizing changes other lines.
    let is_plain = |line: &String| !line.contains(|c: char| c.is_control() && c != '\t');
    lines
        .filter(|line| !line.trim().is_empty())
        .filter(is_plain)
        .collect()
}

#[test]
fn partial_messages_render_like_whole_ones() {
    for (partial, whole) in [
        ("tool_bash_partial.jsonl", "tool_bash.jsonl"),
        ("parallel_partial.jsonl", "parallel.jsonl"),
        ("thinking_partial.jsonl", "thinking.jsonl"),
    ] {
        // Session, cost and duration differ between the runs.
        let lines = |name| {
            let text = text(name);
            let lines = text
                .lines()
                .filter(|line| !line.starts_with("· session") && !line.starts_with("✓ done"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (mut partial, mut whole) = (lines(partial), lines(whole));
        // Parallel tools end in any order.
        partial.sort();
        whole.sort();
        assert_eq!(partial, whole);
    }
}

#[test]
fn compressed_stdin_is_replayed() {
    let gzip = std::fs::read(fixture("oneline_1mb_partial.jsonl.gz")).unwrap();
    let piped = bowline_reading(&["replay", "-"], &gzip).ok();
    assert_eq!(piped, text("oneline_1mb_partial.jsonl.gz"));
}

#[test]
fn plain_answer() {
    assert_snapshot!(text("plain.jsonl"));
}

#[test]
fn tool_call() {
    assert_snapshot!(text("tool_bash_partial.jsonl"));
}

#[test]
fn parallel_tools() {
    assert_snapshot!(text("parallel.jsonl"));
}

#[test]
fn nested_subagents() {
    assert_snapshot!(text("sub_nest_fg.jsonl"));
}

#[test]
fn parallel_subagents() {
    assert_snapshot!(text("sub_par_fg_partial.jsonl"));
}

#[test]
fn background_subagent() {
    assert_snapshot!(text("sub_bg.jsonl"));
}

#[test]
fn denied_permission() {
    assert_snapshot!(text("permission_deny.jsonl"));
}

#[test]
fn api_failure() {
    assert_snapshot!(text("always529.jsonl"));
}

#[test]
fn truncated_answer() {
    assert_snapshot!(text("disconnect_partial.jsonl"));
}

#[test]
fn interrupt() {
    let text = text("interrupt_during_tool.jsonl");
    assert_snapshot!(text);
}

#[test]
fn unicode_text() {
    let text = text("unicode_partial.jsonl");
    let head: Vec<_> = text.lines().take(30).collect();
    assert_snapshot!(head.join("\n"));
}

#[test]
fn terminal_noise() {
    assert_snapshot!(text("pty_out_default.jsonl"));
}

/// One line of each kind that contains text from the agent.
const HOSTILE: &str = r#"{"type":"system","subtype":"init","session_id":"s\u001b[1m","model":"m\u001b]0;x\u0007","cwd":"/"}
{"type":"user","isReplay":true,"uuid":"u\u001b","session_id":"s","message":{"role":"user","content":"ask \u001b[2J now"}}
{"type":"assistant","message":{"id":"1","content":[{"type":"thinking","thinking":"hm \u001b[31m"},{"type":"text","text":"text \u001b[31mred\u009b0m \u202e \r\b end"},{"type":"tool_use","id":"t\u001b","name":"Ba\u001b[5msh","input":{"command":"ls \u001b[8m"}},{"type":"new\u001b","x":"\u001b"}]},"session_id":"s"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t\u001b","content":"out \u001b[?1049h put","is_error":true}]},"session_id":"s"}
{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"W\u001b[m","input":{"file_path":"\u001b[H"},"tool_use_id":"none"}}
{"type":"system","subtype":"task_started","task_id":"k","description":"task \u001b[1m","is_backgrounded":true,"session_id":"s"}
{"type":"system","subtype":"informational","content":"info \u001bc","session_id":"s"}
{"type":"system","subtype":"odd\u001b[1m","content":"odd \u001bc","session_id":"s"}
junk with \u001b and more
{"type":"result","subtype":"er\u001b[1mror","is_error":true,"result":"bad \u001b[7m end","session_id":"s"}
"#;

#[test]
fn escape_sequences_are_removed() {
    let mut stream = HOSTILE.as_bytes().to_vec();
    stream.extend_from_slice(b"raw \x1b[31m junk\n");
    let text = bowline_reading(&["replay", "-"], &stream).ok();
    let is_unsafe = |c: char| c.is_control() && c != '\n' && c != '\t' || c == '\u{202e}';
    assert!(!text.contains(is_unsafe), "{text:?}");
    assert_snapshot!(text);
    let counts = bowline_reading(&["inspect", "-"], &stream).ok();
    assert!(!counts.contains(is_unsafe), "{counts:?}");
    let json = bowline_reading(&["replay", "-", "--output", "transcript"], &stream).ok();
    assert!(json.contains(r"text \u001b[31mred"), "JSON is unchanged");
}

#[test]
fn no_color_applies_to_pipes() {
    let child = command(&["replay", &fixture("parallel.jsonl")])
        .env("NO_COLOR", "1")
        .spawn();
    assert_eq!(finish(child.unwrap()).ok(), text("parallel.jsonl"));
}

#[test]
fn slow_pipe_is_shown_line_by_line() {
    use std::io::{BufRead as _, BufReader, Write as _};
    let mut child = command(&["replay", "-"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let recording = std::fs::read_to_string(fixture("plain.jsonl")).unwrap();
    let mut lines = recording.split_inclusive('\n');
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(lines.next().unwrap().as_bytes()).unwrap();
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert!(line.starts_with("· session"), "{line}");
    drop(stdin);
    assert_eq!(finish(child).code, Some(0));
}

/// A recording of each dialect, and what its last turn says.
const AGENTS: [(&str, &str); 9] = [
    ("agents/codex/app-server.tool.trace.jsonl", "codex"),
    ("agents/codex/app-server.tool.out.jsonl", "codex"),
    ("agents/gemini/acp.tool.trace.jsonl", "acp"),
    ("agents/opencode/acp.tool.out.jsonl", "acp"),
    ("agents/gemini/stream-json.tool.jsonl", "gemini-stream-json"),
    ("agents/codex/exec.tool.jsonl", "codex-exec"),
    ("agents/copilot/json.tool.jsonl", "copilot-json"),
    ("agents/opencode/run-json.tool.jsonl", "opencode-run-json"),
    ("agents/qwen/stream-json.tool.jsonl", "qwen"),
];

#[test]
fn dialect_is_recognized_by_replay_and_inspect() {
    for (file, dialect) in AGENTS {
        let file = fixture(file);
        let counts = json(&bowline(&["inspect", &file, "--json"]).ok());
        assert_eq!(counts["dialect"], dialect, "{file}");
        let text = bowline(&["replay", &file]).ok();
        assert!(text.contains("Hello from the"), "{file}: {text}");
    }
}

#[test]
fn trace_shows_prompts_and_answers() {
    let file = fixture("agents/gemini/acp.tool.trace.jsonl");
    let transcript = json(&bowline(&["replay", &file, "--output", "transcript"]).ok());
    assert_eq!(transcript["entries"][0]["kind"], "user");
    assert_eq!(transcript["permissions"][0]["state"], "allowed");
    assert_eq!(transcript["entries"][0]["text"], "SCENARIO:tool");
}

#[test]
fn dialect_option_overrides_first_lines() {
    let file = fixture("agents/codex/app-server.tool.out.jsonl");
    let counts = json(&bowline(&["inspect", &file, "--json", "--dialect", "acp"]).ok());
    assert_eq!(counts["dialect"], "acp");
}
