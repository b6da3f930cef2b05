//! Terminal queries, by which programs request information, and their replies (xterm ctlseqs).

use super::sequence::{Csi, Osc, Sequence};

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Query<'a> {
    /// DA1: `CSI c`, and DECID.
    Attributes,
    /// DA2: `CSI > c`.
    SecondaryAttributes,
    /// DA3: `CSI = c`.
    TertiaryAttributes,
    /// XTVERSION: `CSI > q`.
    Version,
    /// DSR 5.
    Status,
    /// CPR: DSR 6, and whether in its DEC form.
    Cursor { is_private: bool },
    /// DECRQM: `CSI ? n $ p`, or without the `?`.
    Mode { is_private: bool, mode: u16 },
    /// The flags of the keyboard protocol: `CSI ? u`.
    Keyboard,
    /// The size in characters: `CSI 18 t`.
    Size,
    /// Colour of OSC 10, 11 or 12, with the terminator of the query.
    Color { number: u16, end: &'static str },
    /// DECRQSS: a setting.
    Setting,
    /// XTGETTCAP: a capability.
    Capability,
    /// A query without a reply, since it would disclose state of the client (its title, clipboard
    /// or pixel size).
    Other(&'a [u8]),
}

/// Returns the query that a sequence is, if any.
pub(super) fn query<'a>(sequence: &Sequence<'a>) -> Option<Query<'a>> {
    match sequence {
        Sequence::Csi(parts, whole) => csi(parts, whole),
        Sequence::Osc(parts, whole) => osc(parts, whole),
        Sequence::Dcs(whole) => dcs(whole),
        Sequence::Other(whole) => graphics(whole),
        Sequence::Escape(b"\x1bZ") => Some(Query::Attributes),
        Sequence::Escape(_) => None,
    }
}

fn csi<'a>(csi: &Csi<'a>, whole: &'a [u8]) -> Option<Query<'a>> {
    let query = match csi.command() {
        (0, b"", b'c') => Query::Attributes,
        (b'>', b"", b'c') => Query::SecondaryAttributes,
        (b'=', b"", b'c') => Query::TertiaryAttributes,
        // Some terminals check the marker only, whatever follows it.
        (0 | b'>' | b'=', _, b'c') => Query::Other(whole),
        (b'>', b"", b'q') => Query::Version,
        (b'?', b"", b'u') => Query::Keyboard,
        (marker @ (0 | b'?'), b"", b'n') => {
            let is_private = marker == b'?';
            match csi.param(0, 0) {
                5 if !is_private => Query::Status,
                6 => Query::Cursor { is_private },
                _ => Query::Other(whole),
            }
        }
        (marker @ (0 | b'?'), b"$", b'p') => {
            let (is_private, mode) = (marker == b'?', csi.param(0, 0));
            Query::Mode { is_private, mode }
        }
        (0, b"", b't') => match csi.param(0, 0) {
            18 => Query::Size,
            11 | 13..=16 | 19..=21 => Query::Other(whole),
            _ => return None,
        },
        // DECREQTPARM, DECRQCRA and its kin, XTSMGRAPHICS, XTREPORTCOLORS, XTQMODKEYS.
        (0, b"", b'x')
        | (0, b"*", b'y')
        | (0, b"&", b'u' | b'w')
        | (0, b"$", b'w' | b'u')
        | (b'?', b"", b'S' | b'm')
        | (0, b"#", b'R')
        | (0, b"\"", b'v') => Query::Other(whole),
        _ => return None,
    };
    Some(query)
}

fn osc<'a>(osc: &Osc<'_>, whole: &'a [u8]) -> Option<Query<'a>> {
    let asks = osc
        .text
        .split(|byte| *byte == b';')
        .any(|part| part == b"?");
    match osc.number {
        10..=12 if osc.text == b"?" => {
            let (number, end) = (osc.number, osc.end);
            Some(Query::Color { number, end })
        }
        // The same command sets and queries a clipboard.
        4 | 5 | 10..=19 | 22 | 52 | 5522 if asks => Some(Query::Other(whole)),
        21 if osc.text.contains(&b'?') => Some(Query::Other(whole)),
        99 if osc.text.windows(3).any(|part| part == b"p=?") => Some(Query::Other(whole)),
        60 | 61 => Some(Query::Other(whole)),
        1337 if osc.text.starts_with(b"Report") || osc.text.starts_with(b"Capabilities") => {
            Some(Query::Other(whole))
        }
        _ => None,
    }
}

