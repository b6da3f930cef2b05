//! A session's output and input, folded up to an offset.

use std::ops::Range;

use bowline_jsonl::{Framer, Item, RawJson};
use bowline_reducer::dialect::{DialectName, recognize};
use bowline_reducer::{End, HostEvent, Meta, Transcript};
use bowline_transport::Piece;
use bowline_transport::journal::{Arrival, Arrived, Damage, InputLines};
use bowline_transport::wire::Epoch;
use bytes::Bytes;
use uuid::Uuid;

use crate::recordings::{HISTORY, RECORDING_LABEL, UNREADABLE_LABEL};
use crate::shim::SessionInfo;

/// Where the lines of a session come from, and how it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FoldOrigin {
    /// A process of this runner.
    #[default]
    Process,
    /// A recording.
    Recording,
    /// A past conversation, as the agent keeps it.
    History,
}

impl FoldOrigin {
    fn of(info: &SessionInfo) -> Self {
        match info.labels.get(RECORDING_LABEL).map(String::as_str) {
            Some(HISTORY) => Self::History,
            Some(_) => Self::Recording,
            None => Self::Process,
        }
    }
}

/// Observes the lines that are folded, each directly after it was.
pub(crate) trait FoldObserver {
    /// A line of the output was folded.
    fn output(&mut self, transcript: &mut Transcript, item: &Item<'_>, at: Meta);

    /// A line of the input was folded; `None` if it is not UTF-8 or too long, and was left out. The range has
    /// its offsets, with its line end.
    fn input(
        &mut self,
        transcript: &mut Transcript,
        range: Range<u64>,
        line: Option<&str>,
        at: Meta,
    );

    /// Lost output was folded.
    fn gap(&mut self, transcript: &mut Transcript, lost: Range<u64>);

    /// A part of some MiB was folded, with the input up to its end, and more may follow.
    fn part(&mut self, fold: &mut SessionFold) {
        let _ = fold;
    }
}

/// Observes nothing.
impl FoldObserver for () {
    fn output(&mut self, _: &mut Transcript, _: &Item<'_>, _: Meta) {}

    fn input(&mut self, _: &mut Transcript, _: Range<u64>, _: Option<&str>, _: Meta) {}

    fn gap(&mut self, _: &mut Transcript, _: Range<u64>) {}
}

/// A session's output, folded up to an offset.
#[derive(Debug)]
pub(crate) struct SessionFold {
    /// Distinguishes it from any other fold, whose revisions mean something else.
    pub(crate) instance: u64,
    pub(crate) epoch: Epoch,
    pub(crate) framer: Framer,
    pub(crate) transcript: Transcript,
    /// Offset of the next byte of output.
    pub(crate) next: u64,
    input: InputLines,
    /// Offset of the next byte of input.
    pub(crate) input_next: u64,
    /// Offset of the line of input that is not complete.
    input_line: u64,
    /// When the last output arrived.
    at: Meta,
    /// Whether the agent's dialect is given or was recognized.
    has_dialect: bool,
    pub(crate) origin: FoldOrigin,
    /// Whether the end of the child was folded.
    pub(crate) has_ended: bool,
    /// The damage of the journal that was folded.
    pub(crate) damage: Vec<Damage>,
    /// What cannot be read of a recording, one message each.
    unreadable: Vec<String>,
}

impl SessionFold {
    /// Nothing of a session.
    pub(crate) fn new(info: &SessionInfo) -> Self {
        Self {
            epoch: info.epoch,
            origin: FoldOrigin::of(info),
            unreadable: unreadable_of(info),
            ..Self::of_dialect(DialectName::of_labels(&info.labels))
        }
    }

