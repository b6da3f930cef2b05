//! The features of a terminal, each handed off at every byte.

use super::{SIZE, compare, hand_off};
use crate::screen::tests::oracle::Oracle;

/// A feature, and output that uses it.
pub(super) const FEATURES: [(&str, &[u8]); 37] = [
    ("plain text", b"one\r\ntwo\r\nthree"),
    (
        "colours",
        b"\x1b[31mred\x1b[44mon blue\x1b[38;5;200mindexed\x1b[48;2;1;2;3mtrue\x1b[39mend",
    ),
    (
        "bright colours",
        b"\x1b[97;104mbright\x1b[92mer\x1b[m plain",
    ),
    (
        "attributes",
        b"\x1b[1mbold\x1b[22;2mdim\x1b[3mitalic\x1b[4munder\x1b[7minv\x1b[8mhid\x1b[22;23mx",
    ),
    ("struck out", b"\x1b[9mstruck\x1b[29m not\x1b[9m again"),
    (
        "underlines",
        b"\x1b[4:3mcurly\x1b[4:4mdots\x1b[4:5mdash\x1b[4:2mdouble\x1b[58:2::9:8:7mcolour",
    ),
    (
        "background erase",
        b"\x1b[42m\x1b[2J\x1b[3;3Hgreen\x1b[K\x1b[m\x1b[5;1H\x1b[45m\x1b[2K",
    ),
    ("cursor place", b"top\x1b[5;17H"),
    ("wrap pending", b"\x1b[2;1Habcdefghijklmnopqrstuvwxyz0123"),
    (
        "wrap pending at the corner",
        b"\x1b[8;1Habcdefghijklmnopqrstuvwxyz0123",
    ),
    (
        "wrapped line",
        b"abcdefghijklmnopqrstuvwxyz0123456789 and on",
    ),
    ("no wrap", b"\x1b[?7l\x1b[3;25Habcdefghijk"),
    (
        "wide characters",
        "\x1b[2;2H漢字かな \x1b[3;28H漢字漢字".as_bytes(),
    ),
    (
        "accents",
        "e\u{301}a\u{308}\u{323} x\u{20dd} \u{1f469}\u{200d}\u{1f4bb}".as_bytes(),
    ),
    ("repeat", b"ab\x1b[5bc\x1b[31md\x1b[3b"),
    (
        "scroll region",
        b"1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\x1b[3;5r\x1b[5;1H\n\nin\x1b[4;2H",
    ),
    ("origin mode", b"\x1b[3;6r\x1b[?6h\x1b[2;2Hinside"),
    ("insert mode", b"abcdef\x1b[1;3H\x1b[4hXY"),
    (
        "tab stops",
        b"\x1b[3g\x1b[1;5H\x1bH\x1b[1;12H\x1bH\r\ta\tb\r\n",
    ),
    ("no tab stops", b"\x1b[3g\r\tx"),
    (
        "line drawing",
        b"\x1b(0lqqk\x1b(Bplain\x1b)0\x0exx\x0fy\x0e",
    ),
    (
        "saved cursor",
        b"\x1b[3;4H\x1b[1;33m\x1b7\x1b[m\x1b[6;6Haway",
    ),
    (
        "saved cursor with a wrap",
        b"\x1b[2;1Habcdefghijklmnopqrstuvwxyz0123\x1b7\x1b[5;5H",
    ),
    ("saved charset", b"\x1b(0\x1b[2;2H\x1b7\x1b(B\x1b[4;4Hqq"),
    ("alternate screen", b"main\r\nscreen\x1b[?1049h\x1b[2;2Halt"),
    (
        "back from the alternate screen",
        b"main\x1b[1;31m\x1b[?1049h\x1b[Halt\x1b[?1049lmore",
    ),
    (
        "pen of the main screen",
        b"\x1b[1;32mmain\x1b[?1049h\x1b[m\x1b[4;4Halt\x1b[7m",
    ),
    ("cursor hidden", b"\x1b[?25lhidden"),
    ("cursor style", b"\x1b[4 qunder\x1b[?12h"),
    ("application keys", b"\x1b[?1h\x1b=keys"),
    ("mouse", b"\x1b[?1003h\x1b[?1006h\x1b[?1000hmouse"),
    ("focus and paste", b"\x1b[?1004h\x1b[?2004hpaste"),
    (
        "keyboard protocol",
        b"\x1b[>1u\x1b[>5u\x1b[?1049h\x1b[>3uin\x1b[<1u\x1b[>15u",
    ),
    (
        "titles",
        b"\x1b]2;first\x07\x1b[22;0t\x1b]0;second\x1b\\text",
    ),
    (
        "palette",
        b"\x1b]4;1;#102030;2;rgb:40/50/60\x1b\\\x1b]10;#ffeedd\x07\x1b]11;#010203\x07x",
    ),
    (
        "links",
        b"\x1b]8;id=a;http://x/y;z\x1b\\link\x1b]8;;\x1b\\ not \x1b]8;;http://w\x07open",
    ),
    ("new line mode", b"\x1b[20hone\ntwo\nthree"),
];

/// A client that attaches after each prefix of the output.
#[test]
fn every_feature_survives_a_handoff_at_every_byte() {
    let mut wrong = Vec::new();
    for (feature, output) in FEATURES {
        let differences: Vec<_> = (0..=output.len())
            .filter_map(|cut| difference(output, cut).map(|it| format!("{feature} at {cut}: {it}")))
            .collect();
        if let Some(first) = differences.first() {
            wrong.push(format!(
                "{} of {}: {first}",
                differences.len(),
                output.len() + 1
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of 37 are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Returns the first difference of a client that attaches after `cut` bytes, for several
/// continuations.
fn difference(output: &[u8], cut: usize) -> Option<String> {
    for first in [b"".as_slice(), b"z\x1b[2b", "\u{301}".as_bytes()] {
        let output = [output, first].concat();
        let mut direct = Oracle::new(SIZE);
        direct.feed(&output);
        let mut client = hand_off(SIZE, &output, cut);
        if let Err(difference) = compare(&mut direct, &mut client) {
            return Some(difference);
        }
    }
    None
}
