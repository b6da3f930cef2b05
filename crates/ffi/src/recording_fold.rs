//! Folds a recording into a transcript as far as its readers need.

mod file;
mod journal;
mod part;

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::change::{ChangeBatch, batch};
use crate::core::journal::{Arrival, InputLines};
use crate::core::jsonl::Framer;
use crate::core::reducer::{Cursor, End, HostEvent, Meta, Snapshot, Transcript};
use crate::error::{BowlineError, Result};
use crate::runtime::blocking;

use file::RecordingFile;
use part::RecordedPart;

/// What has no arrival time: the end of a recording, and what it lacks.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// A recording and the transcript of the part that was read.
pub(crate) struct RecordingFold {
    path: String,
    state: Mutex<FoldState>,
}

struct FoldState {
    /// `None` after the end of the file.
    file: Option<RecordingFile>,
    framer: Framer,
    input: InputLines,
    /// The arrival of the output that was read last.
    at: Meta,
    transcript: Transcript,
}

impl RecordingFold {
    pub(crate) fn open(path: String) -> Result<Self> {
        let file =
            RecordingFile::open(&path).map_err(|error| BowlineError::io("read", &path, &error))?;
        let state = FoldState {
            file: Some(file),
            framer: Framer::default(),
            input: InputLines::default(),
            at: NO_TIME,
            transcript: Transcript::new(),
        };
        Ok(Self {
            path,
            state: Mutex::new(state),
        })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the changes after `cursor`. Reads on if `cursor` is at the end of what was read.
    pub(crate) async fn next(
        self: Arc<Self>,
        cursor: u64,
        max_count: u32,
    ) -> Result<Option<ChangeBatch>> {
        blocking(move || {
            let mut state = self.state.lock();
            if state.transcript.revision().number() <= cursor {
                for _ in 0..max_count {
                    if !self.fold_next(&mut state)? {
                        break;
                    }
                }
            }
            loop {
                let from = Cursor::from_number(cursor);
                let changes = state.transcript.changes_up_to(from, max_count as usize);
                let batch = batch(&changes, cursor);
                if batch.is_some() || !self.fold_next(&mut state)? {
                    return Ok(batch);
                }
            }
        })
        .await
    }

    /// Reads the rest of the recording and returns its transcript.
    pub(crate) async fn complete(self: Arc<Self>) -> Result<Snapshot> {
        blocking(move || {
            let mut state = self.state.lock();
            while self.fold_next(&mut state)? {}
            Ok(state.transcript.snapshot())
        })
        .await
    }

    /// Folds the next part of the file. Returns false at the end.
    fn fold_next(&self, state: &mut FoldState) -> Result<bool> {
        let read_error = |error: io::Error| BowlineError::Io {
            reason: format!(
                "read {}: {error}; check that the file is complete",
                self.path
            ),
        };
        let Some(file) = &mut state.file else {
            return Ok(false);
        };
        let mut end = None;
        match file.next_part().map_err(read_error)? {
            RecordedPart::Bytes(bytes, arrival) => {
                state.at = meta(arrival);
                state.framer.push(bytes);
            }
            RecordedPart::Input(bytes, arrival) => {
                let (transcript, at) = (&mut state.transcript, meta(arrival));
                state
                    .input
                    .push(&bytes, |line| transcript.apply_input(line, at));
            }
            RecordedPart::InputGap => state.input.skip(),
            RecordedPart::Gap { from, to } => {
                state.framer.skip_to(to);
                let gap = HostEvent::Gap { from, to };
                state.transcript.apply_host(gap, NO_TIME);
            }
            RecordedPart::End { damage } => {
                state.framer.finish();
                state.file = None;
                end = Some(damage);
            }
        }
        while let Some(frame) = state.framer.next_frame() {
            for item in frame.items() {
                state.transcript.apply(&item, state.at);
            }
        }
        if let Some(damage) = end {
            if let Some(reason) = &damage {
                let damaged = HostEvent::Damaged { reason };
                state.transcript.apply_host(damaged, NO_TIME);
            }
            state.transcript.end(End::Recording, NO_TIME);
        }
        Ok(true)
    }
}

/// Returns the time of an arrival; 0 if it is unknown.
fn meta(arrival: Arrival) -> Meta {
    let at_ms = arrival.at_ms.unwrap_or(0);
    Meta { at_ms }
}
