//! What was said of modes and colours, for programs that ask.

use super::query::Query;
use super::sequence::{Csi, Osc, Sequence};

/// The private modes whose state is known, and how they are at first.
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

/// Longest colour that is kept, in bytes.
const LONGEST_COLOR: usize = 64;

/// Modes and colours as programs have set them.
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

    /// Whether the mode that is asked for is set, if it is known.
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

    /// The colour that is asked for, if it was set.
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
            // DECSTR.
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

    /// OSC 10 takes the next colours along: `10;text;background`.
    fn osc(&mut self, osc: &Osc<'_>) {
        match osc.number {
            first @ 10..=12 => {
                let slots = self.colors.iter_mut().skip(usize::from(first - 10));
                for (slot, color) in slots.zip(osc.text.split(|byte| *byte == b';')) {
                    if color != b"?" && color.len() <= LONGEST_COLOR {
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
