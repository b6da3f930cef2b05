//! A dialogue of a runner, shown as it grows.

use std::process::ExitCode;

use bowline_jsonl::Framer;
use bowline_lifecycle::reducer::{HostEvent, Meta, Transcript};
use bowline_lifecycle::{ReconnectFailed, SessionId};
use bowline_runner::{Piece, RunnerClient, Stream, TerminalSession};

use crate::args::{At, Output};
use crate::failure::Failure;
use crate::link::{given_up, lost, out_of_reach};
use crate::printer::Printer;
use crate::runner::refused;
use crate::view::print;

/// A log has no clock of ours.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// Shows a dialogue from its beginning on, until it ends or its link is given up.
pub(super) async fn follow(
    client: &RunnerClient,
    at: &At,
    id: SessionId,
    state: &str,
) -> Result<ExitCode, Failure> {
    let mut shown = Shown {
        framer: Framer::default(),
        transcript: Transcript::new(),
        printer: Printer::live(Output::Text),
    };
    let mut lost = None;
    if state == "running" {
        let session = client.watch(id).await.map_err(|error| refused(at, error))?;
        lost = shown.live(&session).await?;
    } else {
        shown.log(client, at, id).await?;
    }
    shown.framer.finish();
    shown.fold()?;
    print(&shown.printer.last(&shown.transcript))?;
    match lost {
        Some(why) => Err(out_of_reach(at.runner.as_deref(), id, &why)),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// A transcript, and how much of it was printed.
struct Shown {
    framer: Framer,
    transcript: Transcript,
    printer: Printer,
}

impl Shown {
    /// What is said until the end, or until the link is given up: then why.
    async fn live(
        &mut self,
        session: &TerminalSession,
    ) -> Result<Option<ReconnectFailed>, Failure> {
        let (mut output, mut link) = (session.reader(Stream::Output), session.connection());
        loop {
            tokio::select! {
                biased;
                piece = output.next() => match piece {
                    Some(piece) => self.take(piece)?,
                    // A link without hope ends the output, too.
                    None => return Ok(lost(&link)),
                },
                why = given_up(&mut link) => return Ok(Some(why)),
            }
        }
    }

    /// What was said by a session that has ended.
    async fn log(&mut self, client: &RunnerClient, at: &At, id: SessionId) -> Result<(), Failure> {
        let mut offset = 0;
        loop {
            let bytes = client.log(id, offset).await;
            let bytes = bytes.map_err(|error| refused(at, error))?;
            if bytes.is_empty() {
                return Ok(());
            }
            let length = bytes.len() as u64;
            self.take(Piece::Bytes { offset, bytes })?;
            offset += length;
        }
    }

    fn take(&mut self, piece: Piece) -> Result<(), Failure> {
        match piece {
            Piece::Bytes { bytes, .. } => self.framer.push(bytes),
            Piece::Gap { from, to } => {
                self.framer.skip_to(to);
                self.fold()?;
                self.transcript
                    .apply_host(HostEvent::Gap { from, to }, NO_TIME);
            }
        }
        self.fold()
    }

    fn fold(&mut self) -> Result<(), Failure> {
        let mut text = String::new();
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                self.transcript.apply(&item, NO_TIME);
                text.push_str(
                    &self
                        .printer
                        .news(&self.transcript.changes_since(self.printer.cursor())),
                );
            }
        }
        if text.is_empty() {
            Ok(())
        } else {
            print(&text)
        }
    }
}
