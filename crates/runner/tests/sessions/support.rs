//! Shims under test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_runner::{
    SessionSpec, ShimProgram, ShimStarted, SpecStdio, StateDir, TerminalMode, spawn_shim,
};
use bowline_transport::wire::{SessionKind, StreamId};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::client::TIMEOUT;

pub(crate) const OUT: StreamId = StreamId::STDOUT;
pub(crate) const ERR: StreamId = StreamId::STDERR;
pub(crate) const TTY: StreamId = StreamId::TTY;

/// The state directory of one test. Kills remaining shims when dropped.
pub(crate) struct Place {
    pub(crate) state: StateDir,
    pub(crate) scratch: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let state = StateDir::at(scratch.path().join("state")).unwrap();
        Self { state, scratch }
    }

    pub(crate) async fn start(&self, spec: SessionSpec) -> ShimStarted {
        spawn_shim(&program(), &self.state, spec).await.unwrap()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for id in self.state.sessions().unwrap_or_default() {
            let info = self.state.session(id).info();
            if let Ok(Some(info)) = info
                && is_alive(info.shim_pid)
            {
                kill(info.shim_pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// Returns the test's shim program.
pub(crate) fn program() -> ShimProgram {
    ShimProgram {
        path: env!("CARGO_BIN_EXE_shim-stand-in").into(),
        args: vec!["shim".into()],
    }
}

/// Returns the specification of a shell script on pipes.
pub(crate) fn script(text: &str) -> SessionSpec {
    let mut spec = SessionSpec::new(SessionKind::Dialogue, "/bin/sh");
    spec.args = vec!["-c".into(), text.into()];
    spec
}

/// Returns the specification of a shell script on a raw terminal.
pub(crate) fn on_terminal(text: &str) -> SessionSpec {
    let mut spec = script(text);
    spec.kind = SessionKind::Terminal;
    spec.stdio = SpecStdio::Pty {
        size: bowline_transport::WindowSize::default(),
        mode: TerminalMode::Raw,
    };
    spec
}

pub(crate) fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    let _ = rustix::process::kill_process(pid, signal);
}

/// Returns whether a process exists and is no zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    let state = stat.ok().and_then(|stat| {
        let (_, rest) = stat.rsplit_once(')')?;
        rest.trim_start().chars().next()
    });
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Polls until a condition holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < TIMEOUT, "{what} in time");
        sleep(Duration::from_millis(1)).await;
    }
}

/// Returns the resident anonymous memory of a process in bytes (proc_pid_status(5)).
pub(crate) fn memory_of(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("RssAnon:"))
        .unwrap();
    let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kib * 1024
}

/// Reads the process ids that a script has written into a file, one per line.
pub(crate) fn pids_in(path: &Path) -> Vec<u32> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect()
}

/// A xorshift64 generator (Marsaglia, 2003), reproducible by its seed.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Mixes the seed, which may be small, over all bits.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1))
    }

    /// Returns a number below `below`, which must not be 0.
    pub(crate) fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}
