use super::sgr::SgrState;
use super::*;

fn lines_of(bytes: &[u8], limits: LineLimits) -> Vec<Line> {
    let (mut buffer, mut lines) = (LineBuffer::new(limits), Vec::new());
    buffer.push(bytes, |line| lines.push(line));
    lines.extend(buffer.finish());
    lines
}

fn texts(input: &str) -> Vec<String> {
    let lines = lines_of(input.as_bytes(), LineLimits::default());
    lines.into_iter().map(|line| line.text).collect()
}

fn wide(columns: u16) -> LineLimits {
    LineLimits {
        columns: Some(columns),
        ..LineLimits::default()
    }
}

#[test]
fn partial_line_waits_for_its_end() {
    let mut buffer = LineBuffer::default();
    buffer.push(b"hel", |line| panic!("{line:?} is not finished"));
    assert_eq!(buffer.partial(), "hel");
    let mut lines = Vec::new();
    buffer.push(b"lo\nwor", |line| lines.push(line.text));
    assert_eq!(
        (lines, buffer.partial()),
        (vec!["hello".to_owned()], "wor".to_owned())
    );
    assert_eq!(buffer.finish().unwrap().text, "wor");
    assert_eq!(buffer.finish(), None);
}

#[test]
fn chunk_is_split_at_each_newline() {
    assert_eq!(texts("a\nb\r\n\n\r\nc\r\r\n"), ["a", "b", "", "", "c"]);
}

#[test]
fn colours_are_kept() {
    for line in [
        "\x1b[31mred\x1b[0m",
        "\x1b[1;4:3;38;2;1;2;3mx\x1b[m",
        "a\x1b[38:5:200mb\x1b[39m",
        "\x1b[1m\x1b[31mtwice\x1b[22;39m",
    ] {
        assert_eq!(texts(&format!("{line}\n")), [line]);
    }
}

#[test]
fn escapes_except_sgr_are_stripped() {
    let sequences = [
        "\x1b[2J",
        "\x1b[H",
        "\x1b[10;5H",
        "\x1b[1A",
        "\x1b[3B",
        "\x1b[?25l",
        "\x1b[?2004h",
        "\x1b[>4;2m",
        "\x1b[?4m",
        "\x1b[!p",
        "\x1b[ q",
        "\x1b[4 m",
        "\x1b]0;title\x07",
        "\x1b]8;;http://x\x1b\\",
        "\x1bPq#0;2;0\nx\x1b\\",
        "\x1b_Gi=1;AAAA\x1b\\",
        "\x1b^private\x1b\\",
        "\x1bXstring\x1b\\",
        "\x1b7",
        "\x1b8",
        "\x1b=",
        "\x1b(B",
        "\x1b#8",
        "\x1bM",
        "\u{9b}2J",
        "\u{9d}0;t\u{9c}",
        "\u{90}dcs\u{9c}",
        "\u{9f}apc\u{9c}",
        "\u{9e}pm\u{9c}",
        "\u{98}sos\u{9c}",
        "\u{85}",
        "\x07",
        "\0",
        "\x7f",
        "\x0b",
        "\x0c",
        "\x0e",
        "\x1b[\x18",
        "\x1b]0;t\x1a",
        "\x1b]0;T\u{dc}\u{e9}\x07",
    ];
    for sequence in sequences {
        assert_eq!(
            texts(&format!("one {sequence}two\n")),
            ["one two"],
            "{sequence:?}"
        );
    }
    assert_eq!(texts("a\u{9b}31mb"), ["a\x1b[31mb"]);
}

#[test]
fn progress_bar_keeps_last_state() {
    assert_eq!(texts(" 1%\r 50%\r100%\n"), ["100%"]);
    assert_eq!(texts("downloading\rdone\x1b[K\n"), ["done"]);
    assert_eq!(texts("downloading\r\x1b[2Kdone\n"), ["done"]);
    assert_eq!(texts("building\x1b[2K\x1b[1Gdone\n"), ["done"]);
    assert_eq!(texts("downloading\rdone\n"), ["doneloading"]);
    assert_eq!(
        texts("\x1b[32m 50%\x1b[0m\r\x1b[32m100%\x1b[0m\n"),
        ["\x1b[32m100%\x1b[0m"]
    );
    assert_eq!(texts("\x1b[31mABCD\x1b[0m\rxy\n"), ["xy\x1b[31mCD\x1b[0m"]);
    assert_eq!(texts("abc\r\x1b[0Jd\n"), ["d"]);
}

