//! The lines of standard error that wait for their place.

use std::collections::VecDeque;
use std::ops::Range;

use bowline_transport::Piece;
use bowline_transport::journal::Arrived;

/// Maximum length of a line's beginning, in bytes.
const MAX_ABOUT: usize = 80;

/// A line of standard error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StderrLine {
    pub(super) range: Range<u64>,
    /// From 1.
    pub(super) number: u32,
    /// 0 if unknown.
    pub(super) at_ms: u64,
    /// Its beginning.
    pub(super) about: String,
}

/// Cuts standard error into lines.
#[derive(Debug, Default)]
pub(crate) struct StderrLines {
    /// Offset of the next byte.
    pub(crate) next: u64,
    line_start: u64,
    beginning: Vec<u8>,
    lines: u32,
    waiting: VecDeque<StderrLine>,
}

impl StderrLines {
    pub(super) fn push(&mut self, piece: &Arrived) {
        let at_ms = piece.arrival.at_ms.unwrap_or(0);
        let Piece::Bytes { offset, bytes } = &piece.piece else {
            self.next = piece.end();
            self.line_start = self.next;
            self.beginning.clear();
            return;
        };
        let mut end = *offset;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            end += part.len() as u64;
            let text = part.strip_suffix(b"\n").unwrap_or(part);
            let room = MAX_ABOUT.saturating_sub(self.beginning.len());
            self.beginning.extend(text.iter().take(room));
            if part.ends_with(b"\n") {
                self.lines += 1;
                self.waiting.push_back(StderrLine {
                    range: self.line_start..end,
                    number: self.lines,
                    at_ms,
                    about: String::from_utf8_lossy(&self.beginning).into_owned(),
                });
                self.line_start = end;
                self.beginning.clear();
            }
        }
        self.next = end;
    }

    /// Takes the next line that arrived up to a time.
    pub(super) fn next_until(&mut self, at_ms: u64) -> Option<StderrLine> {
        self.waiting.front().filter(|line| line.at_ms <= at_ms)?;
        self.waiting.pop_front()
    }
}
