//! Reads a recorded journal: one segment in one file.

use std::io;

use super::part::{Reader, RecordedPart, read};
use crate::core::journal::{Arrived, Body, Merge, Merged, Record, Scan};
use crate::core::{Piece, StreamId, exit_ends};

/// An open journal. A journaled dialogue has its output on the terminal or on standard output, never on
/// both.
pub(super) struct Journal {
    reader: Reader,
    scan: Scan,
    /// The order of output and input.
    merge: Merge,
    /// Offset past the last byte of output that was read.
    end: u64,
    /// The lines of the lifecycle stream.
    lifecycle: Vec<u8>,
    is_over: bool,
}

impl Journal {
    pub(super) fn new(reader: Reader) -> Self {
        Self {
            reader,
            scan: Scan::default(),
            merge: Merge::default(),
            end: 0,
            lifecycle: Vec::new(),
            is_over: false,
        }
    }

    pub(super) fn next_part(&mut self) -> io::Result<RecordedPart> {
        loop {
            // Records that were read together are put in order.
            while let Some(record) = self.scan.next_record() {
                self.add(record);
            }
            if let Some(merged) = self.merge.next_piece() {
                return Ok(part(merged));
            }
            match read(&mut self.reader, <[u8]>::len)? {
                Some(bytes) if !self.scan.is_over() => self.scan.push(&bytes),
                _ => return self.finish(),
            }
        }
    }

    fn add(&mut self, record: Record) {
        let (stream, end) = (record.stream, record.end());
        let Record {
            offset,
            arrival,
            body,
            ..
        } = record;
        let piece = match body {
            Body::Bytes(bytes) if stream == StreamId::LIFECYCLE => {
                return self.lifecycle.extend_from_slice(&bytes);
            }
            Body::Bytes(bytes) => Piece::Bytes { offset, bytes },
            Body::Gap { to, .. } => Piece::Gap { from: offset, to },
        };
        let piece = Arrived { arrival, piece };
        match stream {
            StreamId::TTY | StreamId::STDOUT => {
                // The segment is not the first one of its journal.
                self.add_gap(offset);
                self.merge.push_output(piece);
                self.end = end;
            }
            StreamId::INPUT => self.merge.push_input(piece),
            _ => {}
        }
    }

    /// Adds the output up to an offset as missing, if it is.
    fn add_gap(&mut self, to: u64) {
        let from = self.end;
        if from < to {
            self.merge.push_output(Piece::Gap { from, to }.into());
            self.end = to;
        }
    }

    /// Returns what is missing at the end, and then the end.
    fn finish(&mut self) -> io::Result<RecordedPart> {
        let damage = self.scan.damage()?.map(|kind| {
            let offset = self.scan.valid_bytes();
            format!("the journal {kind} at byte {offset}, and the rest was not read")
        });
        let exit = exit_ends(&self.lifecycle).map(|ends| {
            let end = ends.get(&StreamId::STDOUT);
            end.or_else(|| ends.get(&StreamId::TTY))
                .copied()
                .unwrap_or_default()
        });
        if !std::mem::replace(&mut self.is_over, true) {
            self.add_gap(exit.unwrap_or_default());
        }
        if let Some(merged) = self.merge.rest() {
            return Ok(part(merged));
        }
        let unended = || {
            let end = self.end;
            format!(
                "the journal ends at byte {end} of the output without the agent's exit: it was cut, or is \
                 still being written"
            )
        };
        let damage = damage.or_else(|| exit.is_none().then(unended));
        Ok(RecordedPart::End { damage })
    }
}

fn part(merged: Merged) -> RecordedPart {
    match merged {
        Merged::Output(Arrived { arrival, piece }) => match piece {
            Piece::Bytes { bytes, .. } => RecordedPart::Bytes(bytes, arrival),
            Piece::Gap { from, to } => RecordedPart::Gap { from, to },
        },
        Merged::Input(Arrived { arrival, piece }) => match piece {
            Piece::Bytes { bytes, .. } => RecordedPart::Input(bytes, arrival),
            Piece::Gap { .. } => RecordedPart::InputGap,
        },
    }
}
