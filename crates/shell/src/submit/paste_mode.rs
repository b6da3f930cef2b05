//! Tracks whether the program has enabled bracketed paste.

use crate::line_buffer::{Scanner, Token};

/// The private mode of bracketed paste (xterm's control sequences, DECSET 2004).
const BRACKETED_PASTE: &[u8] = b"2004";

/// Tracks `ESC [?2004h` and `ESC [?2004l` in a program's output, over any chunks.
#[derive(Clone, Debug, Default)]
pub(crate) struct PasteMode {
    scanner: Scanner,
    is_on: bool,
}

impl PasteMode {
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        // Fast path: only ESC and the first byte of a C1 control start a sequence.
        if self.scanner.is_ground() && !bytes.iter().any(|byte| matches!(byte, 0x1b | 0xc2..)) {
            return;
        }
        let is_on = &mut self.is_on;
        self.scanner.push(bytes, |token| match token {
            Token::Csi { body, last } if names_paste(body) => match last {
                b'h' => *is_on = true,
                b'l' => *is_on = false,
                _ => {}
            },
            Token::Reset => *is_on = false,
            _ => {}
        });
    }

    /// Records missing bytes: an incomplete sequence is dropped, the mode is kept.
    pub(crate) fn gap(&mut self) {
        self.scanner.finish(|_| ());
    }
}

fn names_paste(body: &[u8]) -> bool {
    body.strip_prefix(b"?").is_some_and(|modes| {
        modes
            .split(|byte| *byte == b';')
            .any(|mode| mode == BRACKETED_PASTE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_is_tracked_over_any_split() {
        for (output, is_on) in [
            ("x\x1b[?2004hy", true),
            ("\x1b[?25;2004h", true),
            ("\x1b[?2004h...\x1b[?2004l", false),
            ("\x1b[?2004h\x1bc", false),
            ("\x1b[2004h", false),
            ("\x1b]0;\x1b[?20040h\x07", false),
            ("\u{9b}?2004h", true),
            ("\x1b[?2004h\x1b[?2004$p", true),
        ] {
            for cut in 0..=output.len() {
                let mut mode = PasteMode::default();
                let (before, after) = output.as_bytes().split_at(cut);
                mode.push(before);
                mode.push(after);
                assert_eq!(mode.is_on(), is_on, "{output:?} cut at {cut}");
            }
        }
    }
}
