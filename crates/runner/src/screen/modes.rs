//! Modes and colours as set by the program, for replies to queries.

use super::query::Query;
use super::sequence::{Csi, Osc, Sequence};

/// Private modes (DEC, xterm ctlseqs) whose state is tracked, with their initial state.
const KNOWN: [(u16, bool); 23] = [
    (1, false),
    (5, false),
    (6, false),
    (7, true),
    (12, false),
    (25, true),
    (45, false),
    (47, false),
    (69, false),
    (1000, false),
    (1002, false),
    (1003, false),
    (1004, false),
    (1005, false),
    (1006, false),
    (1015, false),
    (1016, false),
    (1047, false),
    (1049, false),
    (2004, false),
    (2026, false),
    (2031, false),
    (2048, false),
];

/// Maximal bytes of a colour specification.
const MAX_COLOR_BYTES: usize = 64;

/// State of modes and colours.
#[derive(Clone, Debug)]
pub(super) struct Modes {
    private: [bool; KNOWN.len()],
    insert: bool,
    newline: bool,
    /// Of text, background and cursor (OSC 10 to 12).
    colors: [Option<Vec<u8>>; 3],
}

impl Default for Modes {
    fn default() -> Self {
        Self {
            private: KNOWN.map(|(_, on)| on),
            insert: false,
            newline: false,
            colors: Default::default(),
        }
    }
}

impl Modes {
    pub(super) fn take(&mut self, sequence: &Sequence<'_>) {
        match sequence {
            Sequence::Csi(csi, _) => self.csi(csi),
            Sequence::Osc(osc, _) => self.osc(osc),
            Sequence::Escape(b"\x1bc") => *self = Self::default(),
            _ => {}
        }
    }

    /// Returns whether the queried mode is set; `None` if it is not tracked.
    pub(super) fn mode(&self, query: Query<'_>) -> Option<bool> {
        let Query::Mode { is_private, mode } = query else {
            return None;
        };
        match (is_private, mode) {
            (false, 4) => Some(self.insert),
            (false, 20) => Some(self.newline),
            (false, _) => None,
            (true, _) => place(mode).map(|at| self.private[at]),
        }
    }

    /// Returns the queried colour, if it was set.
    pub(super) fn color(&self, query: Query<'_>) -> Option<&[u8]> {
        let Query::Color { number, .. } = query else {
            return None;
        };
        let slot = self.colors.get(usize::from(number.checked_sub(10)?))?;
        slot.as_deref()
    }

    fn csi(&mut self, csi: &Csi<'_>) {
        let (marker, intermediates, last) = csi.command();
        match (marker, intermediates, last) {
            (b'?', b"", b'h' | b'l') => {
                let places = csi.params().flatten().filter_map(place);
                let places: Vec<_> = places.collect();
                for at in places {
                    self.private[at] = last == b'h';
                }
            }
            (0, b"", b'h' | b'l') => {
                self.insert = if csi.params().any(|it| it == Some(4)) {
                    last == b'h'
                } else {
                    self.insert
                };
                self.newline = if csi.params().any(|it| it == Some(20)) {
                    last == b'h'
                } else {
                    self.newline
                };
            }
            // DECSTR: soft reset.
            (0, b"!", b'p') => {
                let colors = std::mem::take(&mut self.colors);
                let kept = self.private;
                *self = Self {
                    colors,
                    ..Self::default()
                };
                for (at, (mode, _)) in KNOWN.iter().enumerate() {
                    if !matches!(mode, 1 | 6 | 7 | 25 | 69) {
                        self.private[at] = kept[at];
                    }
                }
            }
            _ => {}
        }
    }

    /// OSC 10 sets the following colours as well: `10;text;background`.
    fn osc(&mut self, osc: &Osc<'_>) {
        match osc.number {
            first @ 10..=12 => {
                let slots = self.colors.iter_mut().skip(usize::from(first - 10));
                for (slot, color) in slots.zip(osc.text.split(|byte| *byte == b';')) {
                    if color != b"?" && color.len() <= MAX_COLOR_BYTES {
                        *slot = Some(color.to_vec());
                    }
                }
            }
            reset @ 110..=112 => self.colors[usize::from(reset - 110)] = None,
            _ => {}
        }
    }
}

fn place(mode: u16) -> Option<usize> {
    KNOWN.iter().position(|(known, _)| *known == mode)
}
