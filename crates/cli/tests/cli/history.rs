//! `bowline history`, and past conversations in other commands.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::support::{AGENT, CommandOutput, ScriptedAgent, command, finish, fixtures, json};
use crate::test_runner::TestRunner;

/// Returns the command with the recorded histories as the user's, and a cache of its own.
fn with_histories(args: &[&str], cache: &Path) -> Command {
    let mut command = command(args);
    command.env("CLAUDE_CONFIG_DIR", fixtures().join("history/claude"));
    command.env("CODEX_HOME", fixtures().join("history/codex"));
    command.env("XDG_CACHE_HOME", cache);
    command
}

fn run(args: &[&str]) -> CommandOutput {
    let cache = TempDir::new().unwrap();
    finish(with_histories(args, cache.path()).spawn().unwrap())
}

#[test]
fn conversations_are_listed_as_table_and_json() {
    let table = run(&["history"]).ok();
    let lines: Vec<_> = table.lines().collect();
    assert_eq!(lines.len(), 7, "{table}");
    let header: Vec<_> = lines[0].split_whitespace().collect();
    assert_eq!(
        header,
        [
            "ID", "AGENT", "AGE", "TURNS", "COST", "MODEL", "BRANCH", "TITLE"
        ]
    );
    assert!(
        lines[1].starts_with("e937e4fa-33ba-4b43-99f2-4a2bd02ff12b  claude"),
        "{table}"
    );
    assert!(lines[1].ends_with("Say ahoy"), "{table}");
    let list = json(&run(&["history", "--json", "-n", "1", "--agent", "codex"]).ok());
    assert_eq!(list.as_array().unwrap().len(), 1);
    assert_eq!(list[0]["title"], "My title");
    assert_eq!(
        (list[0]["turns"].as_u64(), list[0]["branch"].as_str()),
        (Some(4), Some("trunk"))
    );
    assert_eq!(
        run(&["history", "--search", "nowhere"]).ok(),
        "no conversations\n"
    );
}

#[test]
fn list_is_the_same_from_the_index() {
    let cache = TempDir::new().unwrap();
    let list = || {
        finish(
            with_histories(&["history", "--json"], cache.path())
                .spawn()
                .unwrap(),
        )
        .ok()
    };
    let first = list();
    assert!(cache.path().join("bowline/history.index").is_file());
    assert_eq!(list(), first);
}

#[test]
fn conversation_is_replayed_by_the_beginning_of_its_id() {
    let line = ["replay", "--conversation", "43e4", "--output", "transcript"];
    let transcript = json(&run(&line).ok());
    assert_eq!(
        transcript["tool_calls"]["toolu_a1"]["subagent"]["entries"][0]["text"],
        "SUBONE look around"
    );
    let text = run(&["replay", "--conversation", "43e4"]).ok();
    assert!(
        text.contains("Say ahoy") && text.contains("Both agents came back."),
        "{text}"
    );
    let line = run(&["replay", "--conversation", "0"]).failed(1);
    assert!(
        line.starts_with("bowline: 2 conversations begin with 0; give more of the id"),
        "{line}"
    );
    assert!(
        run(&["replay", "--conversation", "x"])
            .failed(1)
            .contains("bowline history")
    );
    run(&["replay", "--conversation", "0d", "file"]).failed(2);
    run(&["replay"]).failed(2);
}

#[test]
fn missing_history_is_one_line() {
    let home = TempDir::new().unwrap();
    let mut command = with_histories(&["history", "--agent", "claude"], home.path());
    command.env("CLAUDE_CONFIG_DIR", home.path());
    let line = finish(command.spawn().unwrap()).failed(1);
    assert!(
        line.contains("run claude first, or set CLAUDE_CONFIG_DIR"),
        "{line}"
    );
}

#[test]
fn transcript_of_resumed_conversation_begins_with_its_past() {
    let id = "11111111-2222-4333-8444-555555555555";
    let scripted = ScriptedAgent::new(&format!(
        "sessions = ['{id}']\n[[turn]]\non = 'resume'\nsteps = [ {{ text = 'Welcome back.' }} ]",
    ));
    let agent = scripted.path("claude");
    std::os::unix::fs::symlink(AGENT, &agent).unwrap();
    let folder = scripted.folder.path().canonicalize().unwrap();
    let project = folder.join("home/projects/-srv");
    std::fs::create_dir_all(&project).unwrap();
    let line = format!(
        "{{\"cwd\":\"{}\",\"type\":\"user\",\"uuid\":\"u\",\"message\":{{\"content\":\"Long ago\"}},\"sessionId\":\"{id}\"}}\n",
        folder.display(),
    );
    std::fs::write(project.join(format!("{id}.jsonl")), line).unwrap();
    let scenario = format!("--scenario={}", scripted.path("scenario.toml"));
    let run = |output: &str| {
        let line = [
            "run",
            "--agent",
            &agent,
            "--agent-arg",
            &scenario,
            "--output",
            output,
        ];
        let line = [&line[..], &["--resume", id, "Go on."]].concat();
        let mut command = with_histories(&line, &folder.join("cache"));
        command.env("CLAUDE_CONFIG_DIR", folder.join("home"));
        command.env("BOWLINE_STATE_DIR", folder.join("state"));
        command.current_dir(&folder);
        finish(command.spawn().unwrap()).ok()
    };
    let transcript = json(&run("transcript"));
    let entries = transcript["entries"].as_array().unwrap();
    for (entry, text, is_past) in [
        (&entries[0], "Long ago", true),
        (&entries[1], "Go on.", false),
    ] {
        assert_eq!(
            (&entry["text"], &entry["history"]),
            (&text.into(), &is_past.into())
        );
    }
    let text = run("text");
    assert!(
        text.contains("Welcome back.") && !text.contains("Long ago"),
        "{text}"
    );
}

