//! `bowline hook`, against a real server.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use bowline_hooks::{
    ExposeSecret as _, HookConfiguration, HookGate, HookKind, HookReply, HookServer,
};

/// What a test changes about the helper's command.
type Change = fn(&mut Command) -> &mut Command;

/// Runs the helper as an agent does: by the command of the settings, with the event on its input.
async fn told(server: &HookServer, event: &'static str, change: Change) -> Output {
    let url = server.url("i").expect("an address");
    let mut command = helper(&url);
    command.env("BOWLINE_HOOK_TOKEN", server.token().expose_secret());
    change(&mut command);
    run(command, event).await
}

fn helper(url: &str) -> Command {
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
        // One that fails before it reads closes its input.
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
            default: HookReply::deny("not here"),
        }),
        ..HookConfiguration::default()
    };
    HookServer::start(configuration).await.expect("a server")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn an_event_is_carried_and_the_answer_printed() {
    let server = server().await;
    let output = told(&server, r#"{"hook_event_name":"SessionEnd"}"#, |it| it).await;
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), &b""[..])
    );
    let output = told(&server, r#"{"hook_event_name":"PreToolUse"}"#, |it| it).await;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny");
    assert_eq!(server.report().events, 2);
}

#[tokio::test]
async fn the_token_may_be_in_a_file_that_nobody_else_can_read() {
    let server = server().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("token");
    std::fs::write(&path, server.token().expose_secret()).expect("a file");
    for (mode, code) in [(0o600, 0), (0o640, 1), (0o604, 1)] {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).expect("a mode");
        let url = server.url("i").expect("an address");
        let mut command = helper(&url);
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
async fn a_failure_says_why_and_never_refuses_what_the_agent_does() {
    let server = server().await;
    let cases: [(Change, &str); 4] = [
        (
            |it| it.env("BOWLINE_HOOK_TOKEN", "guess"),
            "the server answered 401",
        ),
        (
            |it| it.env_remove("BOWLINE_HOOK_TOKEN"),
            "set BOWLINE_HOOK_TOKEN or",
        ),
        (|it| it.arg("more"), "give an address and a variable's name"),
        (|it| it.env("BOWLINE_HOOK_TOKEN", ""), "401"),
    ];
    for (change, why) in cases {
        let output = told(&server, "{}", change).await;
        let said = stderr(&output);
        assert!(said.contains(why) && said.lines().count() == 1, "{said}");
        assert_eq!(output.status.code(), Some(1), "2 would refuse");
        assert!(
            !said.contains(server.token().expose_secret()) && !said.contains("guess"),
            "{said}"
        );
    }
    let url = server.url("i").expect("an address");
    server.stop().await;
    let mut late = helper(&url);
    late.env("BOWLINE_HOOK_TOKEN", "any");
    let output = run(late, "{}").await;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("reach the server for hooks"),
        "{}",
        stderr(&output)
    );
}

#[tokio::test]
async fn the_token_is_shown_to_this_machine_alone() {
    for url in [
        "http://192.0.2.1:80/hooks/i",
        "http://backend.invalid/hooks/i",
        "https://127.0.0.1:80/hooks/i",
        "http://127.0.0.1:80/hooks/i\r\nX: y",
        "127.0.0.1:80",
    ] {
        let mut command = helper(url);
        command.env("BOWLINE_HOOK_TOKEN", "any");
        let output = run(command, "{}").await;
        assert_eq!(output.status.code(), Some(1));
        assert!(
            stderr(&output).contains("use the address"),
            "{url}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn the_helper_is_hidden_from_the_help() {
    let output = Command::new(env!("CARGO_BIN_EXE_bowline"))
        .arg("--help")
        .output();
    let help = String::from_utf8(output.expect("help").stdout).expect("text");
    assert!(!help.contains("hook"), "{help}");
}
