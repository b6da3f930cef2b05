//! Splits a terminal's output into text and complete escape sequences, independent of its chunks.
//!
//! The states are those of the parser for DEC terminals that the `vte` crate implements, and with
//! it the engine: C0 controls inside of a sequence belong to it, CAN and SUB abort a sequence, ESC
//! aborts it and begins another. A string ends at ST; an OSC string also at BEL (xterm ctlseqs).
//! `vte` itself is of no use here, since it reports neither the offset at which a sequence begins
//! nor any SOS, PM or APC string.

use memchr::memchr;

/// Maximal bytes of an incomplete sequence that are kept. The longest sequences of use are titles
/// and links (8 KiB); longer ones are images and clipboards.
const MAX_HELD_BYTES: usize = 64 << 10;

const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// A part of the output, with all of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputToken<'a> {
    /// Characters and C0 controls. May end within a character.
    Text(&'a [u8]),
    /// A complete sequence, from its ESC to its last byte.
    Sequence(SequenceKind, &'a [u8]),
    /// An aborted sequence, of which a terminal executes only the C0 controls.
    Aborted(&'a [u8]),
    /// The end of a string that exceeded the limit.
    Skipped,
}

/// The kind of an escape sequence, by its introducer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SequenceKind {
    /// `ESC x`, `ESC ( x`.
    Escape,
    /// `ESC [`: control sequence.
    Csi,
    /// `ESC ]`: operating system command.
    Osc,
    /// `ESC P`: device control string.
    Dcs,
    /// `ESC X`, `ESC ^`, `ESC _`: start of string, privacy message, application command.
    Other,
}

impl SequenceKind {
    pub(super) fn is_string(self) -> bool {
        matches!(self, Self::Osc | Self::Dcs | Self::Other)
    }
}

/// Splits output into [`OutputToken`]s.
#[derive(Clone, Debug, Default)]
pub struct SequenceSplitter {
    /// The incomplete sequence; `None` in text.
    open: Option<OpenSequence>,
    /// Its bytes, unless it exceeds the limit.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct OpenSequence {
    kind: SequenceKind,
    /// Whether the last byte is an ESC in a string, which may be the first half of its ST.
    after_escape: bool,
    is_too_long: bool,
    /// Whether only bytes that a terminal ignores or executes there have followed the ESC: C0
    /// controls and bytes that are not ASCII.
    is_bare: bool,
}

impl OpenSequence {
    const FRESH: Self = Self {
        kind: SequenceKind::Escape,
        after_escape: false,
        is_too_long: false,
        is_bare: true,
    };
}

/// Effect of a byte on an incomplete sequence.
enum ByteEffect {
    /// It continues the sequence.
    Continues,
    /// It completes the sequence.
    Completes,
    /// It aborts the sequence.
    Aborts,
    /// It aborts the sequence and begins another one.
    Restarts,
    /// The preceding ESC ended the string, and the byte follows that ESC.
    FollowsEscape,
}

impl SequenceSplitter {
    /// Splits output, and calls `out` with each token.
    pub fn feed(&mut self, bytes: &[u8], mut out: impl FnMut(OutputToken<'_>)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.open {
                None => self.ground(rest, &mut out),
                Some(open) => self.sequence(open, rest, &mut out),
            };
        }
    }

    /// Returns the bytes of the incomplete sequence; none if it exceeds the limit.
    #[must_use]
    pub fn held(&self) -> &[u8] {
        &self.held
    }

    /// Returns the kind of an incomplete string that exceeds the limit.
    pub(super) fn open_string(&self) -> Option<SequenceKind> {
        self.open
            .filter(|open| open.is_too_long)
            .map(|open| open.kind)
    }

    /// Returns the string that an ESC has ended, for readers that do not wait for the rest of its
    /// ST.
    pub(super) fn half_ended(&self) -> Option<OutputToken<'_>> {
        let open = self.open.filter(|open| open.after_escape)?;
        let string = self.held.strip_suffix(&[ESC]);
        Some(string.map_or(OutputToken::Skipped, |string| {
            OutputToken::Sequence(open.kind, string)
        }))
    }

    fn ground<'a>(&mut self, bytes: &'a [u8], out: &mut impl FnMut(OutputToken<'_>)) -> &'a [u8] {
        let escape = memchr(ESC, bytes).unwrap_or(bytes.len());
        let (text, rest) = bytes.split_at(escape);
        if !text.is_empty() {
            out(OutputToken::Text(text));
        }
        let Some((_, rest)) = rest.split_first() else {
            return rest;
        };
        self.begin();
        rest
    }

    fn begin(&mut self) {
        self.open = Some(OpenSequence::FRESH);
        self.held.clear();
        self.held.push(ESC);
    }

    /// Reads from an incomplete sequence, at most to its end.
    fn sequence<'a>(
        &mut self,
        mut open: OpenSequence,
        bytes: &'a [u8],
        out: &mut impl FnMut(OutputToken<'_>),
    ) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            let effect = byte_effect(&mut open, byte);
            let rest = &bytes[at + 1..];
            match effect {
                ByteEffect::Continues => {
                    self.keep(&mut open, byte);
                    continue;
                }
                ByteEffect::Completes | ByteEffect::Aborts => {
                    self.keep(&mut open, byte);
                    self.end(open, matches!(effect, ByteEffect::Completes), out);
                    return rest;
                }
                ByteEffect::Restarts => {
                    self.end(open, false, out);
                    self.begin();
                    return rest;
                }
                ByteEffect::FollowsEscape => {
                    self.held.pop();
                    self.end(open, true, out);
                    self.begin();
                    return &bytes[at..];
                }
            }
        }
        self.open = Some(open);
        &[]
    }

    fn keep(&mut self, open: &mut OpenSequence, byte: u8) {
        if open.is_too_long {
            return;
        }
        if self.held.len() >= MAX_HELD_BYTES {
            open.is_too_long = true;
            self.held = Vec::new();
            return;
        }
        self.held.push(byte);
    }

    fn end(&mut self, open: OpenSequence, is_whole: bool, out: &mut impl FnMut(OutputToken<'_>)) {
        self.open = None;
        let token = match is_whole {
            _ if open.is_too_long => OutputToken::Skipped,
            true => OutputToken::Sequence(open.kind, &self.held),
            false => OutputToken::Aborted(&self.held),
        };
        out(token);
        self.held.clear();
    }
}

