//! The agent's standard error: its beginning and end, and its lines.

use std::collections::VecDeque;

/// Longest line of standard error in an event, in bytes; longer ones are cut.
const MAX_STDERR_LINE: usize = 8 << 10;

/// Keeps the beginning and the end of a byte stream within a fixed size.
#[derive(Clone, Debug)]
pub(crate) struct HeadTail {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Capacity of each half in bytes.
    half: usize,
    written: u64,
}

/// The agent's standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StderrReport {
    /// The text, with a line for the number of dropped bytes.
    pub text: String,
    /// Number of bytes that the agent wrote.
    pub written: u64,
    /// Number of bytes that were dropped.
    pub dropped: u64,
}

impl HeadTail {
    pub(crate) const fn new(bytes: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: bytes / 2,
            written: 0,
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        let room = (self.half - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        let kept = rest
            .get(rest.len().saturating_sub(self.half)..)
            .unwrap_or_default();
        let surplus = (self.tail.len() + kept.len()).saturating_sub(self.half);
        self.tail.drain(..surplus);
        self.tail.extend(kept);
    }

    /// Counts bytes that were lost before they were read.
    pub(crate) const fn skip(&mut self, bytes: u64) {
        self.written += bytes;
    }

    pub(crate) fn report(&self) -> StderrReport {
        let dropped = self.written - (self.head.len() + self.tail.len()) as u64;
        let mut text = String::from_utf8_lossy(&self.head).into_owned();
        if dropped > 0 {
            text.push_str(&format!("\n[{dropped} bytes not kept]\n"));
        }
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        text.push_str(&String::from_utf8_lossy(&tail));
        StderrReport {
            text,
            written: self.written,
            dropped,
        }
    }
}

/// Splits standard error into lines of bounded length.
#[derive(Debug, Default)]
pub(crate) struct StderrLines {
    partial: Vec<u8>,
}

impl StderrLines {
    pub(crate) fn push(&mut self, bytes: &[u8], mut on_line: impl FnMut(String)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = MAX_STDERR_LINE.saturating_sub(self.partial.len());
            self.partial
                .extend_from_slice(piece.get(..room).unwrap_or(piece));
            if piece.ends_with(b"\n") {
                self.finish(&mut on_line);
            }
        }
    }

    pub(crate) fn finish(&mut self, on_line: &mut impl FnMut(String)) {
        if !self.partial.is_empty() {
            let line = String::from_utf8_lossy(&self.partial);
            on_line(line.trim_end_matches(['\n', '\r']).to_owned());
            self.partial.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_output_is_complete() {
        let mut kept = HeadTail::new(8);
        kept.write(b"abc");
        kept.write(b"defgh");
        assert_eq!(
            kept.report(),
            StderrReport {
                text: "abcdefgh".into(),
                written: 8,
                dropped: 0
            }
        );
    }

    #[test]
    fn long_output_keeps_beginning_and_end() {
        for size in 1..20 {
            let mut kept = HeadTail::new(8);
            for chunk in b"0123456789abcdefghij".chunks(size) {
                kept.write(chunk);
            }
            let report = kept.report();
            assert_eq!(
                report.text, "0123\n[12 bytes not kept]\nghij",
                "chunks of {size}"
            );
            assert_eq!((report.written, report.dropped), (20, 12));
        }
    }

    #[test]
    fn lost_bytes_are_counted() {
        let mut kept = HeadTail::new(8);
        kept.skip(5);
        kept.write(b"ab");
        assert_eq!((kept.report().written, kept.report().dropped), (7, 5));
    }
}
