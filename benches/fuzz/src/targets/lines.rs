//! Lines of a terminal's output.

use bowline_shell::{Line, LineBuffer, LineLimits};

use super::{pieces, same, whole};
use crate::guided::{Check, Target};

/// Longest line, in characters; short, so that lines are truncated.
const LONGEST: usize = 40;

/// The first byte selects how the rest, output, is split; its lowest bits are the width of the
/// terminal.
pub(super) static LINES: Target = Target {
    name: "lines",
    what: "lines do not depend on chunk sizes, and contain only text, tabs and colours",
    longest: 300,
    seeds,
    dictionary: &OUTPUT,
    repair: whole,
    check,
};

/// Dictionary of control sequences.
pub(super) const OUTPUT: [&[u8]; 40] = [
    b"\x1b[",
    b"\x1b]0;",
    b"\x07",
    b"\x1b\\",
    b"\x1bP",
    b"\x1b_",
    b"\r\n",
    b"\r",
    b"\n",
    b"\x08",
    b"\t",
    b"\x1b[31m",
    b"\x1b[m",
    b"\x1b[38;5;9m",
    b"\x1b[48;2;1;2;3m",
    b"\x1b[4:3m",
    b"\x1b[K",
    b"\x1b[1K",
    b"\x1b[2J",
    b"\x1b[5G",
    b"\x1b[3C",
    b"\x1b[9D",
    b"\x1b[2P",
    b"\x1b[2@",
    b"\x1b[3X",
    b"\x1b[4b",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x1b7",
    b"\x1b8",
    b"\x1bM",
    b"\x1b[2;5r",
    b"\x1b[6n",
    b"\x1b[c",
    "é".as_bytes(),
    "漢".as_bytes(),
    "e\u{301}".as_bytes(),
    "🙂".as_bytes(),
    b"\xff",
    b"\x18",
];

/// Output of programs: seeds of every target that reads output.
pub(super) fn output() -> std::io::Result<Vec<Vec<u8>>> {
    let seeds: [&[u8]; 6] = [
        b"\x33$ ls\r\n\x1b[34mdir\x1b[0m  file\r\n",
        b"\x25 10%\r 50%\r100%\r\ndone\r\n",
        b"\x71\x1b[?1049h\x1b[2J\x1b[H\x1b[1;7mtitle\x1b[m\x1b[3;5Hrow\x1b[?1049l",
        b"\x11\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x1bP+q544e\x1b\\",
        "\u{42}a\u{301}漢字 \u{1b}[38;2;1;2;3m🙂\u{8}\u{8}xy\r\nend".as_bytes(),
        b"\xff\x1b[6n\x1b[c\x1b[>q\x1b]11;?\x07\x1b[?2026h\x1b[5;9r\x1b[2L\x1b[M",
    ];
    Ok(seeds.map(<[u8]>::to_vec).to_vec())
}

fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    output()
}

fn check() -> Result<Check, String> {
    Ok(Box::new(|input| {
        let Some((pattern, output)) = input.split_first() else {
            return Ok(());
        };
        let columns = match pattern & 3 {
            0 => None,
            some => Some(u16::from(some) * 7),
        };
        let limits = LineLimits {
            max_line: LONGEST,
            columns,
        };
        let whole = lines(limits, [output]);
        same(
            "in pieces",
            &lines(limits, pieces(output, *pattern)),
            &whole,
        )?;
        whole.iter().try_for_each(is_clean)
    }))
}

fn lines<'a>(limits: LineLimits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Line> {
    let (mut buffer, mut lines) = (LineBuffer::new(limits), Vec::new());
    for piece in pieces {
        buffer.push(piece, |line| lines.push(line));
    }
    // Reading a line does not change it.
    let _ = buffer.partial();
    let last = buffer.finish();
    if let Some(last) = last {
        lines.push(last);
    }
    lines
}

/// Returns whether a line has only text, tabs and colours.
fn is_clean(line: &Line) -> Result<(), String> {
    let mut rest = line.text.as_str();
    while let Some((_, tail)) = rest.split_once('\x1b') {
        let end = tail.find('m').ok_or("a sequence without an end")?;
        let (sequence, after) = tail.split_at(end);
        let parameters = sequence
            .strip_prefix('[')
            .ok_or("a sequence that is no colour")?;
        if !parameters
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
        {
            return Err(format!("a colour like {parameters:?}"));
        }
        rest = after;
    }
    let control = line
        .text
        .chars()
        .find(|it| it.is_control() && !matches!(it, '\t' | '\x1b'));
    control.map_or(Ok(()), |it| Err(format!("{it:?} in {:?}", line.text)))
}
