//! Starts this user's own runner.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Stdio;
use std::time::Duration;

use bowline_runner::{RunnerError, is_served};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use crate::args::RunnerArgs;
use crate::failure::Failure;
use crate::runner::{request_failed, state_dir};

/// File name of a started daemon's log in the state folder.
const LOG: &str = "serve.log";

/// How long a daemon may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Interval between two requests of a daemon that another command starts.
const RETRY: Duration = Duration::from_millis(50);

/// Makes a request of a runner. Starts this user's own runner, if the request is to it and it does not run.
///
/// # Errors
/// If the runner cannot be started or refuses the request.
pub(crate) async fn request<T>(
    runner: &RunnerArgs,
    request: impl AsyncFn() -> Result<T, RunnerError>,
) -> Result<T, Failure> {
    let failed = |error| request_failed(runner, error);
    match request().await {
        Err(RunnerError::Remote(_)) if runner.is_own() => {}
        made => return made.map_err(failed),
    }
    let Err(failure) = start().await else {
        return request().await.map_err(failed);
    };
    // Another command may have started one at the same time, which may not listen yet.
    let state = state_dir()?;
    let deadline = Instant::now() + START_TIMEOUT;
    loop {
        match request().await {
            Err(RunnerError::Remote(_)) if is_served(&state) && Instant::now() < deadline => {
                sleep(RETRY).await;
            }
            Err(RunnerError::Remote(_)) => return Err(failure),
            made => return made.map_err(failed),
        }
    }
}

/// Starts `bowline serve` in a process group of its own, and returns once it listens. It continues after this
/// command, and logs to a file in the state folder.
///
/// # Errors
/// If it does not start, or another one runs.
async fn start() -> Result<(), Failure> {
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
