//! The runner that a command starts on demand.

use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::support::{AGENT, BOWLINE, ScriptedAgent, TIMEOUT, command, finish};

/// The runner that a command has started; ended when dropped.
pub(crate) struct StartedRunner(UnixStream);

impl StartedRunner {
    pub(crate) fn at(socket: &Path) -> Self {
        Self(UnixStream::connect(socket).unwrap())
    }

    fn pid(&self) -> Option<Pid> {
        // No runtime may be dropped by the thread of another one.
        std::thread::scope(|scope| scope.spawn(|| self.peer()).join().ok().flatten())
    }

    fn peer(&self) -> Option<Pid> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .ok()?;
        let _entered = runtime.enter();
        let stream = self.0.try_clone().ok()?;
        stream.set_nonblocking(true).ok()?;
        let peer = tokio::net::UnixStream::from_std(stream).ok()?;
        Pid::from_raw(peer.peer_cred().ok()?.pid()?)
    }
}

impl Drop for StartedRunner {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}

/// Returns `bowline run -d` with this state folder, run by a shell after `before`.
fn detached(folder: &Path, agent: &ScriptedAgent, before: &str) -> Command {
    let scenario = format!("--scenario={}", agent.path("scenario.toml"));
    let mut shell = Command::new("sh");
    let plain = command(&[]);
    shell
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .env("BOWLINE_STATE_DIR", folder.join("s"))
        .args(["-c", &format!("{before} exec \"$@\""), "sh", BOWLINE])
        .args([
            "run",
            "-d",
            "--agent",
            AGENT,
            "--agent-arg",
            &scenario,
            "go",
        ])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    shell
}

fn kill(folder: &Path, id: &str) {
    let mut kill = command(&["kill", id]);
    kill.env("BOWLINE_STATE_DIR", folder.join("s"));
    finish(kill.spawn().unwrap()).ok();
}

const ANSWER: &str = "[[turn]]\nsteps = [ { text = \"Here.\" } ]\n";

/// A script that holds a lock or a pipe while it runs the command releases it by its end.
#[test]
fn started_runner_and_session_hold_nothing_of_their_starter() {
    let folder = TempDir::new_in("/tmp").unwrap();
    let agent = ScriptedAgent::new(ANSWER);
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let (send, ended) = channel();
    let path = pipe.clone();
    std::thread::spawn(move || {
        let mut reader = std::fs::File::open(path).unwrap();
        send.send(reader.read_to_end(&mut Vec::new()))
    });
    let before = format!("exec 9>'{}';", pipe.display());
    let done = finish(detached(folder.path(), &agent, &before).spawn().unwrap()).ok();
    assert_eq!(done.trim_end().len(), 36, "{done}");
    let _started = StartedRunner::at(&folder.path().join("s/runner.sock"));
    let ended = ended.recv_timeout(TIMEOUT);
    kill(folder.path(), done.trim_end());
    ended.expect("no process holds the pipe").unwrap();
}

#[test]
fn commands_that_need_a_runner_at_once_share_one() {
    let folder = TempDir::new_in("/tmp").unwrap();
    let agent = ScriptedAgent::new(ANSWER);
    let started: Vec<_> = (0..4)
        .map(|_| detached(folder.path(), &agent, "").spawn().unwrap())
        .collect();
    let done: Vec<_> = started.into_iter().map(finish).collect();
    let _started = StartedRunner::at(&folder.path().join("s/runner.sock"));
    let mut ids = Vec::new();
    for one in done {
        ids.push(one.ok().trim_end().to_owned());
    }
    let mut list = command(&["ps", "--format", "{id}"]);
    list.env("BOWLINE_STATE_DIR", folder.path().join("s"));
    let listed = finish(list.spawn().unwrap()).ok();
    for id in &ids {
        kill(folder.path(), id);
    }
    let mut listed: Vec<_> = listed.lines().collect();
    listed.sort_unstable();
    ids.sort_unstable();
    assert_eq!(listed, ids);
}
