//! The newest lines that this host wrote to the agent, kept for a recording that begins later.

use std::collections::VecDeque;

use bytes::Bytes;

/// A line that was written to the agent's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::session) struct InputLine {
    /// Offset of its first byte in the input.
    pub(in crate::session) offset: u64,
    /// The line.
    pub(in crate::session) line: Bytes,
    /// End of the output when it was written.
    pub(in crate::session) output_end: u64,
    /// When it was written, in milliseconds since the Unix epoch.
    pub(in crate::session) at_ms: u64,
}

/// The newest lines of the input, up to a number of bytes.
#[derive(Clone, Debug, Default)]
pub(in crate::session) struct KeptInput {
    lines: VecDeque<InputLine>,
    bytes: usize,
    limit: usize,
    end: u64,
}

impl KeptInput {
    pub(in crate::session) fn new(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Adds a line, drops the oldest ones over the limit, and returns the line with its offset.
    pub(in crate::session) fn push(
        &mut self,
        line: Bytes,
        output_end: u64,
        at_ms: u64,
    ) -> InputLine {
        let line = InputLine {
            offset: self.end,
            line,
            output_end,
            at_ms,
        };
        self.end += line.line.len() as u64;
        self.bytes += line.line.len();
        self.lines.push_back(line.clone());
        while self.bytes > self.limit
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.line.len();
        }
        line
    }

    /// Returns the lines that are kept.
    pub(in crate::session) fn lines(&self) -> impl Iterator<Item = &InputLine> {
        self.lines.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oldest_lines_are_dropped_and_offsets_continue() {
        let mut kept = KeptInput::new(10);
        for number in 0..5_u64 {
            let line = kept.push(Bytes::from_static(b"four"), number * 100, number);
            assert_eq!(line.offset, number * 4);
        }
        let offsets: Vec<_> = kept.lines().map(|line| line.offset).collect();
        assert_eq!(offsets, [12, 16]);
        // A line over the limit is not kept, and its offset is counted.
        kept.push(Bytes::from(vec![b'x'; 11]), 0, 0);
        assert_eq!(kept.lines().count(), 0);
        assert_eq!(kept.push(Bytes::from_static(b"y"), 0, 0).offset, 31);
    }
}
