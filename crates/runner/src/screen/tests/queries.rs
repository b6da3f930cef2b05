//! Replies to terminal queries while no client is attached.

use bowline_transport::WindowSize;

use super::SIZE;
use crate::screen::SessionScreen;
use crate::screen::tests::oracle::Oracle;

fn replies(output: &[u8]) -> String {
    let mut screen = SessionScreen::new(SIZE);
    screen.set_replies_enabled(true);
    screen.feed(0, output);
    String::from_utf8(screen.take_replies().to_vec()).unwrap()
}

#[test]
fn queries_have_replies() {
    let cases: [(&[u8], &str); 19] = [
        (b"\x1b[c", "\x1b[?62;22c"),
        (b"\x1b[0c", "\x1b[?62;22c"),
        (b"\x1bZ", "\x1b[?62;22c"),
        (b"\x1b[>c", "\x1b[>1;10;0c"),
        (b"\x1b[=c", "\x1bP!|00000000\x1b\\"),
        (b"\x1b[5n", "\x1b[0n"),
        (b"ab\r\ncd\x1b[6n", "\x1b[2;3R"),
        (b"\x1b[4;7H\x1b[?6n", "\x1b[?4;7;1R"),
        (b"\x1b[18t", "\x1b[8;8;30t"),
        (b"\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"),
        (b"\x1b]10;?\x1b\\", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
        (
            b"\x1b]11;#102030\x07\x1b]11;?\x1b\\",
            "\x1b]11;rgb:1010/2020/3030\x1b\\",
        ),
        (
            b"\x1b]10;red;rgb:1/2/3\x07\x1b]11;?\x07",
            "\x1b]11;rgb:1/2/3\x07",
        ),
        (b"\x1b[>1u\x1b[>5u\x1b[?u", "\x1b[?5u"),
        (
            b"\x1b[>1u\x1b[?1049h\x1b[?u\x1b[?1049l\x1b[?u",
            "\x1b[?0u\x1b[?1u",
        ),
        (
            b"\x1b[?2004h\x1b[?2004$p\x1b[?25$p",
            "\x1b[?2004;1$y\x1b[?25;1$y",
        ),
        (b"\x1b[?9999$p\x1b[4$p", "\x1b[?9999;0$y\x1b[4;2$y"),
        (
            b"\x1bP+q544e\x1b\\\x1bP$qm\x1b\\",
            "\x1bP0+r\x1b\\\x1bP0$r\x1b\\",
        ),
        // Queries about the client's own state have no reply.
        (
            b"\x1b]0;secret\x07\x1b[21t\x1b]52;c;?\x07\x1b[14t\x1b_Gi=1,a=q;AA\x1b\\",
            "",
        ),
    ];
    for (asked, answered) in cases {
        let asked_of = String::from_utf8_lossy(asked).into_owned();
        assert_eq!(replies(asked), answered, "{asked_of:?}");
    }
}

#[test]
fn replies_can_be_disabled_and_are_bounded() {
    let mut screen = SessionScreen::new(SIZE);
    screen.feed(0, b"\x1b[c");
    assert!(screen.take_replies().is_empty());
    screen.set_replies_enabled(true);
    assert!(
        screen.take_replies().is_empty(),
        "earlier queries belong to another client"
    );
    screen.feed(3, &b"\x1b[c".repeat(100_000));
    assert!(screen.take_replies().len() < 5_000);
    screen.feed(300_003, b"\x1b[c");
    screen.set_replies_enabled(false);
    assert!(screen.take_replies().is_empty());
}

/// A query that is cut by the handoff gets one reply, from the new client.
#[test]
fn cut_query_gets_one_reply() {
    let mut screen = SessionScreen::new(SIZE);
    screen.set_replies_enabled(true);
    screen.feed(0, b"text\x1b[");
    let snapshot = screen.snapshot();
    screen.set_replies_enabled(false);
    screen.feed(6, b"6n");
    assert!(screen.take_replies().is_empty());
    let mut client = Oracle::new(SIZE);
    client.feed(&snapshot.bytes);
    client.feed(&b"text\x1b[6n"[snapshot.at_offset as usize..]);
    assert_eq!(client.replies(), ["\x1b[1;5R"]);
}

#[test]
fn cursor_report_matches_another_terminal() {
    let outputs: [&[u8]; 9] = [
        b"",
        b"abc",
        b"\x1b[8;30H",
        b"\x1b[8;30Hx",
        b"\x1b[3;30Hxy",
        b"\x1b[3;6r\x1b[?6h\x1b[2;5H",
        b"\x1b[?1049h\x1b[4;4Hab",
        "\x1b[2;29H漢".as_bytes(),
        b"\x1b[5;5H\x1b7\x1b[1;1H\x1b8",
    ];
    for output in outputs {
        let mut oracle = Oracle::new(SIZE);
        oracle.feed(output);
        let (mut row, col) = oracle.cursor();
        // The other terminal does not report the row relative to the origin (DECOM).
        if output.starts_with(b"\x1b[3;6r") {
            row -= 2;
        }
        let reply = replies(&[output, b"\x1b[6n"].concat());
        assert_eq!(reply, format!("\x1b[{row};{col}R"), "{}", oracle.text());
    }
}

#[test]
fn extreme_sizes_do_not_panic() {
    for (rows, cols) in [(0, 0), (1, 1), (u16::MAX, 1), (1, u16::MAX), (2, 1_000)] {
        let mut screen = SessionScreen::new(WindowSize::new(rows, cols));
        screen.feed(0, "ab漢\r\n\x1b[5;5Hx\x1b[6n\x1b[?1049h".as_bytes());
        let _ = screen.snapshot();
        screen.resize(WindowSize::new(cols, rows));
        screen.feed(screen.end(), b"more\x1b[2Jtext\x1b[?1049l");
        let _ = screen.snapshot();
        assert_eq!(screen.faults(), 0, "{rows} rows, {cols} columns");
    }
}