#[test]
fn resumed_conversation_at_runner_begins_with_its_past() {
    let id = "11111111-2222-4333-8444-555555555555";
    let scripted = ScriptedAgent::new(&format!(
        "sessions = ['{id}']\n[[turn]]\non = 'resume'\nsteps = [ {{ text = 'Welcome back.' }} ]",
    ));
    let agent = scripted.path("claude");
    std::os::unix::fs::symlink(AGENT, &agent).unwrap();
    let home = scripted.folder.path().join("home");
    let project = home.join("projects/-srv");
    std::fs::create_dir_all(&project).unwrap();
    let line = format!(
        "{{\"cwd\":\"/srv\",\"type\":\"user\",\"uuid\":\"u\",\"message\":{{\"content\":\"Long ago\"}},\"sessionId\":\"{id}\"}}\n",
    );
    std::fs::write(project.join(format!("{id}.jsonl")), line).unwrap();
    let cache = scripted.folder.path().join("cache");
    let folders = [
        ("CLAUDE_CONFIG_DIR", home.as_path()),
        ("XDG_CACHE_HOME", &cache),
    ];
    let runner = TestRunner::with_environment(&folders);
    let scenario = format!("--scenario={}", scripted.path("scenario.toml"));
    let url = format!("unix:{}/runner.sock", runner.state());
    let run = |output: &str| {
        let line = ["run", "--runner", &url, "--agent", &agent];
        let more = ["--agent-arg", &scenario, "--output", output, "--resume", id];
        runner
            .bowline(&[&line[..], &more, &["Go on."]].concat())
            .ok()
    };
    let past = |transcript: &serde_json::Value| {
        let entries = transcript["entries"].as_array().unwrap();
        let user = entries.iter().filter(|it| it["kind"] == "user");
        user.map(|it| (it["text"].to_string(), it["history"] == true))
            .collect::<Vec<_>>()
    };
    let wanted = [
        ("\"Long ago\"".to_owned(), true),
        ("\"Go on.\"".to_owned(), false),
    ];
    assert_eq!(past(&json(&run("transcript"))), wanted);
    let text = run("text");
    assert!(
        text.contains("Welcome back.") && !text.contains("Long ago"),
        "{text}"
    );

    // Another reader sees the past, too.
    let list = runner.json("GET", "/api/sessions", None);
    let session = list["sessions"][0]["id"].as_str().unwrap();
    let text = runner.bowline(&["logs", session]).ok();
    assert!(text.contains("Long ago"), "{text}");
    let changes = runner.bowline(&["logs", session, "--events"]).ok();
    let mut changes = changes.lines().map(json);
    assert!(changes.any(|it| it["value"]["text"] == "Long ago" && it["history"] == true));
}

#[test]
fn runner_serves_past_conversations() {
    let (claude, codex) = (
        fixtures().join("history/claude"),
        fixtures().join("history/codex"),
    );
    let folders = [
        ("CLAUDE_CONFIG_DIR", claude.as_path()),
        ("CODEX_HOME", &codex),
    ];
    let runner = TestRunner::with_environment(&folders);
    let list = runner.json("GET", "/api/history", None);
    let command = json(&run(&["history", "--json"]).ok());
    assert_eq!(list["conversations"], command);
    assert_eq!(list["problems"], json("[]"));
    let newest = runner.json("GET", "/api/history?agent=codex&limit=1", None);
    assert_eq!(newest["conversations"].as_array().unwrap().len(), 1);
    let found = runner.json("GET", "/api/history?search=nowhere", None);
    assert_eq!(found["conversations"], json("[]"));
    for conversation in list["conversations"].as_array().unwrap() {
        let id = conversation["id"].as_str().unwrap();
        let path = format!("/api/history/{id}/transcript");
        let replay = run(&["replay", "--conversation", id, "--output", "transcript"]);
        assert_eq!(runner.json("GET", &path, None), json(&replay.ok()), "{id}");
    }
    let status = |path: &str| runner.request("GET", path, None).0;
    assert_eq!(status("/api/history/none/transcript"), 404);
    assert_eq!(status("/api/history?agent=aider"), 400);
    assert_eq!(status("/api/history/e937e4fa/transcript?schema=3"), 400);
}
