//! The examples of the crate `bowline`, run with the understudy in place of the agent.
//!
//! Cargo builds them for `cargo test --workspace`. For this test alone, build them first:
//! `cargo build -p bowline --examples --features remote,hooks,shell`.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

/// A folder with a `claude` that is the understudy.
fn agent() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("claude");
    let script = format!(
        "#!/bin/sh\nexec '{}' --pace 0 \"$@\"\n",
        env!("CARGO_BIN_EXE_stand-in")
    );
    std::fs::write(&path, script).expect("a script");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("its mode");
    folder
}

fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let target = test.parent().and_then(|deps| deps.parent());
    let path = target
        .expect("the build folder")
        .join("examples")
        .join(name);
    assert!(
        path.exists(),
        "{} is missing; run cargo build -p bowline --examples --features remote,hooks,shell",
        path.display()
    );
    path
}

/// Runs an example, and returns what it prints.
fn run(name: &str, args: &[&str]) -> String {
    let agent = agent();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(example(name))
        .args(args)
        .current_dir(agent.path())
        .env("PATH", format!("{}:{path}", agent.path().display()))
        .output()
        .expect("the example runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {text}{errors}");
    text
}

#[test]
fn ask_prints_the_answer_and_the_cost() {
    let text = run("ask", &[]);
    assert!(text.contains("cost: "), "{text}");
}

#[test]
fn stream_ends_with_the_end_of_the_session() {
    let text = run("stream", &[]);
    let last = text.lines().rfind(|line| line.contains("\"status\""));
    assert!(last.is_some_and(|line| line.contains("ended")), "{text}");
}

#[test]
fn permission_callback_denies() {
    assert!(run("permission", &["/ask"]).contains("denied "));
}

#[test]
fn interrupt_cancels_the_turn() {
    assert!(run("interrupt", &["/lines 1000000"]).contains("Cancelled"));
}

#[test]
fn resume_has_a_second_session() {
    assert!(run("resume", &[]).contains("entries"));
}

#[test]
fn replay_prints_the_transcript() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/plain.jsonl");
    assert!(run("replay", &[fixture]).contains("\"schema\": 1"));
}

#[test]
fn shell_prints_the_lines() {
    assert!(run("shell", &[]).contains("ready"));
}

#[test]
fn hooks_are_received() {
    let text = run("hooks", &[]);
    assert!(text.contains("SessionEnd"), "{text}");
}
