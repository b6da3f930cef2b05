//! The runner as a user runs it: real processes, from `serve` to `kill`.

use std::path::PathBuf;
use std::time::Instant;

use bowline_transport::{Configuration, Piece, PtyMode, Stdio, Stream, TerminalEngine, WindowSize};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{BOWLINE, ScriptedAgent, TIMEOUT, bowline, finish};
use crate::test_runner::TestRunner;

const ASKS: &str = r#"
[[turn]]
steps = [
  { tool = { name = "Bash", input = { command = "make" }, ask = true, result = "made",
    allowed = [ { text = "It is made." } ], denied = [ { text = "It is not made." } ] } },
]
"#;

#[test]
fn dialogue_runs_over_rest() {
    let served = TestRunner::start();
    let id = served.dialogue(ASKS);
    let at = format!("/api/sessions/{id}");
    let prompt = json!({"text": "make it", "id": "6b1b36cb-9a4e-4d5c-8a35-7f1d7f5f0a01"});
    let taken = served.json("POST", &format!("{at}/prompt"), Some(&prompt));
    assert_eq!(taken["id"], prompt["id"]);
    // A repeated id is not written again.
    served.json("POST", &format!("{at}/prompt"), Some(&prompt));
    let asked = served.until(&format!("{at}/permissions"), |it| {
        it["permissions"][0].is_object()
    });
    let permission = &asked["permissions"][0];
    assert_eq!(
        (&permission["tool_name"], &permission["state"]),
        (&json!("Bash"), &json!("open"))
    );
    assert_eq!(permission["input"]["command"], "make");
    let answer = json!({"request_id": permission["request_id"], "decision": "allow"});
    served.json("POST", &format!("{at}/permissions"), Some(&answer));
    let transcript = served.until(&format!("{at}/transcript"), |it| {
        it["status"]["phase"] == "idle"
    });
    let text = transcript.to_string();
    assert!(
        text.contains("It is made.") && !text.contains("not made"),
        "{text}"
    );
    assert_eq!(
        transcript["entries"].as_array().unwrap().len(),
        3,
        "one turn: {text}"
    );
    let unknown = json!({"request_id": "unknown", "decision": "deny"});
    let (status, problem) = served.request("POST", &format!("{at}/permissions"), Some(&unknown));
    assert!(
        status == 404 && problem.contains("PERMISSION_NOT_FOUND"),
        "{problem}"
    );
    let (_, log) = served.request(
        "GET",
        &format!("{at}/log?stream=stdout&from=0&max=16"),
        None,
    );
    assert_eq!(log.len(), 16);
    served.json("DELETE", &format!("{at}?remove=true"), None);
    assert_eq!(served.request("GET", &at, None).0, 404);
}

#[test]
fn dialogue_is_interrupted_over_rest() {
    let served = TestRunner::start();
    let id = served.dialogue(ASKS);
    let at = format!("/api/sessions/{id}");
    served.json(
        "POST",
        &format!("{at}/prompt"),
        Some(&json!({"text": "make it"})),
    );
    served.until(&format!("{at}/permissions"), |it| {
        it["permissions"][0].is_object()
    });
    served.json("POST", &format!("{at}/interrupt"), Some(&json!({})));
    let transcript = served.until(&format!("{at}/transcript"), |it| {
        it["status"]["phase"] == "idle"
    });
    assert!(
        transcript.to_string().contains("\"cancelled\""),
        "{transcript}"
    );
}

