//! Starts this user's own runner.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use crate::failure::Failure;
use crate::runner::state_dir;

/// File name of a started daemon's log in the state folder.
const LOG: &str = "serve.log";

/// How long a daemon may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Starts `bowline serve` in a process group of its own, and returns once it listens. It continues after this
/// command, and logs to a file in the state folder.
///
/// # Errors
/// If it does not start, or another one runs.
pub(crate) async fn start() -> Result<(), Failure> {
    let state = state_dir()?;
    let log = state.path().join(LOG);
    let failed = |why: &dyn std::fmt::Display| {
        let log = log.display();
        Failure::failed(format!(
            "cannot start a runner: {why}; see {log}, or run `bowline serve`"
        ))
    };
    let started = std::fs::create_dir_all(state.path())
        .and_then(|()| open(&log))
        .and_then(spawn);
    let mut child = started.map_err(|error| failed(&error))?;
    let output = child.stdout.take();
    let output = output.ok_or_else(|| failed(&"it has no output"))?;
    // The daemon prints its addresses once it listens.
    let mut lines = BufReader::new(output).lines();
    match timeout(START_TIMEOUT, lines.next_line()).await {
        Ok(Ok(Some(_))) => Ok(()),
        Ok(Ok(None)) => Err(failed(&"it ended at once")),
        Ok(Err(error)) => Err(failed(&error)),
        Err(_) => Err(failed(&"it did not listen within 30 s")),
    }
}

fn open(path: &std::path::Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path)
}

fn spawn(log: File) -> io::Result<tokio::process::Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg("serve")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .process_group(0)
        .spawn()
}
