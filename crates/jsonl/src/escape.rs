//! Escapes of strings (RFC 8259, section 7), and decoding without `unsafe`.

#[cfg(any(test, not(all(feature = "simd", target_arch = "x86_64"))))]
use memchr::memchr;

/// One escape of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Escape {
    /// Length as it is written, in bytes.
    pub(crate) length: usize,
    /// The UTF-16 code unit that it encodes.
    pub(crate) unit: u16,
}

/// The escape at the beginning of `bytes`; none when there is no backslash.
#[inline(always)]
pub(crate) fn escape(bytes: &[u8]) -> Option<Escape> {
    let [b'\\', letter, rest @ ..] = bytes else {
        return None;
    };
    if *letter == b'u' {
        return Some(Escape {
            length: 6.min(bytes.len()),
            unit: hex(rest),
        });
    }
    Some(Escape {
        length: 2,
        unit: u16::from(SHORT[usize::from(*letter & 0x7f)]),
    })
}

/// The byte that a letter after a backslash encodes; none for `u`, which needs digits.
#[cfg(all(feature = "simd", target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn short(letter: Option<&u8>) -> Option<u8> {
    let letter = letter.filter(|&&letter| letter != b'u')?;
    Some(SHORT[usize::from(letter & 0x7f)])
}

/// The byte that each letter after a backslash encodes: itself but for five.
pub(crate) const SHORT: [u8; 128] = {
    let mut short = [0; 128];
    let mut i = 0;
    while i < 128 {
        short[i] = i as u8;
        i += 1;
    }
    short[b'b' as usize] = 8;
    short[b'f' as usize] = 12;
    short[b'n' as usize] = b'\n';
    short[b'r' as usize] = b'\r';
    short[b't' as usize] = b'\t';
    short
};

/// Four hexadecimal digits; U+FFFD where there are none.
fn hex(digits: &[u8]) -> u16 {
    let digits = digits.get(..4).and_then(|it| std::str::from_utf8(it).ok());
    digits
        .and_then(|it| u16::from_str_radix(it, 16).ok())
        .unwrap_or(0xfffd)
}

/// Joins UTF-16 code units to characters. An unpaired surrogate becomes U+FFFD.
#[derive(Debug)]
pub(crate) struct Surrogates {
    /// A high surrogate, for which a U+FFFD is the last character of the output.
    high: Option<u16>,
}

/// The effect of a code unit on the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Append a character.
    Add(char),
    /// Replace the last character, a U+FFFD.
    Replace(char),
}

impl Surrogates {
    pub(crate) const fn new(high: Option<u16>) -> Self {
        Self { high }
    }

    /// The high surrogate that has no pair yet.
    pub(crate) const fn high(&self) -> Option<u16> {
        self.high
    }

    /// Other text follows: the pending surrogate stays unpaired.
    #[inline(always)]
    pub(crate) const fn end(&mut self) {
        self.high = None;
    }

    /// Takes the next code unit.
    pub(crate) fn push(&mut self, unit: u16) -> Change {
        let or_replacement =
            |code: u32| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
        if let (Some(high), 0xdc00..=0xdfff) = (self.high.take(), unit) {
            let code = 0x10000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(unit) - 0xdc00);
            return Change::Replace(or_replacement(code));
        }
        self.high = (0xd800..=0xdbff).contains(&unit).then_some(unit);
        Change::Add(or_replacement(u32::from(unit)))
    }
}

#[cfg(any(test, not(all(feature = "simd", target_arch = "x86_64"))))]
/// Appends the decoded `content` of one string, whose escapes are valid, to `out`.
pub(crate) fn unescape(content: &str, out: &mut String, surrogates: &mut Surrogates) {
    out.reserve(content.len());
    let mut rest = content;
    loop {
        let plain = memchr(b'\\', rest.as_bytes()).unwrap_or(rest.len());
        if plain > 0 {
            surrogates.end();
        }
        // A backslash is ASCII, so the text can be cut on both sides of it.
        let (before, after) = rest.split_at_checked(plain).unwrap_or_default();
        out.push_str(before);
        let Some(Escape { length, unit }) = escape(after.as_bytes()) else {
            return;
        };
        match surrogates.push(unit) {
            Change::Add(char) => out.push(char),
            Change::Replace(char) => {
                out.pop();
                out.push(char);
            }
        }
        rest = after.get(length..).unwrap_or_default();
    }
}