    /// Nothing of a process whose agent has this dialect, if it is not the default.
    pub(crate) fn of_dialect(dialect: DialectName) -> Self {
        Self {
            instance: random_instance(),
            epoch: Epoch(0),
            framer: Framer::default(),
            transcript: Transcript::with_dialect(dialect),
            next: 0,
            input: InputLines::default(),
            input_next: 0,
            input_line: 0,
            at: Meta::default(),
            has_dialect: dialect != DialectName::default(),
            origin: FoldOrigin::default(),
            has_ended: false,
            damage: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    /// Folds the past of the conversation that the session resumed, before anything else.
    pub(crate) fn history(&mut self, history: Bytes) {
        let mut framer = Framer::default();
        framer.push(history);
        self.transcript.fold_history(framer, Meta::default());
    }

    /// Folds the next output.
    pub(crate) fn output(
        &mut self,
        Arrived { arrival, piece }: &Arrived,
        observer: &mut impl FoldObserver,
    ) {
        self.at = meta(*arrival);
        match piece {
            Piece::Bytes { offset, bytes } => {
                self.framer.push(bytes.clone());
                self.next = offset + bytes.len() as u64;
            }
            &Piece::Gap { from, to } => {
                self.framer.skip_to(to);
                self.apply_lines(observer);
                let gap = HostEvent::Gap { from, to };
                self.transcript.apply_host(gap, Meta::default());
                observer.gap(&mut self.transcript, from..to);
                self.next = to;
            }
        }
        self.apply_lines(observer);
    }

    /// Folds the lines of output that are complete.
    pub(crate) fn apply_lines(&mut self, observer: &mut impl FoldObserver) {
        while let Some(frame) = self.framer.next_frame() {
            for item in frame.items() {
                if let Ok(event) = &item.event {
                    recognize_dialect(&mut self.transcript, &mut self.has_dialect, event.raw);
                }
                match self.origin {
                    FoldOrigin::History => self.transcript.apply_history(&item),
                    _ => self.transcript.apply(&item, self.at),
                }
                observer.output(&mut self.transcript, &item, self.at);
            }
        }
    }

    /// Folds the next input.
    pub(crate) fn input(&mut self, input: &Arrived, observer: &mut impl FoldObserver) {
        self.input_next = input.end();
        let Piece::Bytes { offset, bytes } = &input.piece else {
            self.input_line = self.input_next;
            return self.input.skip();
        };
        let at = meta(input.arrival);
        let mut end = *offset;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            end += part.len() as u64;
            let mut is_folded = false;
            let range = self.input_line..end;
            let (transcript, has_dialect) = (&mut self.transcript, &mut self.has_dialect);
            self.input.push(part, |line| {
                if let Some(line) = RawJson::parse(line) {
                    recognize_dialect(transcript, has_dialect, line);
                }
                transcript.apply_input(line, at);
                observer.input(transcript, range.clone(), Some(line), at);
                is_folded = true;
            });
            if part.ends_with(b"\n") {
                if !is_folded {
                    observer.input(&mut self.transcript, range, None, at);
                }
                self.input_line = end;
            }
        }
    }
}

impl SessionFold {
    /// Returns a copy that is folded further apart from this fold.
    pub(crate) fn fork(&mut self) -> Self {
        self.framer.release();
        Self {
            instance: random_instance(),
            epoch: self.epoch,
            framer: self.framer.clone(),
            transcript: self.transcript.fork(),
            next: self.next,
            input: self.input.clone(),
            input_next: self.input_next,
            input_line: self.input_line,
            at: self.at,
            has_dialect: self.has_dialect,
            origin: self.origin,
            has_ended: self.has_ended,
            damage: self.damage.clone(),
            unreadable: self.unreadable.clone(),
        }
    }

    /// Returns roughly the memory that it takes up, in bytes.
    pub(crate) fn size(&self) -> u64 {
        let partial_line = self.next.saturating_sub(self.framer.resume_offset());
        self.transcript.content_size() + partial_line
    }

    /// Returns when the last output arrived, if it is known.
    pub(crate) fn at_ms(&self) -> Option<u64> {
        Some(self.at.at_ms).filter(|at_ms| *at_ms > 0)
    }

    /// Folds the end of a recording.
    pub(crate) fn end_recording(&mut self) {
        let no_time = Meta::default();
        for reason in std::mem::take(&mut self.unreadable) {
            let reason = reason.as_str();
            self.transcript
                .apply_host(HostEvent::Damaged { reason }, no_time);
        }
        if self.origin == FoldOrigin::History {
            self.transcript.apply_host(HostEvent::HistoryEnded, no_time);
        }
        self.transcript.end(End::Recording, no_time);
        self.has_ended = true;
    }
}

fn unreadable_of(info: &SessionInfo) -> Vec<String> {
    let unreadable = info.labels.get(UNREADABLE_LABEL);
    let lines = unreadable.into_iter().flat_map(|it| it.lines());
    lines.map(str::to_owned).collect()
}

/// Returns a number that no other fold has, of this daemon or another one.
pub(crate) fn random_instance() -> u64 {
    Uuid::new_v4().as_u64_pair().1
}

/// Sets the dialect of a transcript by the first line that identifies one.
fn recognize_dialect(transcript: &mut Transcript, is_known: &mut bool, line: RawJson<'_>) {
    if !*is_known && let Some(dialect) = recognize([line]) {
        *is_known = true;
        if transcript.dialect() != dialect {
            transcript.set_dialect(dialect);
        }
    }
}

/// Returns the time of an arrival; 0 if it is unknown.
fn meta(arrival: Arrival) -> Meta {
    let at_ms = arrival.at_ms.unwrap_or(0);
    Meta { at_ms }
}