#[test]
fn cursor_moves_edit_the_line() {
    assert_eq!(texts("hix\x08 \x08\n"), ["hi"]);
    assert_eq!(texts("$ \x08\x08# \n"), ["# "]);
    assert_eq!(texts("one\x1b[Ctwo\x1b[3Cthree\n"), ["one two   three"]);
    assert_eq!(texts("abcd\x1b[3DX\n"), ["aXcd"]);
    assert_eq!(texts("abcd\x1b[2G\x1b[P\n"), ["acd"]);
    assert_eq!(texts("abcd\x1b[2G\x1b[@X\n"), ["aXbc"]);
    assert_eq!(texts("abcd\x1b[2G\x1b[1K\n"), ["  cd"]);
    assert_eq!(texts("a\tb\rc\n"), ["c\tb"]);
}

#[test]
fn carriage_return_returns_to_start_of_row() {
    let line = |input: &str| lines_of(input.as_bytes(), wide(4)).remove(0).text;
    assert_eq!(line("abcdef\rX"), "abcdXf");
    assert_eq!(line("abcd\rX"), "Xbcd");
    assert_eq!(line("abcd \rX"), "abcdX");
    assert_eq!(line("abcdef\x1b[A\rX"), "Xbcdef");
    assert_eq!(line("abcdef\x08\x08\x08X"), "abcdXf");
}

#[test]
fn endless_line_is_cut_and_counted() {
    let limits = LineLimits {
        max_line: 5,
        columns: None,
    };
    let input = format!("\x1b[31m{}\x1b[0m\nok\n", "\u{e9}".repeat(12));
    let lines = lines_of(input.as_bytes(), limits);
    let text = "\x1b[31m\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\x1b[0m [7 characters cut]";
    assert_eq!((lines[0].text.as_str(), lines[0].cut), (text, 7));
    assert_eq!((lines[1].text.as_str(), lines[1].cut), ("ok", 0));
    let lines = lines_of(b"1234567\rab\x1b[Kc\n", limits);
    assert_eq!((lines[0].text.as_str(), lines[0].cut), ("abc", 0));
}

#[test]
fn unterminated_string_hides_only_its_line() {
    assert_eq!(texts("a\x1b]0;never ended\nb\n"), ["a", "b"]);
    let picture = format!("\x1bP{}\nb\n", "x\n".repeat(3 << 20));
    assert_eq!(texts(&picture).last().unwrap(), "b");
}

#[test]
fn invalid_utf8_is_replaced_like_std() {
    for bytes in [
        &b"\xff\xfe a \xc3("[..],
        b"\xe2\x82",
        b"\xe2\x82x",
        b"\xf0\x9f\x98",
        b"\xed\xa0\x80z",
        b"\xc0\xaf",
        b"\xf4\x90\x80\x80",
        b"\xe2\xe2\x82\xac",
        b"\x80\x9b\xc2",
    ] {
        let line = lines_of(bytes, LineLimits::default()).remove(0).text;
        assert_eq!(line, String::from_utf8_lossy(bytes), "{bytes:?}");
    }
}

#[test]
fn work_is_linear_in_bytes() {
    // Sequences with large effects: a far move, an erasure, a shift, a return.
    let work = |count: usize| {
        let hostile = "x\x1b[65000G.\x1b[1K\x1b[9999@\x1b[9999P\r".repeat(count);
        let mut buffer = LineBuffer::default();
        buffer.push(hostile.as_bytes(), |line| panic!("{line:?} has no end"));
        buffer.row.work as f64 / hostile.len() as f64
    };
    let (few, many) = (work(1_000), work(20_000));
    assert!(many < few * 1.2, "{few} and {many} cells a byte");
}