fn dcs(sequence: &[u8]) -> Option<Query<'_>> {
    match sequence {
        [0x1b, b'P', b'$', b'q', ..] => Some(Query::Setting),
        [0x1b, b'P', b'+', b'q', ..] => Some(Query::Capability),
        // DECRSPS and the like have no reply.
        _ => None,
    }
}

/// Image commands of kitty's graphics protocol have a reply unless `q=2` suppresses it.
fn graphics(sequence: &[u8]) -> Option<Query<'_>> {
    let control = sequence.strip_prefix(b"\x1b_G")?;
    let control = control
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default();
    let is_silent = control.split(|byte| *byte == b',').any(|key| key == b"q=2");
    (!is_silent).then_some(Query::Other(sequence))
}

/// State that replies depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyFacts<'a> {
    pub(super) rows: u16,
    pub(super) cols: u16,
    /// Row and column of the cursor, from 1 and relative to the origin.
    pub(super) cursor: (u16, u16),
    pub(super) keyboard_flags: u16,
    /// Whether the queried mode is set; `None` if unknown.
    pub(super) mode: Option<bool>,
    /// The colour that OSC 10, 11 or 12 was set to.
    pub(super) color: Option<&'a [u8]>,
}

/// Appends the reply to a query, if it has one.
pub(super) fn write_reply(query: Query<'_>, facts: &ReplyFacts<'_>, out: &mut Vec<u8>) {
    let ReplyFacts {
        rows,
        cols,
        cursor: (row, col),
        keyboard_flags,
        ..
    } = *facts;
    let text = match query {
        // A VT220 with colours.
        Query::Attributes => "\x1b[?62;22c".to_owned(),
        Query::SecondaryAttributes => "\x1b[>1;10;0c".to_owned(),
        Query::TertiaryAttributes => "\x1bP!|00000000\x1b\\".to_owned(),
        Query::Version => {
            concat!("\x1bP>|bowline(", env!("CARGO_PKG_VERSION"), ")\x1b\\").to_owned()
        }
        Query::Status => "\x1b[0n".to_owned(),
        Query::Cursor { is_private: false } => format!("\x1b[{row};{col}R"),
        Query::Cursor { is_private: true } => format!("\x1b[?{row};{col};1R"),
        Query::Mode { is_private, mode } => {
            let marker = if is_private { "?" } else { "" };
            let state = facts.mode.map_or(0, |on| if on { 1 } else { 2 });
            format!("\x1b[{marker}{mode};{state}$y")
        }
        Query::Keyboard => format!("\x1b[?{keyboard_flags}u"),
        Query::Size => format!("\x1b[8;{rows};{cols}t"),
        Query::Color { number, end } => {
            let color = facts.color.and_then(color);
            let color = color.unwrap_or_else(|| default_color(number).to_owned());
            format!("\x1b]{number};{color}{end}")
        }
        Query::Setting => "\x1bP0$r\x1b\\".to_owned(),
        Query::Capability => "\x1bP0+r\x1b\\".to_owned(),
        Query::Other(_) => return,
    };
    out.extend(text.bytes());
}

/// Default text, background and cursor colour: light on dark.
fn default_color(number: u16) -> &'static str {
    if number == 11 {
        "rgb:0000/0000/0000"
    } else {
        "rgb:ffff/ffff/ffff"
    }
}

/// Returns a colour as reported by terminals, from `rgb:` or `#rrggbb`.
fn color(spec: &[u8]) -> Option<String> {
    let spec = std::str::from_utf8(spec).ok()?;
    if spec.starts_with("rgb:") && spec.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Some(spec.to_owned());
    }
    let digits = spec.strip_prefix('#')?;
    let is_hex = digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let part = |at: usize| digits.get(at..at + 2).map(|part| format!("{part}{part}"));
    is_hex.then(|| Some(format!("rgb:{}/{}/{}", part(0)?, part(2)?, part(4)?)))?
}
