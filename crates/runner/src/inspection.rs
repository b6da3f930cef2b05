//! What a session consists of, for its inspection: its lines and what they became, spans of time, search, and
//! parts of a transcript. Pure: bytes and times are arguments.

mod checkpoints;
mod line_index;
mod line_kind;
mod line_page;
mod search;
mod spans;
mod stderr_lines;
mod timeline;
mod unknown_members;
mod usage;
mod window;

use std::ops::Range;

use bowline_jsonl::Item;
use bowline_reducer::dialect::DialectName;
use bowline_reducer::{Meta, Transcript};
use bowline_transport::journal::Arrived;
use bowline_transport::wire::Epoch;

use crate::session_fold::{FoldObserver, SessionFold};
use checkpoints::Checkpoints;
pub(crate) use line_index::LineIndex;
pub(crate) use line_page::{LinePage, PageStart};
pub(crate) use search::{SearchHit, SearchPlace, find_in_bytes, search_transcript};
use spans::Spans;
use stderr_lines::StderrLines;
pub(crate) use timeline::Timeline;
pub(crate) use unknown_members::{CheckedMembers, MemberCheck};
pub(crate) use window::{TranscriptWindow, WindowStart};

/// A session as it is inspected.
#[derive(Debug)]
pub(crate) struct IndexedSession {
    pub(crate) epoch: Epoch,
    /// The agent's dialect, as far as it is known.
    pub(crate) dialect: DialectName,
    /// `None` once everything was folded: what the session has ended with does not change.
    pub(crate) fold: Option<SessionFold>,
    pub(crate) observed: Observed,
    /// As of the last update.
    pub(crate) timeline: Timeline,
}

/// What is recorded while a session is folded.
#[derive(Debug, Default)]
pub(crate) struct Observed {
    pub(crate) lines: LineIndex,
    pub(crate) stderr: StderrLines,
    spans: Spans,
    /// Where a fold up to an earlier moment begins.
    checkpoints: Checkpoints,
}

impl IndexedSession {
    /// Nothing of a session.
    pub(crate) fn new(mut fold: SessionFold) -> Self {
        Self {
            epoch: fold.epoch,
            dialect: fold.transcript.dialect(),
            observed: Observed {
                lines: LineIndex::new(&mut fold.transcript),
                ..Observed::default()
            },
            fold: Some(fold),
            timeline: Timeline::default(),
        }
    }

    /// Completes an update with the fold that the lines were observed in. The fold of a session that has ended
    /// is dropped.
    pub(crate) fn complete(&mut self, fold: SessionFold) {
        self.observed.flush_stderr(u64::MAX);
        self.dialect = fold.transcript.dialect();
        self.timeline = self.observed.spans.timeline(&fold.transcript);
        self.timeline.end = fold.next;
        self.timeline.is_ordered = self.observed.lines.is_ordered_by_time();
        self.timeline.lines = self.observed.lines.output_lines();
        self.fold = (!fold.has_ended).then_some(fold);
    }

    /// Returns a copy of the fold up to the last checkpoint before an offset of the output; `None` if there is none.
    pub(crate) fn fold_before(&mut self, output: u64) -> Option<SessionFold> {
        self.observed.checkpoints.before(output)
    }

    /// Returns the bytes that it takes up, roughly.
    pub(crate) fn size(&self) -> u64 {
        // The fold and the checkpoints share what they have.
        let fold = self.fold.as_ref().map_or(0, SessionFold::size);
        fold.max(self.observed.checkpoints.size()) + self.observed.lines.size()
    }
}

impl Observed {
    /// Takes the next lines of standard error.
    pub(crate) fn push_stderr(&mut self, piece: &Arrived) {
        self.stderr.push(piece);
    }

    /// Adds the lines of standard error that arrived up to a time.
    fn flush_stderr(&mut self, at_ms: u64) {
        while let Some(line) = self.stderr.next_until(at_ms) {
            self.lines.push_stderr(&line);
        }
    }
}

impl FoldObserver for Observed {
    fn output(&mut self, transcript: &mut Transcript, item: &Item<'_>, at: Meta) {
        if at.at_ms > 0 {
            self.flush_stderr(at.at_ms);
        }
        let targets = self.lines.push_output(transcript, item, at);
        self.spans.output(transcript, item, targets, at.at_ms);
    }

    fn input(
        &mut self,
        transcript: &mut Transcript,
        range: Range<u64>,
        line: Option<&str>,
        at: Meta,
    ) {
        let targets = self.lines.push_input(transcript, range, line, at);
        self.spans.input(transcript, targets, at.at_ms);
    }

    fn gap(&mut self, transcript: &mut Transcript, lost: Range<u64>) {
        self.lines.push_gap(transcript, lost);
    }

    fn part(&mut self, fold: &mut SessionFold) {
        self.checkpoints.push(fold);
    }
}
