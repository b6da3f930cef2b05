//! Bowline's sessions.

use std::io;

use anyhow::Result;
use bowline_transport::{
    Configuration, OutputReader, Piece, PtyMode, Received, Stdio, Stream, TerminalEngine,
    TerminalSession, WindowSize,
};

use super::child::own;

pub(super) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build()
}

pub(super) fn raw_pty() -> Stdio {
    Stdio::Pty {
        size: WindowSize::default(),
        mode: PtyMode::Raw,
    }
}

pub(super) fn configuration(mode: &str, argument: &str, stdio: Stdio) -> Result<Configuration> {
    let mut configuration = Configuration::new(own()?);
    configuration.args = vec![mode.into(), argument.into()];
    configuration.stdio = stdio;
    Ok(configuration)
}

pub(super) fn start(configuration: Configuration) -> Result<TerminalSession> {
    Ok(TerminalEngine.make_session(configuration)?)
}

/// Reads through the log, as any reader does.
pub(super) async fn drain(session: &TerminalSession) -> usize {
    let mut output = session.reader(Stream::Output);
    let mut all = 0;
    while let Some(piece) = output.next().await {
        all += match piece {
            Piece::Bytes { bytes, .. } => bytes.len(),
            Piece::Gap { from, to } => (to - from) as usize,
        };
    }
    all
}

/// Reads with the `OutputReader`, as a session's owner does.
pub(super) async fn drain_reader(reader: &mut OutputReader) -> usize {
    let mut all = 0;
    while let Some(received) = reader.next().await {
        if let Received::Output(output) = received
            && let Piece::Bytes { bytes, .. } = output.piece
        {
            all += bytes.len();
        }
    }
    all
}
