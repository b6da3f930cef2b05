//! Parsing of complete control sequences (ECMA-48 5.4, xterm ctlseqs).

use super::splitter::SequenceKind;

/// A complete sequence with its parameters.
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

/// Returns whether a control sequence only moves, erases or draws, as most do: it is no query, and
/// changes no state outside of the engine.
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

/// A control sequence: `CSI`, private marker, parameters, intermediate bytes, final byte.
#[derive(Debug)]
pub(super) struct Csi<'a> {
    /// `?`, `>`, `<` or `=`; 0 without one.
    pub(super) marker: u8,
    /// The bytes between the marker and the intermediate bytes.
    params: &'a [u8],
    /// Intermediate bytes, 0x20 to 0x2f.
    pub(super) intermediates: &'a [u8],
    pub(super) final_byte: u8,
}

impl<'a> Csi<'a> {
    /// Parses a complete sequence; `None` if it has C0 controls inside, which no program writes.
    pub(super) fn read(sequence: &'a [u8]) -> Option<Self> {
        let body = sequence.strip_prefix(b"\x1b[")?;
        let (&final_byte, body) = body.split_last()?;
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
            final_byte,
        })
    }

    /// Returns the parameters as they are written, with their sub-parameters.
    pub(super) fn raw_params(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.params.split(|byte| *byte == b';')
    }

    /// Returns the parameters, `None` for an empty one. Of sub-parameters only the first is
    /// returned.
    pub(super) fn params(&self) -> impl Iterator<Item = Option<u16>> {
        self.params.split(|byte| *byte == b';').map(|param| {
            let digits = param.split(|byte| *byte == b':').next().unwrap_or_default();
            number(digits)
        })
    }

    /// Returns a parameter, or `default` if it is missing or 0.
    pub(super) fn param(&self, at: usize, default: u16) -> u16 {
        let param = self.params().nth(at).flatten();
        param.filter(|param| *param != 0).unwrap_or(default)
    }

    /// Returns the marker, the intermediate bytes and the final byte, which identify the command.
    pub(super) fn command(&self) -> (u8, &'a [u8], u8) {
        (self.marker, self.intermediates, self.final_byte)
    }
}

/// Parses a decimal number, saturating at `u16::MAX`; `None` if empty.
fn number(digits: &[u8]) -> Option<u16> {
    let mut value = None;
    for digit in digits {
        let so_far = value.unwrap_or(0_u16).saturating_mul(10);
        value = Some(so_far.saturating_add(u16::from(digit.wrapping_sub(b'0').min(9))));
    }
    value
}

/// An operating system command: its number and its text.
#[derive(Debug)]
pub(super) struct Osc<'a> {
    pub(super) number: u16,
    /// The text after the first semicolon; empty without one.
    pub(super) text: &'a [u8],
    /// The terminator, which a reply has to use as well.
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
