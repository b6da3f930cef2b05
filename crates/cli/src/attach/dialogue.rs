//! A dialogue of a runner, shown as it grows.

use std::process::ExitCode;

use bowline_jsonl::Framer;
use bowline_lifecycle::SessionId;
use bowline_lifecycle::reducer::{HostEvent, Meta, Transcript};
use bowline_runner::{Piece, RunnerClient, Stream};

use crate::args::{At, Output};
use crate::failure::Failure;
use crate::printer::Printer;
use crate::runner::refused;
use crate::view::print;

/// A log has no clock of ours.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// Shows a dialogue from its beginning on, until it ends.
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
    if state == "running" {
        let session = client.watch(id).await.map_err(|error| refused(at, error))?;
        let mut output = session.reader(Stream::Output);
        while let Some(piece) = output.next().await {
            shown.take(piece)?;
        }
    } else {
        let mut offset = 0;
        loop {
            let bytes = client.log(id, offset).await;
            let bytes = bytes.map_err(|error| refused(at, error))?;
            if bytes.is_empty() {
                break;
            }
            let length = bytes.len() as u64;
            shown.take(Piece::Bytes { offset, bytes })?;
            offset += length;
        }
    }
    shown.framer.finish();
    shown.fold()?;
    print(&shown.printer.last(&shown.transcript))?;
    Ok(ExitCode::SUCCESS)
}

/// A transcript, and how much of it was printed.
struct Shown {
    framer: Framer,
    transcript: Transcript,
    printer: Printer,
}

impl Shown {
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
                text.push_str(&self.printer.news(&mut self.transcript));
            }
        }
        if text.is_empty() {
            Ok(())
        } else {
            print(&text)
        }
    }
}
