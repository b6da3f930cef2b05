//! Reads the copy of a session whose runner cannot be reached.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use bowline_fleet::{FleetSession, Replica, read_replica, read_replica_from};
use bowline_lifecycle::journal::Body;
use bowline_lifecycle::{StreamId, WindowSize};
use bowline_runner::SessionSummary;
use bowline_runner::wire::SessionKind;
use serde::Deserialize as _;

use super::last_screen::last_screen;
use super::network::{FleetNetwork, silence};
use crate::args::{self, Output, OutputArgs};
use crate::attach::window_size;
use crate::failure::Failure;
use crate::replay;
use crate::stdio::{bytes_from, eprint};
use crate::style::is_dumb_terminal;

/// Size of a screen where there is no terminal.
const DEFAULT_SIZE: WindowSize = WindowSize::new(24, 80);

/// Prints what of a session's output was copied, with the code that replays recordings.
///
/// # Errors
/// If the copy cannot be read.
pub(crate) async fn logs(
    network: &FleetNetwork,
    session: &FleetSession,
    options: &args::Logs,
) -> Result<ExitCode, Failure> {
    let replica = read(network, session, options.from).await?;
    if options.raw || is_terminal(session) {
        return raw(replica, options.from);
    }
    let output = if options.events {
        Output::Changes
    } else {
        Output::Text
    };
    transcript(&replica, output)
}

/// Prints what attaching would show if the runner were there: the last screen of a terminal, the transcript of a
/// dialogue, as far as they were copied.
///
/// # Errors
/// If the copy cannot be read.
pub(crate) async fn attach_copy(
    network: &FleetNetwork,
    session: &FleetSession,
) -> Result<ExitCode, Failure> {
    let mut replica = read(network, session, 0).await?;
    if !is_terminal(session) {
        return transcript(&replica, Output::Text);
    }
    let colors = io::stdout().is_terminal() && !is_dumb_terminal();
    // The output is laid out for this terminal: the copy does not have the size of the session's.
    let size = window_size().unwrap_or(DEFAULT_SIZE);
    let screen = last_screen(&replica.take_records(), size, colors);
    let mut out = io::stdout().lock();
    let written = out.write_all(&screen).and_then(|()| out.flush());
    written.map_err(|_| Failure::broken_pipe())?;
    Ok(ExitCode::SUCCESS)
}

fn output_of(session: &FleetSession) -> StreamId {
    match session.record.summary.get("stdio") {
        Some(stdio) if stdio == "pty" => StreamId::TTY,
        _ => StreamId::STDOUT,
    }
}

fn is_terminal(session: &FleetSession) -> bool {
    let summary = SessionSummary::deserialize(&session.record.summary);
    summary.is_ok_and(|it| it.kind == SessionKind::Terminal)
}

/// Reads the copy from an offset of the output on, and says on standard error since when the runner is silent and what is
/// missing.
async fn read(
    network: &FleetNetwork,
    session: &FleetSession,
    from: u64,
) -> Result<Replica, Failure> {
    let bus = network.bus().await?;
    let output = output_of(session);
    let replica = match from {
        0 => read_replica(bus, session).await,
        from => read_replica_from(bus, session, output, from).await,
    };
    let replica = replica.map_err(|error| Failure::caused("cannot read the copy:", &error))?;
    let since = match session.reach {
        bowline_fleet::Reach::Silent { since_ms } => since_ms,
        bowline_fleet::Reach::Live { .. } => None,
    };
    let behind = session.record.ends.past(&session.record.copied);
    eprint(&format!(
        "bowline: the runner {} is {}; {} bytes were copied, at least {behind} are missing\n",
        session.runner_name,
        silence(since),
        replica.end().total(),
    ));
    for damage in replica.damage() {
        eprint(&format!("bowline: {damage}\n"));
    }
    Ok(replica)
}

/// Prints the dialogue, with the code that replays recordings.
fn transcript(replica: &Replica, output: Output) -> Result<ExitCode, Failure> {
    let file = JournalFile::write(replica)?;
    replay::replay(&args::Replay {
        file: Some(file.path.clone()),
        conversation: None,
        open: false,
        dialect: None,
        output: OutputArgs::of(output),
        strict: false,
    })
}

/// Prints the bytes of the output from an offset on as they are.
fn raw(mut replica: Replica, from: u64) -> Result<ExitCode, Failure> {
    let mut out = io::stdout().lock();
    for record in replica.take_records() {
        if ![StreamId::STDOUT, StreamId::TTY].contains(&record.stream) || record.end() <= from {
            continue;
        }
        match &record.body {
            Body::Bytes(bytes) => {
                let bytes = bytes_from(bytes, record.offset, from);
                out.write_all(bytes).map_err(|_| Failure::broken_pipe())?;
            }
            Body::Gap { to, reason } => eprint(&format!(
                "bowline: bytes {} to {to} of the output are missing: {reason}\n",
                record.offset
            )),
        }
    }
    out.flush().map_err(|_| Failure::broken_pipe())?;
    Ok(ExitCode::SUCCESS)
}

/// A copy as a journal in a file, which is removed when it is dropped.
struct JournalFile {
    path: std::path::PathBuf,
}

impl JournalFile {
    fn write(replica: &Replica) -> Result<Self, Failure> {
        let name = format!("bowline-{}.bjl", bowline_lifecycle::SessionId::random());
        let path = std::env::temp_dir().join(name);
        let failed = |error: io::Error| {
            Failure::failed(format!(
                "cannot write {}: {error}; set TMPDIR",
                path.display()
            ))
        };
        let mut file = std::fs::OpenOptions::new();
        let mut file = std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(failed)?;
        file.write_all(&replica.encode_journal()).map_err(failed)?;
        Ok(Self { path })
    }
}

impl Drop for JournalFile {
    fn drop(&mut self) {
        // The system removes old files of this folder.
        let _ = std::fs::remove_file(&self.path);
    }
}
