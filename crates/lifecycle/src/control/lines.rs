//! Cuts a control stream into lines.

use bowline_transport::Piece;

use super::line::ControlLine;

/// Cuts a control stream into lines.
#[derive(Debug, Default)]
pub struct ControlLines {
    next: u64,
    partial: Vec<u8>,
}

/// A part of a control stream that cannot be read. What its hosts wanted there is not done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the control stream is damaged at offset {offset}: {reason}")]
pub struct DamagedLine {
    /// Offset of the line, or of the first missing byte.
    pub offset: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl ControlLines {
    /// Returns the offset of the next byte.
    #[must_use]
    pub const fn next_offset(&self) -> u64 {
        self.next
    }

    /// Takes the next piece and returns the lines that it completes.
    pub fn push(&mut self, piece: &Piece) -> Vec<Result<ControlLine, DamagedLine>> {
        let bytes = match piece {
            Piece::Bytes { offset, bytes } => {
                self.next = *offset;
                bytes
            }
            &Piece::Gap { from, to } => {
                let offset = from - self.partial.len() as u64;
                self.partial.clear();
                self.next = to;
                let reason = format!("bytes {from} to {to} are lost");
                return vec![Err(DamagedLine { offset, reason })];
            }
        };
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.partial.extend_from_slice(part);
            self.next += part.len() as u64;
            if part.ends_with(b"\n") {
                lines.push(self.line());
            }
        }
        lines
    }

    /// Takes the line that is complete.
    fn line(&mut self) -> Result<ControlLine, DamagedLine> {
        let line = std::mem::take(&mut self.partial);
        ControlLine::parse(&line).map_err(|error| DamagedLine {
            offset: self.next - line.len() as u64,
            reason: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::control::ControlEntry;
    use crate::intent::Intent;

    fn end(id: &str) -> String {
        let line = ControlLine {
            id: id.to_owned(),
            client: None,
            entry: ControlEntry::Intent(Intent::End),
        };
        format!("{}\n", line.encode().unwrap())
    }

    fn ids(lines: Vec<Result<ControlLine, DamagedLine>>) -> Vec<Result<String, u64>> {
        let id = |it: Result<ControlLine, DamagedLine>| it.map(|it| it.id).map_err(|it| it.offset);
        lines.into_iter().map(id).collect()
    }

    #[test]
    fn damaged_line_is_skipped() {
        let text = format!("{}{{\"id\":\n{}", end("a"), end("b"));
        let from = end("a").len() as u64;
        let expected = [Ok("a".to_owned()), Err(from), Ok("b".to_owned())];
        for cut in 0..=text.len() {
            let mut control = ControlLines::default();
            let mut lines = Vec::new();
            let (before, after) = text.as_bytes().split_at(cut);
            for (offset, part) in [(0, before), (cut, after)] {
                let piece = Piece::Bytes {
                    offset: offset as u64,
                    bytes: Bytes::copy_from_slice(part),
                };
                lines.extend(control.push(&piece));
            }
            assert_eq!(ids(lines), expected, "cut at {cut}");
            assert_eq!(control.next_offset(), text.len() as u64);
        }
    }

    #[test]
    fn lost_line_is_reported_with_its_offset() {
        let mut control = ControlLines::default();
        let bytes = |offset, text: String| Piece::Bytes {
            offset,
            bytes: text.into(),
        };
        let mut lines = control.push(&bytes(0, format!("{}{{\"id", end("a"))));
        let from = end("a").len() as u64;
        lines.extend(control.push(&Piece::Gap {
            from: from + 4,
            to: from + 30,
        }));
        lines.extend(control.push(&bytes(from + 30, end("b"))));
        let expected = [Ok("a".to_owned()), Err(from), Ok("b".to_owned())];
        assert_eq!(ids(lines), expected);
    }
}
