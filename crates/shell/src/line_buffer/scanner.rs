//! Finds text, controls and escape sequences in a stream of bytes (ECMA-48, and the state machine
//! that the terminals of today follow). Pure; how the bytes are cut makes no difference.

/// Longest body of a CSI sequence that is understood, in bytes. A longer one is skipped whole.
const MAX_CSI: usize = 256;

/// Bytes after which a string without an end is given up. A picture (DCS) has many; the others are
/// given up at the end of their line already, so that one stray introducer does not hide all that
/// follows.
const MAX_STRING: usize = 4 << 20;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;

/// A piece of the stream that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Printable text, never empty.
    Text(&'a str),
    /// A control character, 0x00 to 0x1f or 0x7f.
    Control(u8),
    /// `CSI body last`.
    Csi { body: &'a [u8], last: u8 },
    /// `ESC c`: everything as after power-up.
    Reset,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    /// Behind the intermediate byte of an escape: one more makes it whole.
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
    /// Whether nothing is open, so that bytes without ESC and C2 would be text and controls alone.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.state == State::Ground && self.utf8.needed == 0
    }

    pub(crate) fn push(&mut self, bytes: &[u8], mut tokens: impl FnMut(Token<'_>)) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            let run = if self.is_at_rest() {
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

    /// Gives up what is open.
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
                // Inside a sequence they act at once, and the sequence goes on.
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
            State::Intermediate | State::String { .. } => self.again(byte, tokens),
        }
    }

    /// A byte that does not belong to the sequence ends it.
    fn again(&mut self, byte: u8, tokens: &mut impl FnMut(Token<'_>)) {
        self.state = State::Ground;
        self.ground(byte, tokens);
    }

    fn ground(&mut self, byte: u8, tokens: &mut impl FnMut(Token<'_>)) {
        match self.utf8.push(byte) {
            Step::More => {}
            Step::Char(character) => self.character(character, tokens),
            Step::Bad => tokens(Token::Text("\u{fffd}")),
            Step::BadAndAgain => {
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
            _ => self.again(byte, tokens),
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

enum Step {
    More,
    Char(char),
    /// The byte ends a malformed character.
    Bad,
    /// A malformed character ended before this byte.
    BadAndAgain,
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
    fn push(&mut self, byte: u8) -> Step {
        if self.needed == 0 {
            return self.first(byte);
        }
        if !(self.bounds.0..=self.bounds.1).contains(&byte) {
            self.needed = 0;
            return Step::BadAndAgain;
        }
        self.bounds = (0x80, 0xbf);
        self.code = self.code << 6 | u32::from(byte & 0x3f);
        self.needed -= 1;
        match char::from_u32(self.code) {
            Some(character) if self.needed == 0 => Step::Char(character),
            _ => Step::More,
        }
    }

    fn first(&mut self, byte: u8) -> Step {
        let (needed, bits, bounds) = match byte {
            0x00..=0x7f => return Step::Char(char::from(byte)),
            0xc2..=0xdf => (1, 0x1f, (0x80, 0xbf)),
            0xe0 => (2, 0x0f, (0xa0, 0xbf)),
            0xed => (2, 0x0f, (0x80, 0x9f)),
            0xe1..=0xef => (2, 0x0f, (0x80, 0xbf)),
            0xf0 => (3, 0x07, (0x90, 0xbf)),
            0xf4 => (3, 0x07, (0x80, 0x8f)),
            0xf1..=0xf3 => (3, 0x07, (0x80, 0xbf)),
            _ => return Step::Bad,
        };
        *self = Self {
            code: u32::from(byte & bits),
            needed,
            bounds,
        };
        Step::More
    }
}
