//! Cuts a terminal's output into text and whole control sequences, whatever the chunks it comes in.
//!
//! The states are those of the DEC parser as `vte` has it (and with it the engine): C0 controls inside
//! of a sequence belong to it, CAN and SUB end any, ESC ends any and begins the next. A string ends at
//! ST; an OSC string also at BEL.

use memchr::memchr;

/// Bytes of a sequence that are kept until it is whole. The longest that anybody keeps anything of
/// are titles and links (8 KiB); what is longer is an image or a clipboard.
const LONGEST: usize = 64 << 10;

const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

/// A part of a terminal's output, with every byte of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// Characters, and C0 controls between them. May end within a character.
    Text(&'a [u8]),
    /// A whole sequence, from its ESC to its last byte.
    Sequence(SequenceKind, &'a [u8]),
    /// A sequence that was broken off: nothing of it counts but the C0 controls in it.
    Broken(&'a [u8]),
    /// A string too long to be kept has ended.
    Skipped,
}

/// What a control sequence is, by its introducer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SequenceKind {
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

/// Cuts output into [`Token`]s.
#[derive(Clone, Debug, Default)]
pub(super) struct SequenceSplitter {
    /// The sequence that has begun; `None` between sequences.
    open: Option<Open>,
    /// Its bytes so far, unless it is too long.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    kind: SequenceKind,
    /// The last byte was an ESC in a string, which may be the first half of its ST.
    after_escape: bool,
    is_too_long: bool,
    /// Nothing has come behind its ESC that a terminal does not pass over there: controls, which it
    /// carries out at once, and bytes that are no ASCII.
    is_bare: bool,
}

impl Open {
    const FRESH: Self = Self {
        kind: SequenceKind::Escape,
        after_escape: false,
        is_too_long: false,
        is_bare: true,
    };
}

/// What a byte does to an open sequence.
enum Step {
    /// It belongs to it.
    Goes,
    /// It ends it.
    Ends,
    /// It breaks it off.
    Breaks,
    /// The sequence ended before it, and it begins another one.
    Begins,
    /// The string ended before the ESC before it.
    Follows,
}

impl SequenceSplitter {
    /// Takes output and gives out what is whole.
    pub(super) fn feed(&mut self, bytes: &[u8], mut out: impl FnMut(Token<'_>)) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match self.open {
                None => self.ground(rest, &mut out),
                Some(open) => self.sequence(open, rest, &mut out),
            };
        }
    }

    /// The bytes of the sequence that has begun; none if it is too long.
    pub(super) fn held(&self) -> &[u8] {
        &self.held
    }

    /// The introducer of a string that is too long to be held, if one is open.
    pub(super) fn open_string(&self) -> Option<SequenceKind> {
        self.open
            .filter(|open| open.is_too_long)
            .map(|open| open.kind)
    }

    /// The string that has ended for everyone who does not wait for the rest of its ST.
    pub(super) fn half_ended(&self) -> Option<Token<'_>> {
        let open = self.open.filter(|open| open.after_escape)?;
        let string = self.held.strip_suffix(&[ESC]);
        Some(string.map_or(Token::Skipped, |string| Token::Sequence(open.kind, string)))
    }

    fn ground<'a>(&mut self, bytes: &'a [u8], out: &mut impl FnMut(Token<'_>)) -> &'a [u8] {
        let escape = memchr(ESC, bytes).unwrap_or(bytes.len());
        let (text, rest) = bytes.split_at(escape);
        if !text.is_empty() {
            out(Token::Text(text));
        }
        let Some((_, rest)) = rest.split_first() else {
            return rest;
        };
        self.begin();
        rest
    }

    fn begin(&mut self) {
        self.open = Some(Open::FRESH);
        self.held.clear();
        self.held.push(ESC);
    }

    /// Reads on in an open sequence, at most to its end.
    fn sequence<'a>(
        &mut self,
        mut open: Open,
        bytes: &'a [u8],
        out: &mut impl FnMut(Token<'_>),
    ) -> &'a [u8] {
        for (at, &byte) in bytes.iter().enumerate() {
            let step = step(&mut open, byte);
            let rest = &bytes[at + 1..];
            match step {
                Step::Goes => {
                    self.keep(&mut open, byte);
                    continue;
                }
                Step::Ends | Step::Breaks => {
                    self.keep(&mut open, byte);
                    self.end(open, matches!(step, Step::Ends), out);
                    return rest;
                }
                Step::Begins => {
                    self.end(open, false, out);
                    self.begin();
                    return rest;
                }
                Step::Follows => {
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

    fn keep(&mut self, open: &mut Open, byte: u8) {
        if open.is_too_long {
            return;
        }
        if self.held.len() >= LONGEST {
            open.is_too_long = true;
            self.held = Vec::new();
            return;
        }
        self.held.push(byte);
    }

    fn end(&mut self, open: Open, is_whole: bool, out: &mut impl FnMut(Token<'_>)) {
        self.open = None;
        let token = match is_whole {
            _ if open.is_too_long => Token::Skipped,
            true => Token::Sequence(open.kind, &self.held),
            false => Token::Broken(&self.held),
        };
        out(token);
        self.held.clear();
    }
}

/// What a byte does to an open sequence.
fn step(open: &mut Open, byte: u8) -> Step {
    if open.after_escape {
        return if byte == b'\\' {
            Step::Ends
        } else {
            Step::Follows
        };
    }
    match (open.kind, byte) {
        // An OSC string is carried out even so.
        (SequenceKind::Osc, CAN | SUB) => Step::Ends,
        (_, CAN | SUB) => Step::Breaks,
        (kind, ESC) if kind.is_string() => {
            open.after_escape = true;
            Step::Goes
        }
        (_, ESC) => Step::Begins,
        (SequenceKind::Escape, _) => escape(open, byte),
        (SequenceKind::Csi, 0x40..=0x7e) | (SequenceKind::Osc, BEL) => Step::Ends,
        _ => Step::Goes,
    }
}

fn escape(open: &mut Open, byte: u8) -> Step {
    match byte {
        b'[' | b']' | b'P' | b'X' | b'^' | b'_' if open.is_bare => {
            open.kind = match byte {
                b'[' => SequenceKind::Csi,
                b']' => SequenceKind::Osc,
                b'P' => SequenceKind::Dcs,
                _ => SequenceKind::Other,
            };
            Step::Goes
        }
        0x30..=0x7e => Step::Ends,
        _ => {
            open.is_bare &= !matches!(byte, 0x20..=0x2f);
            Step::Goes
        }
    }
}