/// Returns the effect of a byte on an incomplete sequence.
fn byte_effect(open: &mut OpenSequence, byte: u8) -> ByteEffect {
    if open.after_escape {
        return if byte == b'\\' {
            ByteEffect::Completes
        } else {
            ByteEffect::FollowsEscape
        };
    }
    match (open.kind, byte) {
        // Terminals execute an aborted OSC string.
        (SequenceKind::Osc, CAN | SUB) => ByteEffect::Completes,
        (_, CAN | SUB) => ByteEffect::Aborts,
        (kind, ESC) if kind.is_string() => {
            open.after_escape = true;
            ByteEffect::Continues
        }
        (_, ESC) => ByteEffect::Restarts,
        (SequenceKind::Escape, _) => byte_effect_in_escape(open, byte),
        (SequenceKind::Csi, 0x40..=0x7e) | (SequenceKind::Osc, BEL) => ByteEffect::Completes,
        _ => ByteEffect::Continues,
    }
}

fn byte_effect_in_escape(open: &mut OpenSequence, byte: u8) -> ByteEffect {
    match byte {
        b'[' | b']' | b'P' | b'X' | b'^' | b'_' if open.is_bare => {
            open.kind = match byte {
                b'[' => SequenceKind::Csi,
                b']' => SequenceKind::Osc,
                b'P' => SequenceKind::Dcs,
                _ => SequenceKind::Other,
            };
            ByteEffect::Continues
        }
        0x30..=0x7e => ByteEffect::Completes,
        _ => {
            open.is_bare &= !matches!(byte, 0x20..=0x2f);
            ByteEffect::Continues
        }
    }
}
