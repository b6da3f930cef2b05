//! The built-in engine, `shpool-vterm`.

use std::fmt;

use bowline_transport::WindowSize;
use shpool_vterm::{ContentRegion, Size, Term};

use super::VtEngine;
use super::sequence::Csi;
use super::splitter::{OutputToken, SequenceKind, SequenceSplitter};

/// Rows that the engine keeps, including those of the screen. Older output is in the journal; a
/// thousand rows would take 11 MB.
pub(super) const ROWS: usize = 100;

/// Maximal rows and columns.
const MAX_CELLS: u16 = 1_000;

/// `shpool-vterm` as a [`VtEngine`].
pub(super) struct Vterm {
    term: Term,
}

impl Vterm {
    pub(super) fn new(size: WindowSize) -> Self {
        Self::with_rows(size, ROWS)
    }

    /// Creates an engine that keeps this many rows.
    pub(super) fn with_rows(size: WindowSize, rows: usize) -> Self {
        let size = clamp_size(size);
        let term = Term::new(rows.max(size.height), size);
        Self { term }
    }

    /// Returns the rows of the screen.
    pub(super) fn height(&self) -> usize {
        self.term.size().height
    }

    /// Returns bytes that print the rows of the main screen above its newest ones, or those above the
    /// screen if these are more. A row ends in CR and LF unless the next one continues it.
    pub(super) fn rows_above(&self, newest: usize) -> Vec<u8> {
        let newest = newest.max(self.height());
        let all = self.dump(ContentRegion::All);
        let below = self.dump(ContentRegion::BottomLines(newest));
        let rows = rows_start(&all).and_then(|start| {
            let rows = all.strip_suffix(below.get(start..)?)?;
            rows.get(start..)
        });
        rows.unwrap_or_default().to_vec()
    }

    /// Removes the rows that [`rows_above`](Self::rows_above) returns.
    pub(super) fn take_rows(&mut self, keep: usize) -> Vec<u8> {
        let rows = self.rows_above(keep);
        if !rows.is_empty() {
            let kept = self.term.scrollback_lines();
            self.term.set_scrollback_lines(keep.max(self.height()));
            self.term.set_scrollback_lines(kept);
        }
        rows
    }

    /// The engine writes a double underline as SGR 21, which resets bold in some terminals. `4:2`
    /// is understood by all terminals that distinguish underlines.
    fn dump(&self, region: ContentRegion) -> Vec<u8> {
        let contents = self.term.contents(region);
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
}

/// Returns where the rows of the main screen begin in a dump: after the screen is erased and the tab stops
/// are set, which leaves the cursor in the first column of the first row.
fn rows_start(dump: &[u8]) -> Option<usize> {
    let (mut at, mut start) = (0, None);
    let (mut is_tab, mut is_over) = (false, false);
    SequenceSplitter::default().feed(dump, |token| {
        let (OutputToken::Text(bytes)
        | OutputToken::Sequence(_, bytes)
        | OutputToken::Aborted(bytes)) = token
        else {
            return;
        };
        at += bytes.len();
        let is_move = matches!(bytes, [0x1b, b'[', .., b'H']);
        match bytes {
            b"\x1b[J" if start.is_none() => start = Some(at),
            _ if start.is_none() || is_over => {}
            b"\x1bH" | [0x1b, b'[', .., b'g'] => {
                start = Some(at);
                is_tab = bytes != b"\x1b[3g";
            }
            // After the last tab stop.
            _ if is_move && std::mem::take(&mut is_tab) => start = Some(at),
            _ => is_over = !is_move,
        }
    });
    start
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

    fn contents(&self) -> Vec<u8> {
        self.dump(ContentRegion::All)
    }

    fn screen_contents(&self) -> Option<(Vec<u8>, usize, bool)> {
        let contents = self.dump(ContentRegion::Screen);
        let start = rows_start(&contents)?;
        // With rows above it, each row of the screen is printed.
        let is_full = !self.rows_above(0).is_empty();
        Some((contents, start, is_full))
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
