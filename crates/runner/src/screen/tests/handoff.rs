//! Handoff of a screen to a client, and comparison of that client with one that was attached
//! throughout.
//!
//! `cargo stress screens` includes this file with its neighbours [`oracle`], `sessions` and
//! `programs`: they refer only to each other.

use bowline_transport::WindowSize;

use super::SessionScreen;
use super::oracle::{self, Oracle};

/// Output of an earlier session that has changed all state of a client's terminal, and ends within
/// a sequence.
pub(super) const DIRT: &[u8] =
    b"some text\r\n\x1b]0;other\x07\x1b]4;1;#123456\x07\x1b]11;#222222\x07\x1b[?1049h\
    \x1b[>5u\x1b[>1u\x1b[?1;5;6;12;45;69;1000;1003;1004;1006;2004h\x1b[4h\x1b[20h\x1b[?7l\x1b[?25l\
    \x1b=\x1b(0\x1b)0\x0e\x1b[3;6r\x1b[2;9s\x1b[3g\x1b[5;5H\x1bH\x1b[1;3;4;31;44m\x1b[5 q\x1b[>4;2m\
    \x1b]8;;http://other\x1b\\junk\x1b7\x1b[38;2;";

/// Feeds output up to a cut, hands the screen off to a client with [`DIRT`], and feeds it the rest.
pub(super) fn hand_off(size: WindowSize, output: &[u8], cut: usize) -> Oracle {
    let mut screen = SessionScreen::new(size);
    screen.feed(0, &output[..cut]);
    let snapshot = screen.snapshot();
    let from = snapshot.at_offset as usize;
    assert!(from <= cut && screen.faults() == 0);
    let mut client = Oracle::new(size);
    client.feed(DIRT);
    assert_eq!(client.replies(), [""; 0]);
    client.feed(&snapshot.bytes);
    assert_eq!(client.replies(), [""; 0], "a snapshot has no queries");
    client.feed(&output[from..]);
    client
}

/// Continuations that expose invisible state: repeats, tab stops, margins, saved cursors, character
/// sets, the other screen, stacks.
const PROBES: [&[u8]; 20] = [
    b"Z",
    b"\x1b[2b",
    "e\u{301}".as_bytes(),
    b"\x1b[K",
    b"\tT\tU",
    b"\r\nL\n\nM",
    b"\x1bM\x1bMr",
    b"\x1b7\x1b[1;1HS\x1b8",
    b"\x1b[1;1Ho",
    b"\x1b[999;999Hx",
    b"qxj\x0eqxj\x0fqxj",
    b"\n\n\nabc",
    b"\x1b[4lins",
    b"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
    b"\x1b8R",
    b"\x1b[<1u",
    b"\x1b[23;0t",
    b"\x1b[?1049lm",
    b"\x1b8N\x1b[<1u",
    b"\x1b[?1049ha\x1b[<1u",
];

/// Compares a client with a terminal that has read everything, now and after each probe.
pub(super) fn compare(direct: &mut Oracle, client: &mut Oracle) -> Result<(), String> {
    oracle::same_colors(direct, client)?;
    oracle::same(direct, client).map_err(|difference| format!("at once: {difference}"))?;
    for probe in PROBES {
        direct.feed(probe);
        client.feed(probe);
        let shown = String::from_utf8_lossy(probe);
        oracle::same(direct, client).map_err(|it| format!("after {shown:?}: {it}"))?;
    }
    Ok(())
}