mod any_input {
    use super::*;
    use proptest::prelude::*;

    /// Streams of what matters: text, line controls, sequences whole and broken, raw bytes.
    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            4 => "[a-z ]{1,6}".prop_map(String::into_bytes),
            2 => prop::sample::select(vec!["\r", "\n", "\r\n", "\x08", "\t", "\u{e9}\u{4e2d}", "\u{9b}1m", "\u{9d}t\u{9c}"])
                .prop_map(|text| text.as_bytes().to_vec()),
            2 => (prop::sample::select(b"KJGCDAP@Hmmmmhl".to_vec()), "[0-9;]{0,5}")
                .prop_map(|(last, body)| format!("\x1b[{body}{}", char::from(last)).into_bytes()),
            1 => prop::sample::select(vec!["\x1b]0;t\x07", "\x1bPq\x1b\\", "\x1b_a", "\x1b(B", "\x1bc", "\x1b[38;5;9m"])
                .prop_map(|text| text.as_bytes().to_vec()),
            1 => prop::collection::vec(any::<u8>(), 0..6),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    fn limits() -> impl Strategy<Value = LineLimits> {
        (1..40_usize, prop::option::of(1..12_u16))
            .prop_map(|(max_line, columns)| LineLimits { max_line, columns })
    }

    /// Returns the text with the SGR attributes of each visible character.
    fn seen(lines: &[Line]) -> Vec<(Vec<(char, SgrState)>, u64)> {
        let mut sgr = SgrState::default();
        lines
            .iter()
            .map(|line| {
                let mut cells = Vec::new();
                Scanner::default().push(line.text.as_bytes(), |token| match token {
                    Token::Text(text) => {
                        cells.extend(text.chars().map(|character| (character, sgr)))
                    }
                    Token::Control(control) => cells.push((char::from(control), sgr)),
                    Token::Csi { body, .. } => sgr.apply(body),
                    Token::Reset => unreachable!(),
                });
                let blank = (' ', SgrState::default());
                let end = cells
                    .iter()
                    .rposition(|cell| *cell != blank)
                    .map_or(0, |last| last + 1);
                cells.truncate(end);
                (cells, line.cut)
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn any_split_gives_same_lines(bytes in stream(), limits in limits(), cut in any::<prop::sample::Index>()) {
            let whole = lines_of(&bytes, limits);
            let cut = cut.index(bytes.len() + 1);
            for chunks in [vec![&bytes[..cut], &bytes[cut..]], bytes.chunks(1).collect()] {
                let (mut buffer, mut lines) = (LineBuffer::new(limits), Vec::new());
                for chunk in chunks {
                    buffer.push(chunk, |line| lines.push(line));
                }
                lines.extend(buffer.finish());
                prop_assert_eq!(&lines, &whole);
            }
        }

        #[test]
        fn output_is_text_tabs_and_sgr(bytes in stream(), limits in limits()) {
            for line in lines_of(&bytes, limits) {
                let mut rest = line.text.as_str();
                while let Some((_, after)) = rest.split_once('\x1b') {
                    let (body, after) = after.split_once('m').unwrap();
                    prop_assert!(body.strip_prefix('[').unwrap().bytes().all(|byte| matches!(byte, b'0'..=b';')));
                    rest = after;
                }
                prop_assert!(!line.text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\x1b')));
                prop_assert!(line.text.chars().count() < limits.max_line * 64 + 64);
            }
        }

        /// The line as bytes and the line as cells are two ways to the same end.
        #[test]
        fn appended_line_equals_edited_line(bytes in stream(), limits in limits()) {
            let (mut buffer, mut lines) = (LineBuffer::new(limits), Vec::new());
            buffer.row.edit_always();
            for byte in &bytes {
                buffer.push(std::slice::from_ref(byte), |line| lines.push(line));
                buffer.row.edit_always();
            }
            lines.extend(buffer.finish());
            prop_assert_eq!(seen(&lines), seen(&lines_of(&bytes, limits)));
        }
    }
}
