//! Prints lines into the scrollback of a terminal.

use unicode_width::UnicodeWidthChar as _;

use super::super::sequence::Csi;
use super::super::splitter::{OutputToken, SequenceKind, SequenceSplitter};
use super::ScrollbackLines;
use crate::session_machine::ScreenSnapshot;

/// A snapshot without the rows above the screen.
#[derive(Clone, Debug)]
pub(crate) struct BareSnapshot {
    pub(crate) snapshot: ScreenSnapshot,
    /// Where the rows of the main screen begin in its bytes, on an empty screen.
    pub(crate) start: usize,
    /// Whether each row of the screen is printed, so that it moves up what was printed before.
    pub(crate) is_full: bool,
}

impl BareSnapshot {
    /// Returns the snapshot with lines above the screen.
    pub(crate) fn with_lines(&self, lines: &ScrollbackLines) -> ScreenSnapshot {
        let (before, after) = self.snapshot.bytes.split_at(self.start);
        let mut bytes = before.to_vec();
        let is_empty = lines.iter().len() == 0;
        if !is_empty && !self.write_lines(lines, &mut bytes) && !self.is_full {
            // Moves the lines above the screen.
            let rows = usize::from(self.snapshot.size.rows.max(1));
            bytes.extend(std::iter::repeat_n(b'\n', rows - 1));
            bytes.extend(b"\x1b[H");
        }
        bytes.extend(after);
        ScreenSnapshot {
            bytes: bytes.into(),
            ..self.snapshot.clone()
        }
    }

    /// Prints lines. Returns whether the last one continues on the screen.
    fn write_lines(&self, lines: &ScrollbackLines, out: &mut Vec<u8>) -> bool {
        let mut printer = Printer {
            cols: usize::from(self.snapshot.size.cols.max(1)),
            col: 0,
            background: None,
            out,
        };
        let mut rest = lines.iter();
        while let Some(line) = rest.next() {
            printer.line(line);
            let continues = rest.len() == 0 && lines.is_open() && self.is_full;
            if continues && printer.col >= printer.cols {
                // Wraps before the first row of the screen is printed.
                printer.out.extend(b" \r");
                return true;
            }
            printer.out.extend(b"\r\n");
        }
        false
    }
}

struct Printer<'a> {
    cols: usize,
    col: usize,
    /// The parameters of the SGR sequence that sets the present background.
    background: Option<Vec<u8>>,
    out: &'a mut Vec<u8>,
}

impl Printer<'_> {
    fn line(&mut self, line: &[u8]) {
        (self.col, self.background) = (0, None);
        let mut splitter = SequenceSplitter::default();
        splitter.feed(line, |token| match token {
            OutputToken::Text(text) => self.text(text),
            OutputToken::Sequence(kind, bytes) => {
                if kind == SequenceKind::Csi
                    && let Some(csi) = Csi::read(bytes).filter(|csi| csi.final_byte == b'm')
                {
                    self.set_background(&csi);
                }
                self.out.extend(bytes);
            }
            OutputToken::Aborted(_) | OutputToken::Skipped => {}
        });
    }

    fn text(&mut self, text: &[u8]) {
        if self.background.is_none() && text.is_ascii() {
            self.out.extend(text);
            let last = (self.col + text.len()).saturating_sub(1);
            self.col = if text.is_empty() {
                self.col
            } else {
                last % self.cols + 1
            };
            return;
        }
        for c in String::from_utf8_lossy(text).chars() {
            let width = c.width().unwrap_or(0);
            if width > 0 && self.col + width > self.cols {
                self.wrap();
            }
            self.col += width;
            self.out.extend(c.encode_utf8(&mut [0; 4]).bytes());
        }
    }

    /// Begins the next row. A terminal that scrolls for it fills it with the background, so a blank without
    /// one is printed first.
    fn wrap(&mut self) {
        if let Some(background) = &self.background {
            self.out.extend(b"\x1b[49m \r\x1b[");
            self.out.extend(background);
            self.out.push(b'm');
        }
        self.col = 0;
    }

    fn set_background(&mut self, csi: &Csi<'_>) {
        let mut params = csi.raw_params();
        while let Some(param) = params.next() {
            match param {
                b"" | b"0" | b"49" => self.background = None,
                [b'4', b'0'..=b'7'] | [b'1', b'0', b'0'..=b'7'] => {
                    self.background = Some(param.to_vec());
                }
                b"38" | b"48" | b"58" => {
                    let mut color = vec![param];
                    color.extend(params.next());
                    let rest = if color.last() == Some(&b"5".as_slice()) {
                        1
                    } else {
                        3
                    };
                    color.extend(params.by_ref().take(rest));
                    if param == b"48" {
                        self.background = Some(color.join(&b';'));
                    }
                }
                [b'4', b'8', b':', ..] => self.background = Some(param.to_vec()),
                _ => {}
            }
        }
    }
}
