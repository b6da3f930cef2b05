//! The state of SGR sequences: colours and styles of the next character (ECMA-48, 8.3.117).

use std::fmt::Write as _;

/// A colour as SGR names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Color {
    #[default]
    Default,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

/// The styles that are on or off: (code that turns it on, code that turns it off).
const STYLES: [(u16, u16); 9] = [
    (1, 22),
    (2, 22),
    (3, 23),
    (5, 25),
    (6, 25),
    (7, 27),
    (8, 28),
    (9, 29),
    (53, 55),
];

/// The colours and styles that a series of SGR sequences sets. Codes that current terminals ignore
/// (fonts, frames) are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SgrState {
    /// One bit for each of [`STYLES`].
    styles: u16,
    /// 0 for none, else the style of `4:n`.
    underline: u8,
    foreground: Color,
    background: Color,
    underline_color: Color,
}

impl SgrState {
    /// Whether a CSI sequence is SGR: numbers and `m`, without a private marker or an intermediate
    /// byte.
    pub(super) fn is_sgr(body: &[u8], last: u8) -> bool {
        last == b'm' && body.iter().all(|byte| matches!(byte, b'0'..=b';'))
    }

    /// Applies the body of an SGR sequence.
    pub(super) fn apply(&mut self, body: &[u8]) {
        let mut params = body.split(|byte| *byte == b';');
        while let Some(param) = params.next() {
            let mut parts = param.split(|byte| *byte == b':').map(number);
            let code = parts.next().unwrap_or(0);
            let is_split = param.contains(&b':');
            match code {
                38 | 48 | 58 if is_split => self.set_color(code, split_color(parts)),
                38 | 48 | 58 => self.set_color(code, color(&mut params.by_ref().map(number))),
                4 => self.underline = parts.next().map_or(1, narrow),
                _ => self.plain(code),
            }
        }
    }

    fn plain(&mut self, code: u16) {
        match code {
            0 => *self = Self::default(),
            21 => self.underline = 2,
            24 => self.underline = 0,
            30..=37 => self.foreground = Color::Indexed(narrow(code - 30)),
            39 => self.foreground = Color::Default,
            40..=47 => self.background = Color::Indexed(narrow(code - 40)),
            49 => self.background = Color::Default,
            59 => self.underline_color = Color::Default,
            90..=97 => self.foreground = Color::Indexed(narrow(code - 90 + 8)),
            100..=107 => self.background = Color::Indexed(narrow(code - 100 + 8)),
            _ => self.style(code),
        }
    }

    fn style(&mut self, code: u16) {
        for (bit, (on, off)) in STYLES.into_iter().enumerate() {
            if code == on {
                self.styles |= 1 << bit;
            } else if code == off {
                self.styles &= !(1 << bit);
            }
        }
    }

    fn set_color(&mut self, code: u16, color: Option<Color>) {
        let Some(color) = color else { return };
        match code {
            38 => self.foreground = color,
            48 => self.background = color,
            _ => self.underline_color = color,
        }
    }

    /// Writes the sequence that turns `self` into `next`; nothing if they are the same.
    pub(super) fn write_change(self, next: Self, text: &mut String) {
        if self == next {
            return;
        }
        text.push_str("\x1b[");
        if self != Self::default() || next == Self::default() {
            text.push_str("0;");
        }
        next.write_codes(text);
        text.pop();
        text.push('m');
    }

    /// Writes the codes that set this state from the default, each followed by a semicolon.
    fn write_codes(self, text: &mut String) {
        let set = |bit: usize| self.styles & (1 << bit) != 0;
        for (_, (on, _)) in STYLES.into_iter().enumerate().filter(|(bit, _)| set(*bit)) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{on};");
        }
        match self.underline {
            0 => {}
            1 => text.push_str("4;"),
            style => {
                let _ = write!(text, "4:{style};");
            }
        }
        self.foreground.write_codes(30, text);
        self.background.write_codes(40, text);
        self.underline_color.write_codes(50, text);
    }
}

impl Color {
    fn write_codes(self, base: u16, text: &mut String) {
        let _ = match self {
            Self::Default => Ok(()),
            Self::Indexed(n @ 0..=7) if base < 50 => write!(text, "{};", base + u16::from(n)),
            Self::Indexed(n @ 8..=15) if base < 50 => write!(text, "{};", base + 52 + u16::from(n)),
            Self::Indexed(n) => write!(text, "{};5;{n};", base + 8),
            Self::Rgb(r, g, b) => write!(text, "{};2;{r};{g};{b};", base + 8),
        };
    }
}

/// `5;n` or `2;r;g;b`, from the parameters that follow.
fn color(params: &mut dyn Iterator<Item = u16>) -> Option<Color> {
    let mut next = || params.next().map(narrow);
    match next()? {
        5 => Some(Color::Indexed(next()?)),
        2 => Some(Color::Rgb(next()?, next()?, next()?)),
        _ => None,
    }
}

/// `5:n`, `2:r:g:b` or `2:space:r:g:b`, from one parameter (ITU-T T.416, 13.1.8).
fn split_color(parts: impl Iterator<Item = u16>) -> Option<Color> {
    let parts: Vec<u16> = parts.collect();
    match parts[..] {
        [2, _, r, g, b, ..] => Some(Color::Rgb(narrow(r), narrow(g), narrow(b))),
        _ => color(&mut parts.into_iter()),
    }
}

/// A missing number is 0; one that is too large is the largest.
fn number(digits: &[u8]) -> u16 {
    digits.iter().fold(0, |number: u16, digit| {
        let digit = u16::from(digit.saturating_sub(b'0'));
        number.saturating_mul(10).saturating_add(digit)
    })
}

fn narrow(number: u16) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}
