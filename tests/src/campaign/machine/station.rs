//! A runner in its own process and folder.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use bowline_runner::StateDir;
use bowline_runner::wire::SessionKind;
use bowline_transport::{Configuration, Remote, RemoteUrl, SessionRequest};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::program::{self, READY, RUNNER, SHIM, SPEAK};
use crate::campaign::support::{own, within};

/// A runner in its own process. Dropping it ends the runner and every session.
#[derive(Debug)]
pub(super) struct Station {
    folder: TempDir,
    /// The program of the runner and the shims.
    program: PathBuf,
    runner: Option<Child>,
}

impl Station {
    /// Creates a folder and starts a runner.
    pub(super) async fn new() -> Result<Self, String> {
        let mut station = Self::at(own())?;
        station.start().await?;
        Ok(station)
    }

    /// The same, with an environment variable for the runner and its shims.
    pub(super) async fn with_variable(name: &str, value: &str) -> Result<Self, String> {
        let mut station = Self::at(own())?;
        let mut command = Command::new(&station.program);
        command.env(name, value);
        station.start_by(command).await?;
        Ok(station)
    }

    /// Creates a folder with a copy of the program, to be replaced later; starts nothing.
    pub(super) fn with_copy() -> Result<Self, String> {
        let mut station = Self::at(own())?;
        station.program = station.folder.path().join("program");
        station.replace_program()?;
        Ok(station)
    }

    fn at(program: PathBuf) -> Result<Self, String> {
        // The path of a socket is limited in length (unix(7)).
        let folder = tempfile::Builder::new().prefix("bw").tempdir_in("/tmp");
        Ok(Self {
            folder: folder.map_err(|error| error.to_string())?,
            program,
            runner: None,
        })
    }

    /// Replaces the program file, as an installer does.
    pub(super) fn replace_program(&self) -> Result<(), String> {
        let fresh = self.folder.path().join("fresh");
        std::fs::copy(own(), &fresh).map_err(|error| error.to_string())?;
        std::fs::rename(fresh, &self.program).map_err(|error| error.to_string())
    }

    /// The program of the runner and the shims.
    pub(super) fn program(&self) -> &Path {
        &self.program
    }

    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn state(&self) -> Result<StateDir, String> {
        program::state(self.folder())
    }

    /// Starts a runner and returns when it was ready.
    pub(super) async fn start(&mut self) -> Result<Instant, String> {
        self.start_by(Command::new(&self.program)).await
    }

    /// Starts a runner with a command that lacks its arguments.
    pub(super) async fn start_by(&mut self, mut command: Command) -> Result<Instant, String> {
        command.arg(RUNNER).arg(self.folder()).arg(&self.program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let spawned = command.kill_on_drop(true).spawn();
        let mut runner = spawned.map_err(|error| error.to_string())?;
        let stdout = runner.stdout.take().ok_or("no output of the runner")?;
        let mut lines = BufReader::new(stdout).lines();
        let line = within("a runner", lines.next_line()).await?;
        self.runner = Some(runner);
        match line {
            Ok(Some(line)) if line == READY => Ok(Instant::now()),
            other => Err(format!("the runner does not serve: {other:?}")),
        }
    }

    /// The runner's process id.
    pub(super) fn pid(&self) -> Option<u32> {
        self.runner.as_ref().and_then(Child::id)
    }

    /// Ends the runner by a signal and waits until it has exited.
    pub(super) async fn end_runner(&mut self, signal: Signal) -> Result<(), String> {
        let Some(mut runner) = self.runner.take() else {
            return Ok(());
        };
        send(runner.id(), signal);
        let ended = within("the runner's end", runner.wait()).await?;
        ended.map(drop).map_err(|error| error.to_string())
    }

    pub(super) fn remote(&self) -> Remote {
        Remote::new(RemoteUrl::Unix(program::socket(self.folder())))
    }

    /// Request for a session that runs this program in a hidden mode.
    pub(super) fn order(&self, args: &[String]) -> SessionRequest {
        let mut configuration = Configuration::new(own());
        configuration.args = args.iter().map(Into::into).collect();
        SessionRequest::new(SessionKind::Dialogue, configuration)
    }

    /// Request for a session that writes continuously.
    pub(super) fn speaker(&self, seed: u64, pause_ms: u64) -> SessionRequest {
        self.order(&[SPEAK.into(), seed.to_string(), pause_ms.to_string()])
    }
}

impl Station {
    /// Kills the runner and every shim.
    pub(super) fn kill_all(&self) {
        send(self.pid(), Signal::KILL);
        let state = self.state();
        let sessions = state.iter().flat_map(|state| {
            let ids = state.sessions().unwrap_or_default().into_iter();
            ids.map(|id| state.session(id))
        });
        for session in sessions {
            if let Ok(Some(info)) = session.info()
                && is_shim(info.shim_pid)
            {
                send(Some(info.shim_pid), Signal::KILL);
            }
        }
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// Whether a process id still belongs to a shim; ids are reused within minutes on a busy machine.
fn is_shim(pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0);
    words.any(|word| word == SHIM.as_bytes())
}

/// Sends a signal to one of our processes, if it exists.
pub(super) fn send(pid: Option<u32>, signal: Signal) {
    if let Some(pid) = pid.and_then(|pid| Pid::from_raw(pid.cast_signed())) {
        // The process may have exited by itself.
        let _ = kill_process(pid, signal);
    }
}
