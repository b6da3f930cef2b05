//! Splits a stream of bytes into text, controls and escape sequences (ECMA-48). The result does not
//! depend on how the bytes are split into chunks.
//!
//! The crate vte does not serve here: it executes C1 controls in UTF-8 one by one, so that the body of
//! such a sequence becomes text, and has no bound for a string that is never terminated.

/// Longest body of a CSI sequence, in bytes. A longer sequence is skipped.
const MAX_CSI: usize = 256;

/// Longest control string, in bytes; after it, text resumes. A DCS may hold an image; the other strings
/// also end with their line, so that a stray introducer does not hide the rest of the output.
const MAX_STRING: usize = 4 << 20;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// One element of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Printable text, never empty.
    Text(&'a str),
    /// A control character, 0x00 to 0x1f or 0x7f.
    Control(u8),
    /// `CSI body last`.
    Csi { body: &'a [u8], last: u8 },
    /// `ESC c` (RIS): resets the terminal.
    Reset,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    /// After the intermediate byte of an escape sequence; its final byte follows.
    Intermediate,
    Csi,
    String {
        is_dcs: bool,
        after_c2: bool,
        length: usize,
    },
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Scanner {
    state: State,
    csi: Vec<u8>,
    is_overlong: bool,
    utf8: Utf8,
}

impl Scanner {
    /// Whether no sequence or character is incomplete: bytes without ESC and C2 are text and controls.
    pub(crate) fn is_ground(&self) -> bool {
        self.state == State::Ground && self.utf8.needed == 0
    }

    pub(crate) fn push(&mut self, bytes: &[u8], mut tokens: impl FnMut(Token<'_>)) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            let run = if self.is_ground() {
                ascii_run(rest)
            } else {
                ""
            };
            if run.is_empty() {
                self.byte(byte, &mut tokens);
                rest = after;
            } else {
                tokens(Token::Text(run));
                rest = rest.get(run.len()..).unwrap_or_default();
            }
        }
    }

    /// Drops an incomplete sequence or character.
    pub(crate) fn finish(&mut self, mut tokens: impl FnMut(Token<'_>)) {
        if self.utf8.needed > 0 {
            tokens(Token::Text("\u{fffd}"));
        }
        *self = Self::default();
    }

    fn byte(&mut self, byte: u8, tokens: &mut impl FnMut(Token<'_>)) {
        if let State::String {
            is_dcs,
            after_c2,
            length,
        } = self.state
        {
            return self.string(byte, is_dcs, after_c2, length, tokens);
        }
        if self.utf8.needed == 0 || self.state != State::Ground {
            match byte {
                ESC => return self.state = State::Escape,
                CAN | SUB => return self.state = State::Ground,
                // Executed inside a sequence, which continues.
                0x00..=0x1f => return tokens(Token::Control(byte)),
                _ => {}
            }
        }
        match self.state {
            State::Ground => self.ground(byte, tokens),
            State::Escape => self.escape(byte, tokens),
            State::Csi => self.csi(byte, tokens),
            State::Intermediate if (0x20..0x30).contains(&byte) => {}
            State::Intermediate if byte < 0x7f => self.state = State::Ground,
            State::Intermediate | State::String { .. } => self.abort_sequence(byte, tokens),
        }
    }

    /// Ends a sequence at a byte that does not belong to it, and handles the byte as text.
    fn abort_sequence(&mut self, byte: u8, tokens: &mut impl FnMut(Token<'_>)) {
        self.state = State::Ground;
        self.ground(byte, tokens);
    }

    fn ground(&mut self, byte: u8, tokens: &mut impl FnMut(Token<'_>)) {
        match self.utf8.push(byte) {
            Decoded::More => {}
            Decoded::Char(character) => self.character(character, tokens),
            Decoded::Bad => tokens(Token::Text("\u{fffd}")),
            Decoded::BadBefore => {
                tokens(Token::Text("\u{fffd}"));
                self.byte(byte, tokens);
            }
        }
    }

    fn character(&mut self, character: char, tokens: &mut impl FnMut(Token<'_>)) {
        match character {
            '\0'..='\x1f' | '\x7f' => tokens(Token::Control(character as u8)),
            // The C1 controls (ECMA-48, 5.3) as UTF-8 has them.
            '\u{90}' => self.open_string(true),
            '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => self.open_string(false),
            '\u{9b}' => self.open_csi(),
            '\u{80}'..='\u{9f}' => {}
            _ => tokens(Token::Text(character.encode_utf8(&mut [0; 4]))),
        }
    }

    fn escape(&mut self, byte: u8, tokens: &mut impl FnMut(Token<'_>)) {
        self.state = State::Ground;
        match byte {
            b'[' => self.open_csi(),
            b'P' => self.open_string(true),
            b'X' | b']' | b'^' | b'_' => self.open_string(false),
            b'c' => tokens(Token::Reset),
            0x20..=0x2f => self.state = State::Intermediate,
            0x30..=0x7e => {}
            _ => self.ground(byte, tokens),
        }
    }

    fn open_csi(&mut self) {
        self.csi.clear();
        self.is_overlong = false;
        self.state = State::Csi;
    }

    fn open_string(&mut self, is_dcs: bool) {
        self.state = State::String {
            is_dcs,
            after_c2: false,
            length: 0,
        };
    }

    fn csi(&mut self, byte: u8, tokens: &mut impl FnMut(Token<'_>)) {
        match byte {
            0x20..=0x3f if self.csi.len() < MAX_CSI => self.csi.push(byte),
            0x20..=0x3f => self.is_overlong = true,
            0x40..=0x7e => {
                self.state = State::Ground;
                if !self.is_overlong {
                    let body = &self.csi;
                    tokens(Token::Csi { body, last: byte });
                }
            }
            0x7f => {}
            _ => self.abort_sequence(byte, tokens),
        }
    }

    fn string(
        &mut self,
        byte: u8,
        is_dcs: bool,
        after_c2: bool,
        length: usize,
        tokens: &mut impl FnMut(Token<'_>),
    ) {
        self.state = match byte {
            // `ESC \` ends it, and so does any other sequence.
            ESC => State::Escape,
            BEL if !is_dcs => State::Ground,
            CAN | SUB => State::Ground,
            0x9c if after_c2 => State::Ground,
            b'\n' if !is_dcs => {
                tokens(Token::Control(byte));
                State::Ground
            }
            _ if length >= MAX_STRING => State::Ground,
            _ => State::String {
                is_dcs,
                after_c2: byte == 0xc2,
                length: length + 1,
            },
        };
    }
}

fn ascii_run(bytes: &[u8]) -> &str {
    let printable = |byte: &u8| !(b' '..=b'~').contains(byte);
    let end = bytes.iter().position(printable).unwrap_or(bytes.len());
    let run = bytes.get(..end).unwrap_or_default();
    std::str::from_utf8(run).unwrap_or_default()
}

enum Decoded {
    More,
    Char(char),
    /// The byte ends a malformed character.
    Bad,
    /// A malformed character ended before this byte.
    BadBefore,
}

/// A decoder that replaces each maximal malformed part, as the standard library's lossy one does
/// (Unicode 15, section 3.9, table 3-7).
#[derive(Clone, Copy, Debug, Default)]
struct Utf8 {
    code: u32,
    needed: u8,
    /// Bounds of the next byte.
    bounds: (u8, u8),
}

impl Utf8 {
    fn push(&mut self, byte: u8) -> Decoded {
        if self.needed == 0 {
            return self.first(byte);
        }
        if !(self.bounds.0..=self.bounds.1).contains(&byte) {
            self.needed = 0;
            return Decoded::BadBefore;
        }
        self.bounds = (0x80, 0xbf);
        self.code = self.code << 6 | u32::from(byte & 0x3f);
        self.needed -= 1;
        match char::from_u32(self.code) {
            Some(character) if self.needed == 0 => Decoded::Char(character),
            _ => Decoded::More,
        }
    }

    fn first(&mut self, byte: u8) -> Decoded {
        let (needed, bits, bounds) = match byte {
            0x00..=0x7f => return Decoded::Char(char::from(byte)),
            0xc2..=0xdf => (1, 0x1f, (0x80, 0xbf)),
            0xe0 => (2, 0x0f, (0xa0, 0xbf)),
            0xed => (2, 0x0f, (0x80, 0x9f)),
            0xe1..=0xef => (2, 0x0f, (0x80, 0xbf)),
            0xf0 => (3, 0x07, (0x90, 0xbf)),
            0xf4 => (3, 0x07, (0x80, 0x8f)),
            0xf1..=0xf3 => (3, 0x07, (0x80, 0xbf)),
            _ => return Decoded::Bad,
        };
        *self = Self {
            code: u32::from(byte & bits),
            needed,
            bounds,
        };
        Decoded::More
    }
}
