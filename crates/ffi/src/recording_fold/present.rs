//! Folds a recording or a past conversation into a transcript as far as its readers need.

use std::io;
use std::sync::Arc;

use bowline_history::Past;
use bowline_recording::{JournalSummary, RecordedTranscript, RecordingSource, meta};
use bytes::Bytes;
use parking_lot::Mutex;

use crate::change::{ChangeBatch, batch};
use crate::core::Piece;
use crate::core::journal::{Arrived, InputLines, Merged};
use crate::core::jsonl::Framer;
use crate::core::reducer::dialect::DialectName;
use crate::core::reducer::{Cursor, End, HostEvent, Meta, Snapshot};
use crate::error::{BowlineError, Result};
use crate::runtime::blocking;

/// What has no arrival time: the end of a recording, and what it lacks.
const NO_TIME: Meta = Meta { at_ms: 0 };

/// A recording and the transcript of the part that was read.
pub(crate) struct RecordingFold {
    path: String,
    state: Mutex<FoldState>,
}

struct FoldState {
    source: Source,
    /// Output that was read and not folded, and its arrival.
    unfolded: Bytes,
    at: Meta,
    framer: Framer,
    input: InputLines,
    recorded: RecordedTranscript,
}

enum Source {
    Recording(RecordingSource),
    /// A past conversation, with the time of its last activity.
    Past {
        at_ms: u64,
    },
    /// Everything was folded.
    Ended,
}

impl RecordingFold {
    /// Opens a recording, in a dialect or in the one of its first lines.
    pub(crate) fn open(path: String, dialect: Option<DialectName>) -> Result<Self> {
        let source = RecordingSource::open(path.as_ref())
            .map_err(|error| BowlineError::io("read", &path, &error))?;
        let recorded = RecordedTranscript::new(dialect);
        let source = Source::Recording(source);
        Ok(Self::new(path, source, Bytes::new(), recorded))
    }

    /// Folds a past conversation. Its entries are marked as history.
    pub(crate) fn past(past: Past) -> Self {
        let path = past.conversation.path.to_string_lossy().into_owned();
        let at_ms = past.conversation.last_activity_ms;
        // Its stream is in Claude Code's format, whichever agent it is of.
        let recorded = RecordedTranscript::new(Some(DialectName::Claude));
        Self::new(path, Source::Past { at_ms }, past.stream, recorded)
    }

    fn new(path: String, source: Source, unfolded: Bytes, recorded: RecordedTranscript) -> Self {
        let state = FoldState {
            source,
            unfolded,
            at: NO_TIME,
            framer: Framer::default(),
            input: InputLines::default(),
            recorded,
        };
        Self {
            path,
            state: Mutex::new(state),
        }
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
            if state.recorded.transcript().revision().number() <= cursor {
                for _ in 0..max_count {
                    if !self.fold_next(&mut state)? {
                        break;
                    }
                }
            }
            loop {
                let from = Cursor::from_number(cursor);
                let transcript = state.recorded.transcript_mut();
                let changes = transcript.changes_up_to(from, max_count as usize);
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
            Ok(state.recorded.transcript_mut().snapshot())
        })
        .await
    }

    fn fold_next(&self, state: &mut FoldState) -> Result<bool> {
        state.fold_next().map_err(|error| BowlineError::Io {
            reason: format!(
                "read {}: {error}; check that the file is complete",
                self.path
            ),
        })
    }
}

impl FoldState {
    /// Folds the next line, or what is between two. Returns false at the end.
    fn fold_next(&mut self) -> io::Result<bool> {
        if self.unfolded.is_empty() {
            let piece = match &mut self.source {
                Source::Recording(source) => source.next_piece()?,
                Source::Past { .. } => None,
                Source::Ended => return Ok(false),
            };
            match piece {
                None => self.end()?,
                Some(Merged::Input(piece)) => self.fold_input(&piece),
                Some(Merged::Output(Arrived { arrival, piece })) => {
                    self.at = meta(arrival);
                    match piece {
                        Piece::Bytes { bytes, .. } => self.unfolded = bytes,
                        Piece::Gap { from, to } => {
                            self.framer.skip_to(to);
                            self.fold_lines();
                            self.host_event(HostEvent::Gap { from, to });
                        }
                    }
                }
            }
        }
        let line_end = self.unfolded.iter().position(|&byte| byte == b'\n');
        let length = line_end.map_or(self.unfolded.len(), |at| at + 1);
        if length > 0 {
            self.framer.push(self.unfolded.split_to(length));
            self.fold_lines();
        }
        Ok(true)
    }

    fn fold_input(&mut self, input: &Arrived) {
        let at = meta(input.arrival);
        match &input.piece {
            Piece::Bytes { bytes, .. } => {
                let recorded = &mut self.recorded;
                self.input
                    .push(bytes, |line| recorded.apply_input(line, at));
            }
            Piece::Gap { .. } => self.input.skip(),
        }
    }

    fn fold_lines(&mut self) {
        let is_past = matches!(self.source, Source::Past { .. });
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                if is_past {
                    self.recorded.transcript_mut().apply_history(&item);
                } else {
                    self.recorded.apply(&item, self.at);
                }
            }
        }
    }

    /// Folds the end, with what of a journal is lost.
    fn end(&mut self) -> io::Result<()> {
        self.framer.finish();
        self.fold_lines();
        match &mut self.source {
            Source::Recording(source) => {
                let journal = source.journal()?;
                let losses = journal.as_ref().map(JournalSummary::unreadable);
                for reason in losses.iter().flatten() {
                    self.host_event(HostEvent::Damaged { reason });
                }
            }
            &mut Source::Past { at_ms } => {
                let transcript = self.recorded.transcript_mut();
                transcript.apply_host(HostEvent::HistoryEnded, Meta { at_ms });
            }
            Source::Ended => {}
        }
        self.source = Source::Ended;
        self.recorded.transcript_mut().end(End::Recording, NO_TIME);
        Ok(())
    }

    fn host_event(&mut self, event: HostEvent<'_>) {
        self.recorded.transcript_mut().apply_host(event, NO_TIME);
    }
}