#[test]
fn killed_runner_loses_no_output() {
    const SESSIONS: usize = 4;
    let mut served = TestRunner::start();
    let count =
        "i=0; while :; do i=$((i+1)); echo line $i; done | head -n 200000; echo end; read x";
    let ids: Vec<_> = (0..SESSIONS).map(|_| served.shell(count)).collect();
    for _ in 0..5 {
        served.stop(Signal::KILL);
        served.restart();
        let sessions = served.json("GET", "/api/sessions", None);
        let sessions = sessions["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), SESSIONS);
        assert!(
            sessions.iter().all(|it| it["state"] == "running"),
            "{sessions:?}"
        );
    }
    for id in &ids {
        assert_eq!(whole_log(&served, id), expected(), "{id}");
    }
}

fn expected() -> String {
    let lines = (1..=200_000).map(|n| format!("line {n}\r\n"));
    lines.collect::<String>() + "end\r\n"
}

/// Reads the whole log in parts, until its last line.
fn whole_log(served: &TestRunner, id: &str) -> String {
    let (mut log, started) = (String::new(), Instant::now());
    while !log.ends_with("end\r\n") {
        let path = format!("/api/sessions/{id}/log?from={}", log.len());
        let (status, part) = served.request("GET", &path, None);
        assert_eq!(status, 200, "{part}");
        log.push_str(&part);
        assert!(started.elapsed() < TIMEOUT, "{} bytes", log.len());
    }
    log
}

#[test]
fn stopped_runner_reports_running_sessions() {
    let mut served = TestRunner::start();
    let id = served.shell("read x");
    let last = served.stop(Signal::TERM);
    assert_eq!(
        last,
        "stopped; 1 session keeps running, the next `bowline serve` finds it\n"
    );
    let line = served.bowline(&["ps"]).failed(1);
    assert!(line.contains("start one with `bowline serve`"), "{line}");
    assert_eq!(line.matches("reach").count(), 1, "{line}");
    served.restart();
    let text = served.bowline(&["ps"]).ok();
    assert!(text.contains(&id) && text.contains("running"), "{text}");
}

#[test]
fn sessions_are_listed_attached_and_killed() {
    let served = TestRunner::start();
    assert_eq!(served.bowline(&["ps"]).ok(), "no sessions\n");
    let id = served.dialogue("[[turn]]\nsteps = [ { text = \"Hello there.\" } ]\n");
    let prompt = json!({"text": "hello"});
    served.json("POST", &format!("/api/sessions/{id}/prompt"), Some(&prompt));
    let path = format!("/api/sessions/{id}/transcript");
    served.until(&path, |it| it["status"]["phase"] == "idle");
    let line = served.bowline(&["kill", "unknown"]).failed(1);
    assert!(line.contains("bowline ps"), "{line}");
    let first = id.split('-').next().unwrap();
    let text = served.bowline(&["kill", first]).ok();
    assert!(text.starts_with(&format!("ended {id}: ")), "{text}");
    let text = served.bowline(&["ps"]).ok();
    assert!(text.contains("exited 0"), "{text}");
    let text = served.bowline(&["attach", &id]).ok();
    assert!(text.contains("Hello there."), "{text}");
    served.bowline(&["kill", "--remove", &id]).ok();
    assert_eq!(served.bowline(&["ps"]).ok(), "no sessions\n");
}

/// Damages the log of a session that has ended: its output, but not the exit.
#[test]
fn attach_to_lost_session_says_so() {
    let served = TestRunner::start();
    let dialogue = served.dialogue("[[turn]]\nsteps = [ { text = \"Hello there.\" } ]\n");
    let shell = served.shell("sleep 1000");
    for (id, reason) in [
        (dialogue, "its process was killed; output after byte"),
        (shell, "was lost: its process was killed"),
    ] {
        served.kill_shim(&id);
        served.until(&format!("/api/sessions/{id}"), |it| it["state"] == "lost");
        let done = served.bowline(&["attach", &id]);
        assert_eq!(done.code, Some(1), "{done:?}");
        assert!(done.stderr.contains(reason), "{done:?}");
    }
}

#[test]
fn attach_reports_what_is_missing() {
    let served = TestRunner::start();
    let id = served.dialogue("[[turn]]\nsteps = [ { text = \"Hello there.\" } ]\n");
    let prompt = json!({"text": "hello"});
    served.json("POST", &format!("/api/sessions/{id}/prompt"), Some(&prompt));
    let path = format!("/api/sessions/{id}/transcript");
    served.until(&path, |it| it["status"]["phase"] == "idle");
    served.bowline(&["kill", &id]).ok();
    assert!(
        served
            .bowline(&["attach", &id])
            .ok()
            .contains("Hello there.")
    );
    let folder = PathBuf::from(served.state()).join("sessions").join(&id);
    let segment = folder.join("journal/00000000.bjl");
    let whole = std::fs::read(&segment).unwrap();
    let at = whole
        .windows(11)
        .position(|it| it == b"Hello there")
        .unwrap();

    let mut flipped = whole.clone();
    flipped[at] ^= 1;
    std::fs::write(&segment, &flipped).unwrap();
    let attach = || {
        let done = served.bowline(&["attach", &id]);
        assert_eq!(done.code, Some(1), "{done:?}");
        done.stderr
    };
    let stderr = attach();
    let offset = stderr.split("segment 0 is corrupt at byte ").nth(1);
    let offset: usize = offset.unwrap().split(',').next().unwrap().parse().unwrap();
    assert!(offset <= at, "{stderr}");
    let missing = stderr
        .lines()
        .find(|it| it.contains(" of the output are missing"));
    assert!(missing.is_some(), "{stderr}");

    std::fs::write(&segment, &whole[..at]).unwrap();
    let stderr = attach();
    assert!(stderr.contains("segment 0 is cut at byte "), "{stderr}");

    let mut newer = whole.clone();
    newer[8] = 3;
    std::fs::write(&segment, &newer).unwrap();
    let stderr = attach();
    assert!(stderr.contains("format version 3"), "{stderr}");

    std::fs::write(&segment, &whole).unwrap();
    served.bowline(&["attach", &id]).ok();
}

#[test]
fn network_listener_needs_token_and_tls() {
    let served = TestRunner::start();
    let token = format!("{}/token", served.state());
    let (_, metrics) = served.request("GET", "/metrics", None);
    assert!(metrics.contains("bowline_sessions"), "{metrics}");
    let url = format!("unix:{}/runner.sock", served.state());
    assert_eq!(bowline(&["ps", "--runner", &url]).ok(), "no sessions\n");
    assert_eq!(
        bowline(&["ps", "--runner", &url, "--token-file", &token]).ok(),
        "no sessions\n"
    );
    let line = bowline(&[
        "serve",
        "--listen",
        "0.0.0.0:0",
        "--state-dir",
        &served.state(),
        "--socket",
        &format!("{}/other.sock", served.state()),
    ]);
    let line = line.failed(1);
    assert!(line.contains("TLS"), "{line}");
    let line = bowline(&["serve", "--state-dir", &served.state()]).failed(1);
    assert!(line.contains("another runner"), "{line}");
    let line = bowline(&["ps", "--runner", "ftp://x"]).failed(2);
    assert!(line.contains("unix:/path"), "{line}");
}

const SCENARIO: &str = r#"
[[turn]]
steps = [ { text = "One." }, { tool = { name = "Read", input = { file_path = "a" }, result = "x" } },
  { delay_ms = 400 }, { text = "Two." }, { delay_ms = 400 }, { text = "Three." } ]
"#;

#[test]
fn remote_dialogue_equals_local_across_restarts() {
    let mut served = TestRunner::start();
    let scripted = ScriptedAgent::new(SCENARIO);
    let here = scripted
        .run(&["--output", "transcript", "--schema", "1", "go"])
        .ok();
    let url = format!("unix:{}/runner.sock", served.state());
    // Schema 2 has times.
    let away = [
        "--runner",
        &url,
        "--output",
        "transcript",
        "--schema",
        "1",
        "go",
    ];
    let child = scripted.command(&away).spawn().unwrap();
    served.until("/api/sessions", |it| it["sessions"][0].is_object());
    for _ in 0..3 {
        served.stop(Signal::KILL);
        served.restart();
    }
    let away = finish(child);
    assert_eq!(away.code, Some(0), "{away:?}");
    // Whether the loss is reported depends on how long the runner was down.
    let is_about_connection = |line: &str| {
        line.starts_with("bowline: connection to the agent lost")
            || line == "bowline: connection to the agent restored"
    };
    assert!(away.stderr.lines().all(is_about_connection), "{away:?}");
    let away = away.stdout;
    let texts = |text: &str| {
        let transcript: Value = serde_json::from_str(text).unwrap();
        let entries = transcript["entries"].as_array().unwrap().clone();
        let blocks = entries
            .iter()
            .flat_map(|it| it["blocks"].as_array().cloned());
        let texts = blocks.flatten().map(|it| it["text"].clone());
        (entries.len(), texts.collect::<Vec<_>>())
    };
    assert_eq!(texts(&here), texts(&away));
}

#[tokio::test]
async fn terminal_is_attached_and_detached() {
    let served = TestRunner::start();
    let id = served.shell("stty -echo; echo welcome; while read x; do echo \"got $x\"; done");
    for word in ["one", "two"] {
        let mut configuration = Configuration::new(BOWLINE);
        configuration.args = ["attach", &id].into_iter().map(Into::into).collect();
        configuration.env.set("BOWLINE_STATE_DIR", served.state());
        configuration.stdio = Stdio::Pty {
            size: WindowSize::new(24, 80),
            mode: PtyMode::Cooked,
        };
        let command = TerminalEngine.make_session(configuration).unwrap();
        let mut reader = command.reader(Stream::Output);
        let mut seen = String::new();
        let mut until = async |wanted: &str| {
            while !seen.contains(wanted) {
                let next = tokio::time::timeout(TIMEOUT, reader.next());
                let next = next.await;
                match next.unwrap_or_else(|_| panic!("no {wanted:?} in {seen:?}")) {
                    Some(Piece::Bytes { bytes, .. }) => {
                        seen.push_str(&String::from_utf8_lossy(&bytes));
                    }
                    other => panic!("{other:?} before {wanted:?} in {seen:?}"),
                }
            }
        };
        // A snapshot sends the last character of the screen separately.
        until("welcom").await;
        command.write(format!("{word}\n").into()).await.unwrap();
        until(&format!("got {word}")).await;
        command.write("\u{1d}".into()).await.unwrap();
        until("it keeps running").await;
    }
    let text = served.bowline(&["ps"]).ok();
    assert!(text.contains("running"), "{text}");
}
