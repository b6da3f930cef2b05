//! Command handlers.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::Value;

use super::{output, refusal};

/// Runs a command in a process group of its own, with the event on its stdin.
pub(super) fn run(handler: &Value, body: &str, timeout: Duration) -> Result<Option<Value>, String> {
    let line = handler["command"].as_str().unwrap_or_default();
    let child = Command::new("/bin/sh")
        .args(["-c", line])
        .env("CLAUDECODE", "1")
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| error.to_string())?;
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (sender, receiver) = mpsc::channel();
    let body = body.to_owned();
    thread::spawn(move || {
        // Fails after the timeout.
        let _ = sender.send(communicate(&mut child, &body));
    });
    let output_of = receiver.recv_timeout(timeout).map_err(|_| {
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        "the hook timed out".to_owned()
    })?;
    let (code, stdout, stderr) = output_of.map_err(|error| error.to_string())?;
    match code {
        Some(0) => Ok(output(&stdout)),
        Some(2) => Ok(Some(refusal(stderr.trim()))),
        code => Err(format!("the hook ended with {code:?}: {}", stderr.trim())),
    }
}

fn communicate(child: &mut Child, body: &str) -> io::Result<(Option<i32>, String, String)> {
    if let Some(mut input) = child.stdin.take() {
        // Fails if the hook does not read its stdin.
        let _ = input.write_all(body.as_bytes());
    }
    let (mut stdout, mut stderr) = (String::new(), String::new());
    // Hooks print little, so neither pipe fills up while the other is read.
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_string(&mut stdout)?;
    }
    if let Some(mut pipe) = child.stderr.take() {
        pipe.read_to_string(&mut stderr)?;
    }
    Ok((child.wait()?.code(), stdout, stderr))
}
