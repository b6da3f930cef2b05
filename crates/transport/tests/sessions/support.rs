//! Test utilities.

use std::future::Future;
use std::process::Command;
use std::time::Duration;

use bowline_transport::{Configuration, LogReader, Piece, PtyMode, Stdio, WindowSize};
use bowline_transport::{TerminalEngine, TerminalSession};

/// Waits for `future`, with a time limit.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), future)
        .await
        .expect("done within a minute")
}

pub(crate) fn shell(script: &str) -> Configuration {
    let mut configuration = Configuration::new("/bin/sh");
    configuration.args = vec!["-c".into(), script.into()];
    configuration
}

pub(crate) fn on_pty(mut configuration: Configuration, mode: PtyMode) -> Configuration {
    configuration.stdio = Stdio::Pty {
        size: WindowSize::new(30, 100),
        mode,
    };
    configuration
}

pub(crate) fn start(configuration: Configuration) -> TerminalSession {
    TerminalEngine.make_session(configuration).unwrap()
}

/// Reads to the end. Returns all bytes and the number of bytes in gaps.
pub(crate) async fn read_all(reader: &mut LogReader) -> (Vec<u8>, u64) {
    let (mut all, mut missing) = (Vec::new(), 0);
    while let Some(piece) = within(reader.next()).await {
        match piece {
            Piece::Bytes { offset, bytes } => {
                assert_eq!(
                    offset,
                    all.len() as u64 + missing,
                    "offsets follow each other"
                );
                all.extend_from_slice(&bytes);
            }
            Piece::Gap { from, to } => missing += to - from,
        }
    }
    (all, missing)
}

/// Reads up to the first occurrence of `wanted`, inclusive.
pub(crate) async fn read_until(reader: &mut LogReader, wanted: &str) -> String {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(wanted) {
        match within(reader.next()).await {
            Some(Piece::Bytes { bytes, .. }) => seen.extend_from_slice(&bytes),
            other => panic!("{other:?} before {wanted:?}, after {seen:?}"),
        }
    }
    String::from_utf8(seen).unwrap()
}

/// Returns whether a process has exited, reaped or not.
pub(crate) fn is_gone(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}

/// Lets other tasks run until `done`, with a limit.
pub(crate) async fn until(mut done: impl FnMut() -> bool) {
    within(async {
        while !done() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Runs one ignored test in a separate process.
pub(crate) fn alone(test: &str, prepare: impl FnOnce(&mut Command)) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        test,
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    prepare(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    assert!(text.contains("1 passed"), "{test} was run: {text}");
}
