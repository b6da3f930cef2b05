//! `bowline hook` with a real hook server.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use bowline_hooks::{
    ExposeSecret as _, HookConfiguration, HookGate, HookKind, HookReply, HookServer,
};

/// Changes a command.
type Change = fn(&mut Command) -> &mut Command;

/// Runs the hook client as an agent does, with the event on standard input.
async fn post(server: &HookServer, event: &'static str, change: Change) -> Output {
    let url = server.url("i").expect("an address");
    let mut command = hook_client(&url);
    command.env("BOWLINE_HOOK_TOKEN", server.token().expose_secret());
    change(&mut command);
    run(command, event).await
}

fn hook_client(url: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bowline"));
    command.args(["hook", url, "BOWLINE_HOOK_TOKEN"]);
    command
}

async fn run(mut command: Command, event: &'static str) -> Output {
    let ran = tokio::task::spawn_blocking(move || {
        let pipes = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = pipes.spawn()?;
        let mut input = child.stdin.take().expect("a pipe");
        // Fails if the client exits before it reads.
        let _ = input.write_all(event.as_bytes());
        drop(input);
        child.wait_with_output()
    });
    let ran = tokio::time::timeout(Duration::from_secs(60), ran).await;
    ran.expect("an end in time")
        .expect("no panic")
        .expect("a process")
}

async fn server() -> HookServer {
    let configuration = HookConfiguration {
        gate: Some(HookGate {
            kinds: vec![HookKind::PreToolUse],
            deadline: Duration::ZERO,
            default: HookReply::deny("denied by the test"),
        }),
        ..HookConfiguration::default()
    };
    HookServer::start(configuration).await.expect("a server")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn event_is_posted_and_answer_printed() {
    let server = server().await;
    let output = post(&server, r#"{"hook_event_name":"SessionEnd"}"#, |it| it).await;
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b""[..])
    );
    let output = post(&server, r#"{"hook_event_name":"PreToolUse"}"#, |it| it).await;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(server.report().events, 2);
}

#[tokio::test]
async fn token_file_must_be_private() {
    let server = server().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("token");
    std::fs::write(&path, server.token().expose_secret()).expect("a file");
    for (mode, code) in [(0o600, 0), (0o640, 1), (0o604, 1)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).expect("a mode");
        let url = server.url("i").expect("an address");
        let mut command = hook_client(&url);
        command
            .env_remove("BOWLINE_HOOK_TOKEN")
            .env("BOWLINE_HOOK_TOKEN_FILE", &path);
        let output = run(command, r#"{"hook_event_name":"Stop"}"#).await;
        assert_eq!(
            output.status.code(),
            Some(code),
            "{mode:o}: {}",
            stderr(&output)
        );
    }
}

#[tokio::test]
async fn failure_is_one_line_and_exit_code_1() {
    let server = server().await;
    let cases: [(Change, &str); 4] = [
        (
            |it| it.env("BOWLINE_HOOK_TOKEN", "guess"),
            "the hook server answered 401",
        ),
        (
            |it| it.env_remove("BOWLINE_HOOK_TOKEN"),
            "set BOWLINE_HOOK_TOKEN or",
        ),
        (|it| it.arg("more"), "pass a URL and a variable's name"),
        (|it| it.env("BOWLINE_HOOK_TOKEN", ""), "401"),
    ];
    for (change, why) in cases {
        let output = post(&server, "{}", change).await;
        let line = stderr(&output);
        assert!(line.contains(why) && line.lines().count() == 1, "{line}");
        assert_eq!(
            output.status.code(),
            Some(1),
            "the agent takes 2 as a refusal"
        );
        assert!(
            !line.contains(server.token().expose_secret()) && !line.contains("guess"),
            "{line}"
        );
    }
    let url = server.url("i").expect("an address");
    server.stop().await;
    let mut late = hook_client(&url);
    late.env("BOWLINE_HOOK_TOKEN", "any");
    let output = run(late, "{}").await;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("cannot reach the hook server"),
        "{}",
        stderr(&output)
    );
}

#[tokio::test]
async fn token_is_sent_to_loopback_only() {
    for url in [
        "http://192.0.2.1:80/hooks/i",
        "http://backend.invalid/hooks/i",
        "https://127.0.0.1:80/hooks/i",
        "http://127.0.0.1:80/hooks/i\r\nX: y",
        "127.0.0.1:80",
    ] {
        let mut command = hook_client(url);
        command.env("BOWLINE_HOOK_TOKEN", "any");
        let output = run(command, "{}").await;
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains("is not a hook URL"),
            "{url}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn hook_command_is_hidden_from_help() {
    let output = Command::new(env!("CARGO_BIN_EXE_bowline"))
        .arg("--help")
        .output();
    let help = String::from_utf8(output.expect("help").stdout).expect("text");
    assert!(!help.contains("hook"), "{help}");
}
