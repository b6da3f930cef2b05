//! Command handlers.

use std::io::{self, Read, Write as _};
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

/// Writes the event and reads both outputs, each on a thread of its own: a hook may fill one pipe before it
/// uses the next.
fn communicate(child: &mut Child, body: &str) -> io::Result<(Option<i32>, String, String)> {
    let (input, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = thread::scope(|scope| {
        scope.spawn(|| {
            if let Some(mut input) = input {
                // Fails if the hook does not read its stdin.
                let _ = input.write_all(body.as_bytes());
            }
        });
        let stderr = scope.spawn(|| read(stderr));
        let stdout = read(stdout);
        let panicked = || io::Error::other("reading the hook's standard error panicked");
        Ok::<_, io::Error>((stdout?, stderr.join().map_err(|_| panicked())??))
    })?;
    Ok((child.wait()?.code(), stdout, stderr))
}

fn read(pipe: Option<impl Read>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
