//! The built-in engine, `shpool-vterm`.

use std::fmt;

use bowline_transport::WindowSize;
use shpool_vterm::{ContentRegion, Size, Term};

use super::VtEngine;
use super::sequence::Csi;
use super::splitter::{OutputToken, SequenceKind, SequenceSplitter};

/// Lines that the engine keeps, including those of the screen. Older output is in the journal; a
/// thousand lines would take 11 MB.
const LINES: usize = 100;

/// Maximal rows and columns.
const MAX_CELLS: u16 = 1_000;

/// `shpool-vterm` as a [`VtEngine`].
pub(super) struct Vterm {
    term: Term,
}

impl Vterm {
    pub(super) fn new(size: WindowSize) -> Self {
        let size = clamp_size(size);
        let term = Term::new(LINES.max(size.height), size);
        Self { term }
    }
}

/// Appends an SGR sequence with `4:2` in place of each 21 that is not part of a colour.
fn rewrite_double_underline(sequence: &[u8], out: &mut Vec<u8>) {
    let (mut of_color, mut is_kind) = (0, false);
    for (at, part) in sequence[2..sequence.len() - 1]
        .split(|byte| *byte == b';')
        .enumerate()
    {
        out.extend(if at == 0 { b"\x1b[".as_slice() } else { b";" });
        let is_own = of_color == 0 && !is_kind;
        out.extend(if is_own && part == b"21" {
            b"4:2"
        } else {
            part
        });
        of_color = match part {
            b"5" if is_kind => 1,
            b"2" if is_kind => 3,
            _ => usize::saturating_sub(of_color, 1),
        };
        is_kind = is_own && matches!(part, b"38" | b"48" | b"58");
    }
    out.push(b'm');
}

fn clamp_size(size: WindowSize) -> Size {
    Size {
        width: usize::from(size.cols.clamp(1, MAX_CELLS)),
        height: usize::from(size.rows.clamp(1, MAX_CELLS)),
    }
}

impl fmt::Debug for Vterm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vterm").finish_non_exhaustive()
    }
}

impl VtEngine for Vterm {
    fn feed(&mut self, bytes: &[u8]) {
        self.term.process(bytes);
    }

    fn resize(&mut self, size: WindowSize) {
        self.term.resize(clamp_size(size));
    }

    /// The engine writes a double underline as SGR 21, which resets bold in some terminals. `4:2`
    /// is understood by all terminals that distinguish underlines.
    fn contents(&self) -> Vec<u8> {
        let contents = self.term.contents(ContentRegion::All);
        let mut out = Vec::with_capacity(contents.len());
        SequenceSplitter::default().feed(&contents, |token| match token {
            OutputToken::Sequence(SequenceKind::Csi, bytes @ [.., b'm']) => {
                rewrite_double_underline(bytes, &mut out)
            }
            OutputToken::Text(bytes)
            | OutputToken::Sequence(_, bytes)
            | OutputToken::Aborted(bytes) => out.extend(bytes),
            OutputToken::Skipped => {}
        });
        out
    }

    /// The engine does not report the cursor, but its dump ends by positioning it. Text after that
    /// marks a pending wrap.
    fn cursor(&self) -> (u16, u16) {
        let (mut cursor, mut is_pending) = ((1, 1), false);
        SequenceSplitter::default().feed(&self.term.contents(ContentRegion::Screen), |token| {
            match token {
                OutputToken::Sequence(SequenceKind::Csi, sequence) => {
                    if let Some(csi) =
                        Csi::read(sequence).filter(|csi| csi.command() == (0, b"", b'H'))
                    {
                        cursor = (csi.param(0, 1), csi.param(1, 1));
                        is_pending = false;
                    }
                }
                OutputToken::Text(_) => is_pending = true,
                _ => {}
            }
        });
        if is_pending {
            cursor.1 = u16::try_from(self.term.size().width).unwrap_or(u16::MAX);
        }
        cursor
    }
}
