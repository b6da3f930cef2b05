//! Puts the output and the input of a session in one order.

use std::collections::VecDeque;

use super::Arrival;
use bowline_process::Piece;

/// A piece of a stream, and when and where it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// When and where it arrived.
    pub arrival: Arrival,
    /// The piece.
    pub piece: Piece,
}

impl Arrived {
    /// Returns the offset past the last byte, present or missing.
    #[must_use]
    pub fn end(&self) -> u64 {
        match &self.piece {
            Piece::Bytes { offset, bytes } => offset.saturating_add(bytes.len() as u64),
            Piece::Gap { to, .. } => *to,
        }
    }

    /// Takes the bytes before an offset off the front; all of them if the offset is not within them. A gap
    /// is not divided.
    fn split_to(&mut self, end: u64) -> Option<Self> {
        let Piece::Bytes { offset, bytes } = &mut self.piece else {
            return None;
        };
        let length = usize::try_from(end.checked_sub(*offset)?).ok()?;
        if length == 0 || length >= bytes.len() {
            return None;
        }
        let front = Piece::Bytes {
            offset: std::mem::replace(offset, end),
            bytes: bytes.split_to(length),
        };
        Some(Self {
            arrival: self.arrival,
            piece: front,
        })
    }
}

/// A piece whose arrival is unknown.
impl From<Piece> for Arrived {
    fn from(piece: Piece) -> Self {
        let arrival = Arrival::default();
        Self { arrival, piece }
    }
}

/// A piece of a session's output or input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merged {
    /// What the agent wrote.
    Output(Arrived),
    /// What was written to the agent.
    Input(Arrived),
}

/// Puts the output and the input of a session in one order, which is that of a recording as well as of a
/// running session: input comes where the output ended when it was taken, before the output that follows.
///
/// Pure: the pieces of each stream are pushed in order, and taken with [`next_piece`](Self::next_piece).
/// Input is to be pushed before the output that follows it; input that is pushed later is returned next.
///
/// # Example
///
/// ```
/// use bowline_journal::{Arrival, Arrived, Merge, Merged};
/// use bowline_process::Piece;
///
/// let bytes = |offset, text: &'static str| Piece::Bytes { offset, bytes: text.into() };
/// let mut merge = Merge::default();
/// merge.push_input(Arrived { arrival: Arrival::at(7).beside(4), piece: bytes(0, "question\n") });
/// merge.push_output(bytes(0, "one\nanswer\n").into());
/// let mut order = Vec::new();
/// while let Some(piece) = merge.next_piece() {
///     order.push(matches!(piece, Merged::Input(_)));
/// }
/// assert_eq!(order, [false, true, false], "`one`, the question, the answer");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Merge {
    /// Offset past the last byte of output that was returned.
    end: u64,
    output: VecDeque<Arrived>,
    input: VecDeque<Arrived>,
}

impl Merge {
    /// Begins at an offset of the output.
    #[must_use]
    pub fn at(end: u64) -> Self {
        Self {
            end,
            ..Self::default()
        }
    }

    /// Adds output.
    pub fn push_output(&mut self, piece: Arrived) {
        self.output.push_back(piece);
    }

    /// Adds input.
    pub fn push_input(&mut self, piece: Arrived) {
        self.input.push_back(piece);
    }

    /// Returns whether no output is left to be returned.
    #[must_use]
    pub fn needs_output(&self) -> bool {
        self.output.is_empty()
    }

    /// Returns whether no input is left to be returned.
    #[must_use]
    pub fn needs_input(&self) -> bool {
        self.input.is_empty()
    }

    /// Returns the offset in the output of what comes next.
    #[must_use]
    pub fn output_end(&self) -> u64 {
        self.end
    }

    /// Returns the next piece. `None` if the order of what is there depends on output that is not.
    pub fn next_piece(&mut self) -> Option<Merged> {
        let place = self.input.front().map(|it| it.arrival.output.unwrap_or(0));
        if place.is_some_and(|place| place <= self.end) {
            return self.input.pop_front().map(Merged::Input);
        }
        let front = self.output.front_mut()?;
        let part = place.and_then(|place| front.split_to(place));
        let piece = part.or_else(|| self.output.pop_front())?;
        self.end = piece.end();
        Some(Merged::Output(piece))
    }

    /// Returns the next input at the end of the output, wherever it was taken.
    pub fn rest(&mut self) -> Option<Merged> {
        self.next_piece()
            .or_else(|| self.input.pop_front().map(Merged::Input))
    }
}

/// Length of a line of input, in bytes, past which it is left out: the longest line that a host parses by
/// default.
const MAX_LINE: usize = 64 << 20;

/// Cuts input into lines.
#[derive(Clone, Debug, Default)]
pub struct InputLines {
    /// The beginning of a line that is not complete.
    partial: Vec<u8>,
    /// Whether the rest of the line is left out.
    is_skipping: bool,
}

impl InputLines {
    /// Calls `on_line` for each line that `bytes` complete, without its end. A line that is longer than 64 MiB
    /// or not UTF-8 is left out.
    pub fn push(&mut self, bytes: &[u8], mut on_line: impl FnMut(&str)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(end) = part.strip_suffix(b"\n") else {
                self.extend(part);
                continue;
            };
            let line = if self.partial.is_empty() {
                end
            } else {
                self.extend(end);
                &self.partial
            };
            if !self.is_skipping
                && let Ok(line) = str::from_utf8(line)
            {
                on_line(line);
            }
            self.skip();
        }
    }

    /// Forgets a line that is not complete, as its rest is missing.
    pub fn skip(&mut self) {
        self.partial = Vec::new();
        self.is_skipping = false;
    }

    fn extend(&mut self, part: &[u8]) {
        self.is_skipping |= self.partial.len() + part.len() > MAX_LINE;
        if self.is_skipping {
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(part);
        }
    }
}
