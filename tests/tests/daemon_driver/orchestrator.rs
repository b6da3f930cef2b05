//! An orchestrator of another process, in Python, that edits queues, is killed, and whose daemon is killed.

use std::process::Stdio;

use bowline_tests::session::within;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::rig::{Daemon, prompts, results};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/orchestrator/orchestrator.py");

/// Dialogues to run.
const COUNT: usize = 20;

fn orchestrator(daemon: &Daemon) -> (Child, Lines<BufReader<ChildStdout>>) {
    let mut child = Command::new("python3")
        .arg(SCRIPT)
        .arg(daemon.socket())
        .arg(env!("CARGO_BIN_EXE_stand-in"))
        .arg(COUNT.to_string())
        .current_dir(daemon.folder())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("python3 runs");
    let output = child.stdout.take().expect("a pipe");
    (child, BufReader::new(output).lines())
}

/// Waits until the orchestrator has printed a number of lines.
async fn lines(output: &mut Lines<BufReader<ChildStdout>>, count: usize) {
    for _ in 0..count {
        let line = within("a line", output.next_line()).await;
        line.expect("UTF-8").expect("it runs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn orchestrator_gets_each_result_once_whatever_is_killed() {
    let mut daemon = Daemon::start().await;
    let (first, mut output) = orchestrator(&daemon);
    lines(&mut output, 3).await;
    daemon.kill().await;
    lines(&mut output, 3).await;
    // Killed in the middle of its work.
    drop((first, output));
    let (mut second, mut output) = orchestrator(&daemon);
    let mut last = String::new();
    while let Some(line) = within("a line", output.next_line()).await.expect("UTF-8") {
        last = line;
    }
    assert_eq!(last, format!("results {COUNT}"));
    let status = within("its end", second.wait()).await.expect("a status");
    assert!(status.success(), "{status}");
    let (_, list) = daemon.request("GET", "/api/sessions", None).await;
    let sessions = list["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), COUNT);
    for id in sessions.iter().filter_map(|it| it["id"].as_str()) {
        let transcript: Value = daemon.transcript(id).await;
        let prompts = prompts(&transcript);
        assert_eq!(prompts.len(), 2, "{prompts:?}");
        let job = prompts[0].strip_prefix("/ask job ").expect("a job");
        assert_eq!(prompts[1], format!("final {job}"));
        assert_eq!(results(&transcript), 2, "{id}");
        assert_eq!(daemon.written_prompts(id).await, 2, "{id}");
    }
}
