//! `bowline run` with agents that behave well.

use crate::support::{ScriptedAgent, json, json_lines};

const TOOL: &str = r#"
[[turn]]
result = { cost_usd = 0.02 }
steps = [
  { thinking = "First the files." },
  { text = "I will look." },
  { tool = { name = "Bash", input = { command = "ls" }, result = "a\nb" } },
  { text = "Two files." },
]
"#;

const ASKS: &str = r#"
[[turn]]
steps = [
  { tool = { name = "Bash", input = { command = "rm x" }, ask = true, result = "gone",
    allowed = [ { text = "It is gone." } ], denied = [ { text = "It is still there." } ] } },
]
"#;

#[test]
fn dialogue_is_shown() {
    let text = ScriptedAgent::new(TOOL).run(&["What is here?"]).ok();
    let wanted = [
        "> What is here?\n",
        "┊ First the files.\n",
        "I will look.\n",
        "● Bash  ls\n✓ Bash",
        "  a\n  b\n",
        "Two files.\n",
        "✓ done after ",
        "2 round trips, $0.0200 so far\n",
    ];
    let mut rest = text.as_str();
    for part in wanted {
        let Some(at) = rest.find(part) else {
            panic!("no {part:?} in its place in {text}")
        };
        rest = rest.split_at(at + part.len()).1;
    }
    assert!(text.contains("· session "), "{text}");
    assert!(!text.contains('\x1b'));
}

#[test]
fn pty_agent_renders_like_pipes() {
    let text = ScriptedAgent::new(TOOL)
        .run(&["--stdio", "pty", "What is here?"])
        .ok();
    assert!(
        text.contains("● Bash  ls\n✓ Bash") && text.contains("\nTwo files.\n"),
        "{text}"
    );
}

#[test]
fn changes_are_json_lines() {
    let changes = json_lines(
        &ScriptedAgent::new(TOOL)
            .run(&["--output", "changes", "hi"])
            .ok(),
    );
    let kinds: Vec<_> = changes
        .iter()
        .filter_map(|it| it["change"].as_str())
        .collect();
    assert_eq!(kinds.len(), changes.len());
    for kind in ["session", "status", "entry", "block", "tool_call", "usage"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    assert_eq!(
        changes.iter().rfind(|it| it["change"] == "status").unwrap()["status"]["phase"],
        "ended"
    );
}

#[test]
fn prompt_is_read_from_stdin() {
    let scripted =
        ScriptedAgent::new("[[turn]]\nmatch = 'from a pipe'\nsteps = [ { text = 'heard' } ]");
    let line = scripted.line(&["-"]);
    let line: Vec<_> = line.iter().map(String::as_str).collect();
    let text = crate::support::bowline_reading(&line, b"words\nfrom a pipe\n").ok();
    // The line of the session may come before the prompt.
    let text = format!("\n{text}");
    assert!(text.contains("\n> words\n  from a pipe\n"), "{text}");
    assert!(text.contains("\nheard\n"), "{text}");
}

#[test]
fn permission_without_terminal_is_denied() {
    let done = ScriptedAgent::new(ASKS).run(&["Remove it."]);
    assert!(
        done.stdout.contains("? Bash asks for permission\n"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("? Bash was denied\n"),
        "{}",
        done.stdout
    );
    assert!(
        done.stdout.contains("\nIt is still there.\n"),
        "{}",
        done.stdout
    );
    let line = done.failed(0);
    assert!(
        line.contains("Bash was denied: there is no terminal to ask on"),
        "{line}"
    );
}

#[test]
fn background_work_is_awaited() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { agent = { description = 'watch', prompt = 'Watch.', background = true, \
         steps = [ { delay_ms = 200 }, { text = 'seen' } ], then = [ { text = 'It was seen.' } ] } }, \
         { text = 'Started.' } ]",
    );
    let text = scripted.run(&["--agent-arg", "--pace=1", "Watch it."]).ok();
    assert!(
        text.contains("── waiting for background work: watch\n"),
        "{text}"
    );
    assert!(text.contains("\nIt was seen.\n"), "{text}");
    assert_eq!(text.matches("✓ done after ").count(), 2, "{text}");
}

