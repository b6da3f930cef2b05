//! The parts of a whole control sequence.

use super::splitter::SequenceKind;

/// A whole sequence that may matter to somebody besides the engine.
#[derive(Debug)]
pub(super) enum Sequence<'a> {
    Escape(&'a [u8]),
    Csi(Csi<'a>, &'a [u8]),
    Osc(Osc<'a>, &'a [u8]),
    Dcs(&'a [u8]),
    Other(&'a [u8]),
}

impl<'a> Sequence<'a> {
    pub(super) fn read(kind: SequenceKind, bytes: &'a [u8]) -> Option<Self> {
        match kind {
            SequenceKind::Escape => Some(Self::Escape(bytes)),
            SequenceKind::Csi if is_drawing(bytes) => None,
            SequenceKind::Csi => Csi::read(bytes).map(|csi| Self::Csi(csi, bytes)),
            SequenceKind::Osc => Osc::read(bytes).map(|osc| Self::Osc(osc, bytes)),
            SequenceKind::Dcs => Some(Self::Dcs(bytes)),
            SequenceKind::Other => Some(Self::Other(bytes)),
        }
    }
}

/// Whether a control sequence moves, erases or paints, as nearly all do: nobody asks with it, and it
/// sets nothing that the engine does not know.
pub(super) fn is_drawing(sequence: &[u8]) -> bool {
    match sequence {
        [_, _, b'<'..=b'?', ..] => false,
        [.., last] => matches!(
            last,
            b'@' | b'A'..=b'M' | b'P' | b'X' | b'b' | b'd' | b'm' | b'r'
        ),
        [] => true,
    }
}

/// `CSI`: private marker, parameters, intermediates, final byte.
#[derive(Debug)]
pub(super) struct Csi<'a> {
    /// `?`, `>`, `<` or `=`; 0 without one.
    pub(super) marker: u8,
    /// Everything between the marker and the intermediates.
    params: &'a [u8],
    /// Bytes 0x20 to 0x2f before the final byte.
    pub(super) intermediates: &'a [u8],
    pub(super) last: u8,
}

impl<'a> Csi<'a> {
    /// Reads a whole sequence. One with controls inside is as good as broken for everyone but the
    /// engine: nobody writes such.
    pub(super) fn read(sequence: &'a [u8]) -> Option<Self> {
        let body = sequence.strip_prefix(b"\x1b[")?;
        let (&last, body) = body.split_last()?;
        let (marker, body) = match body.split_first() {
            Some((&marker @ b'<'..=b'?', rest)) => (marker, rest),
            _ => (0, body),
        };
        let is_param = |byte: &u8| matches!(byte, b'0'..=b';');
        let end = body
            .iter()
            .position(|byte| !is_param(byte))
            .unwrap_or(body.len());
        let (params, intermediates) = body.split_at(end);
        let is_clean = intermediates.iter().all(|byte| matches!(byte, 0x20..=0x2f));
        is_clean.then_some(Self {
            marker,
            params,
            intermediates,
            last,
        })
    }

    /// The parameters; `None` for one that is empty. Of sub-parameters the first counts.
    pub(super) fn params(&self) -> impl Iterator<Item = Option<u16>> {
        self.params.split(|byte| *byte == b';').map(|param| {
            let digits = param.split(|byte| *byte == b':').next().unwrap_or_default();
            number(digits)
        })
    }

    /// The parameter at a place, or what stands for one that is missing or 0.
    pub(super) fn param(&self, at: usize, default: u16) -> u16 {
        let param = self.params().nth(at).flatten();
        param.filter(|param| *param != 0).unwrap_or(default)
    }

    /// Marker, intermediates and final byte: which command it is.
    pub(super) fn command(&self) -> (u8, &'a [u8], u8) {
        (self.marker, self.intermediates, self.last)
    }
}

/// A decimal number, at most `u16::MAX`; `None` of nothing.
fn number(digits: &[u8]) -> Option<u16> {
    let mut value = None;
    for digit in digits {
        let so_far = value.unwrap_or(0_u16).saturating_mul(10);
        value = Some(so_far.saturating_add(u16::from(digit.wrapping_sub(b'0').min(9))));
    }
    value
}

/// `OSC`: the number, and what follows it.
#[derive(Debug)]
pub(super) struct Osc<'a> {
    pub(super) number: u16,
    /// Behind the first semicolon; empty without one.
    pub(super) text: &'a [u8],
    /// How it ended, for an answer that is to end alike.
    pub(super) end: &'static str,
}

impl<'a> Osc<'a> {
    pub(super) fn read(sequence: &'a [u8]) -> Option<Self> {
        let body = sequence.strip_prefix(b"\x1b]")?;
        let (body, end) = match body {
            [body @ .., 0x1b, b'\\'] => (body, "\x1b\\"),
            [body @ .., 0x07] => (body, "\x07"),
            [body @ .., 0x18 | 0x1a] => (body, "\x1b\\"),
            _ => (body, "\x1b\\"),
        };
        let digits = body
            .iter()
            .position(|byte| *byte == b';')
            .unwrap_or(body.len());
        let (head, text) = body.split_at(digits);
        let is_number = head.iter().all(u8::is_ascii_digit);
        let number = number(head).filter(|_| is_number)?;
        let text = text.get(1..).unwrap_or_default();
        Some(Self { number, text, end })
    }
}
