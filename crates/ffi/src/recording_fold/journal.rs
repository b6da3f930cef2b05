//! Reads a recorded journal: one segment in one file.

use std::io;

use bytes::Bytes;

use super::part::{Reader, RecordedPart, read};
use crate::core::journal::{Body, Record, Scan};
use crate::core::{StreamId, exit_ends};

/// An open journal. A journaled dialogue has its output on the terminal or on standard output, never on
/// both.
pub(super) struct Journal {
    reader: Reader,
    scan: Scan,
    /// Offset past the last byte of output that was returned.
    end: u64,
    /// Output that follows a gap which was returned first.
    next: Option<Bytes>,
    /// The lines of the lifecycle stream.
    lifecycle: Vec<u8>,
}

impl Journal {
    pub(super) fn new(reader: Reader) -> Self {
        Self {
            reader,
            scan: Scan::default(),
            end: 0,
            next: None,
            lifecycle: Vec::new(),
        }
    }

    pub(super) fn next_part(&mut self) -> io::Result<RecordedPart> {
        if let Some(bytes) = self.next.take() {
            return Ok(self.output(bytes));
        }
        loop {
            let Some(record) = self.scan.next_record() else {
                match read(&mut self.reader, <[u8]>::len)? {
                    Some(bytes) if !self.scan.is_over() => self.scan.push(&bytes),
                    _ => return self.finish(),
                }
                continue;
            };
            if let Some(part) = self.part(record) {
                return Ok(part);
            }
        }
    }

    fn part(&mut self, record: Record) -> Option<RecordedPart> {
        match (record.stream, record.body) {
            (StreamId::TTY | StreamId::STDOUT, Body::Bytes(bytes)) if record.offset > self.end => {
                // The segment is not the first one of its journal.
                self.next = Some(bytes);
                Some(self.gap(record.offset))
            }
            (StreamId::TTY | StreamId::STDOUT, Body::Bytes(bytes)) => Some(self.output(bytes)),
            (StreamId::TTY | StreamId::STDOUT, Body::Gap { to, .. }) => Some(self.gap(to)),
            (StreamId::LIFECYCLE, Body::Bytes(bytes)) => {
                self.lifecycle.extend_from_slice(&bytes);
                None
            }
            _ => None,
        }
    }

    fn output(&mut self, bytes: Bytes) -> RecordedPart {
        self.end += bytes.len() as u64;
        RecordedPart::Bytes(bytes)
    }

    fn gap(&mut self, to: u64) -> RecordedPart {
        let from = std::mem::replace(&mut self.end, to);
        RecordedPart::Gap { from, to }
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
        if let Some(to) = exit.filter(|to| *to > self.end) {
            return Ok(self.gap(to));
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