#[test]
fn settings_reach_the_agent() {
    let scripted = ScriptedAgent::new(
        "[[turn]]\nsteps = [ { text = 'model {{model}} mode {{permission_mode}}' } ]",
    );
    let text = scripted
        .run(&["--model", "m-1", "--permission-mode", "plan", "hi"])
        .ok();
    assert!(text.contains("\nmodel m-1 mode plan\n"), "{text}");
}

#[test]
fn conversation_is_resumed() {
    let scripted = ScriptedAgent::new(
        "sessions = ['11111111-2222-4333-8444-555555555555']\n\
         [[turn]]\non = 'resume'\nsteps = [ { text = 'Welcome back.' } ]",
    );
    let id = "11111111-2222-4333-8444-555555555555";
    let text = scripted.run(&["--resume", id, "Go on."]).ok();
    assert!(
        text.contains("\nWelcome back.\n") && text.contains(&format!("session {id}")),
        "{text}"
    );
    let done = scripted.run(&["--resume", "99999999-2222-4333-8444-555555555555", "Go on."]);
    let line = done.failed(1);
    assert!(
        line.starts_with(
            "bowline: the turn failed: No conversation found with session ID: 99999999"
        ),
        "{line}"
    );
    assert!(!line.contains("resume with"), "{line}");
}

/// Runs an agent with the name of the real one, and its own configuration folder.
fn run_as_claude(scripted: &ScriptedAgent, resume: &str) -> crate::support::CommandOutput {
    let agent = scripted.path("claude");
    if !std::path::Path::new(&agent).exists() {
        std::os::unix::fs::symlink(crate::support::AGENT, &agent).unwrap();
    }
    let scenario = format!("--scenario={}", scripted.path("scenario.toml"));
    let line = [
        "run",
        "--agent",
        &agent,
        "--agent-arg",
        &scenario,
        "--resume",
        resume,
        "Go on.",
    ];
    let mut command = crate::support::command(&line);
    let home = scripted.path("home");
    command.env("CLAUDE_CONFIG_DIR", home);
    command.env("BOWLINE_STATE_DIR", scripted.path("state"));
    command.current_dir(scripted.folder.path());
    crate::support::finish(command.spawn().unwrap())
}

#[test]
fn missing_conversation_is_refused_before_start() {
    let scripted = ScriptedAgent::new(
        "sessions = ['11111111-2222-4333-8444-555555555555']\n\
         [[turn]]\non = 'resume'\nsteps = [ { text = 'Welcome back.' } ]",
    );
    let id = "11111111-2222-4333-8444-555555555555";
    let done = run_as_claude(&scripted, id);
    assert_eq!(done.stdout, "", "nothing was started");
    let line = done.failed(1);
    let wanted = format!("bowline: failed to resume {id}: not found under ");
    assert!(line.starts_with(&wanted), "{line}");
    assert!(line.ends_with("/projects; begin a new one\n"), "{line}");

    let project = scripted.folder.path().join("home/projects/-srv-other");
    std::fs::create_dir_all(&project).unwrap();
    let write = |cwd: &str| {
        let line = format!("{{\"cwd\":\"{cwd}\"}}\n");
        std::fs::write(project.join(format!("{id}.jsonl")), line).unwrap();
    };
    write("/srv/other");
    let line = run_as_claude(&scripted, id).failed(1);
    assert!(line.contains("it belongs to /srv/other, not to "), "{line}");

    write(
        &scripted
            .folder
            .path()
            .canonicalize()
            .unwrap()
            .display()
            .to_string(),
    );
    let text = run_as_claude(&scripted, id).ok();
    assert!(text.contains("\nWelcome back.\n"), "{text}");
}

#[test]
fn recording_replays_to_same_transcript() {
    let scripted = ScriptedAgent::new(TOOL);
    let record = scripted.path("record.jsonl");
    let live = scripted
        .run(&[
            "--record",
            &record,
            "--output",
            "transcript",
            // Schema 2 has times, which a replay does not know.
            "--schema",
            "1",
            "What is here?",
        ])
        .ok();
    let live = json(&live);
    let replayed = json(
        &crate::support::bowline(&["replay", &record, "--output", "transcript", "--schema", "1"])
            .ok(),
    );
    for part in [
        "schema",
        "session_id",
        "entries",
        "tool_calls",
        "usage",
        "stats",
    ] {
        assert_eq!(live[part], replayed[part], "{part}");
    }
    assert_eq!(live["entries"][0]["text"], "What is here?");
    assert_eq!(live["tool_calls"].as_object().unwrap().len(), 1);
}
