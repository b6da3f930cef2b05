//! Runs the command under test, with scripted agents.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// The command under test.
pub(crate) const BOWLINE: &str = env!("CARGO_BIN_EXE_bowline");

/// An agent: a script that runs the understudy inside the command under test.
pub(crate) const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/agent.sh");

/// Longest wait for a process.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The output and exit code of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl CommandOutput {
    /// Asserts exit code 0 and an empty standard error; returns standard output.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(
            (self.code, self.stderr.as_str()),
            (Some(0), ""),
            "{}",
            self.stdout
        );
        self.stdout
    }

    /// Asserts this exit code and one line on standard error; returns the line.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("bowline: "), "{self:?}");
        self.stderr
    }
}

/// Returns the command with these arguments, without the user's settings in its environment.
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(BOWLINE);
    command
        .args(args)
        .env("BOWLINE", BOWLINE)
        .env("TERM", "xterm")
        // No policy of this user.
        .env("XDG_CONFIG_HOME", "/nonexistent");
    for name in ["NO_COLOR", "UNDERSTUDY_PACE", "COLUMNS", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the command to its end.
#[track_caller]
pub(crate) fn bowline(args: &[&str]) -> CommandOutput {
    finish(command(args).spawn().unwrap())
}

/// Runs the command with this standard input.
pub(crate) fn bowline_reading(args: &[&str], input: &[u8]) -> CommandOutput {
    let mut child = command(args).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let done = finish(child);
    // Fails if the command exits before it has read everything.
    let _ = writer.join().unwrap();
    done
}

/// Waits for the end of a child, for at most [`TIMEOUT`].
#[track_caller]
pub(crate) fn finish(child: Child) -> CommandOutput {
    let pid = Pid::from_child(&child);
    let (send, output) = channel();
    std::thread::spawn(move || send.send(child.wait_with_output()));
    let Ok(output) = output.recv_timeout(TIMEOUT) else {
        let _ = kill_process(pid, Signal::KILL);
        panic!("the command did not end, {:?}", output.recv());
    };
    let output = output.unwrap();
    CommandOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns the path of a recording of the real agent.
pub(crate) fn fixture(name: &str) -> String {
    fixtures().join(name).display().to_string()
}

pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// Returns the paths of all recordings.
pub(crate) fn recordings() -> Vec<String> {
    let files = std::fs::read_dir(fixtures())
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| file.is_file())
        .map(|file| file.display().to_string())
        .collect();
    files.sort();
    assert!(files.len() > 50, "{files:?}");
    files
}

/// Writes a shell script. Another process writes it: a child that another thread forks meanwhile would inherit
/// the open file, and execve(2) would fail with ETXTBSY.
pub(crate) fn write_script(path: &Path, lines: &str) {
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod 755 "$2""#;
    let mut shell = Command::new("sh");
    shell.args(["-c", write, "sh", lines]).arg(path);
    assert!(shell.status().unwrap().success());
}

/// An agent that plays a scenario, with a folder of its own.
#[derive(Debug)]
pub(crate) struct ScriptedAgent {
    pub(crate) folder: TempDir,
}

impl ScriptedAgent {
    pub(crate) fn new(scenario: &str) -> Self {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("scenario.toml"), scenario).unwrap();
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Writes a shell script into the folder and returns its path.
    pub(crate) fn script(&self, lines: &str) -> String {
        let path = self.path("script.sh");
        write_script(path.as_ref(), lines);
        path
    }

    /// Returns the command line of `bowline run` with this agent.
    pub(crate) fn line(&self, more: &[&str]) -> Vec<String> {
        let scenario = format!("--scenario={}", self.path("scenario.toml"));
        let fixed = [
            "run",
            "--agent",
            AGENT,
            "--agent-arg",
            &scenario,
            "--agent-arg",
            "--pace=0",
        ];
        fixed
            .iter()
            .chain(more)
            .map(|it| (*it).to_owned())
            .collect()
    }

    pub(crate) fn command(&self, more: &[&str]) -> Command {
        let line = self.line(more);
        let mut command = command(&line.iter().map(String::as_str).collect::<Vec<_>>());
        // Other tests use the same conversation ids.
        command.env("BOWLINE_STATE_DIR", self.path("state"));
        command
    }

    #[track_caller]
    pub(crate) fn run(&self, more: &[&str]) -> CommandOutput {
        finish(self.command(more).spawn().unwrap())
    }

    /// Runs it until it has printed this.
    pub(crate) fn run_until(&self, more: &[&str], wanted: &str) -> Running {
        Running::until(self.command(more), wanted)
    }
}

/// A running command.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    seen: String,
}

impl Running {
    /// Runs a command until it has printed this.
    pub(crate) fn until(mut command: Command, wanted: &str) -> Self {
        let mut child = command.spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        while !seen.contains(wanted) {
            let length = stdout.read_line(&mut seen).unwrap();
            assert!(length > 0, "no {wanted:?} in {seen:?}, {:?}", finish(child));
        }
        Self {
            child,
            stdout,
            seen,
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Reads standard error until it contains this.
    #[track_caller]
    pub(crate) fn until_stderr(&mut self, wanted: &str) -> String {
        let (sender, read) = channel();
        let mut stderr = BufReader::new(self.child.stderr.take().unwrap());
        let end = wanted.to_owned();
        std::thread::spawn(move || {
            let mut text = String::new();
            while !text.contains(&end) && stderr.read_line(&mut text).unwrap() > 0 {}
            // The test has failed if nothing receives it.
            let _ = sender.send((text, stderr.into_inner()));
        });
        let Ok((text, stderr)) = read.recv_timeout(TIMEOUT) else {
            self.child.kill().unwrap();
            panic!("no {wanted:?} within {TIMEOUT:?}");
        };
        self.child.stderr = Some(stderr);
        assert!(text.contains(wanted), "no {wanted:?} in {text:?}");
        text
    }

    #[track_caller]
    pub(crate) fn finish(self) -> CommandOutput {
        let Self {
            child,
            mut stdout,
            mut seen,
        } = self;
        let rest = std::thread::spawn(move || {
            stdout.read_to_string(&mut seen).unwrap();
            seen
        });
        let done = finish(child);
        CommandOutput {
            stdout: rest.join().unwrap(),
            ..done
        }
    }
}

/// Parses JSON lines.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[track_caller]
pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
