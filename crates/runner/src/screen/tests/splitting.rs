//! Splitting into tokens, and bounded memory for endless strings.

use proptest::prelude::*;

use super::SIZE;
use crate::screen::SessionScreen;
use crate::screen::splitter::{OutputToken, SequenceKind, SequenceSplitter};
use crate::screen::tests::oracle::{Oracle, same};

/// Returns the tokens, with adjacent text joined, and the incomplete sequence.
fn tokens(output: &[u8], chunk: usize) -> (Vec<String>, Vec<u8>) {
    let (mut splitter, mut tokens, mut text) =
        (SequenceSplitter::default(), Vec::new(), Vec::new());
    for chunk in output.chunks(chunk) {
        splitter.feed(chunk, |token| {
            if let OutputToken::Text(more) = token {
                return text.extend_from_slice(more);
            }
            end_text(&mut text, &mut tokens);
            tokens.push(format!("{token:?}"));
        });
    }
    end_text(&mut text, &mut tokens);
    (tokens, splitter.held().to_vec())
}

fn end_text(text: &mut Vec<u8>, tokens: &mut Vec<String>) {
    if !text.is_empty() {
        tokens.push(format!("{:?}", OutputToken::Text(text)));
        text.clear();
    }
}

#[test]
fn sequences_match_the_dec_parser() {
    use OutputToken::{Aborted, Sequence, Text};
    use SequenceKind::{Csi, Dcs, Escape, Osc, Other};
    let cases: [&[OutputToken<'_>]; 11] = [
        &[Text(b"a"), Sequence(Csi, b"\x1b[1m"), Text(b"b")],
        &[Sequence(Escape, b"\x1b(0"), Sequence(Escape, b"\x1b7")],
        &[Sequence(Osc, b"\x1b]0;t\x07"), Text(b"x")],
        &[Sequence(Osc, b"\x1b]0;t\x1b\\"), Text(b"x")],
        // A string ends at any ESC, which may begin another sequence.
        &[Sequence(Osc, b"\x1b]0;t"), Sequence(Csi, b"\x1b[m")],
        &[Sequence(Dcs, b"\x1bPq\x07#\x1b\\")],
        &[Sequence(Other, b"\x1b_G\x1b\\")],
        // Controls inside, and aborted sequences.
        &[Sequence(Csi, b"\x1b[3\n1m")],
        &[Aborted(b"\x1b[3\x18"), Text(b"x")],
        &[Aborted(b"\x1b[3"), Sequence(Csi, b"\x1b[m")],
        &[Aborted(b"\x1b"), Sequence(Csi, b"\x1b[m")],
    ];
    for expected in cases {
        let mut output = Vec::new();
        for token in expected {
            let (Text(bytes) | Sequence(_, bytes) | Aborted(bytes)) = token else {
                unreachable!()
            };
            output.extend_from_slice(bytes);
        }
        let expected: Vec<_> = expected.iter().map(|token| format!("{token:?}")).collect();
        assert_eq!(tokens(&output, 1).0, expected);
    }
}

proptest! {
    #[test]
    fn tokens_do_not_depend_on_chunks(
        output in prop::collection::vec(byte(), 0..200),
        chunk in 1..20_usize,
    ) {
        prop_assert_eq!(tokens(&output, chunk), tokens(&output, usize::MAX));
    }

    #[test]
    fn no_byte_is_lost(output in prop::collection::vec(byte(), 0..200)) {
        let (mut splitter, mut seen) = (SequenceSplitter::default(), Vec::<u8>::new());
        splitter.feed(&output, |token| match token {
            OutputToken::Text(bytes) | OutputToken::Sequence(_, bytes) | OutputToken::Aborted(bytes) => seen.extend(bytes),
            OutputToken::Skipped => unreachable!("200 bytes are held"),
        });
        seen.extend(splitter.held());
        prop_assert_eq!(seen, output);
    }

    /// No output makes the screen panic, and no snapshot contains a query.
    #[test]
    fn random_output_does_not_panic(output in prop::collection::vec(byte(), 0..400), chunk in 1..50_usize) {
        let mut screen = SessionScreen::new(SIZE);
        screen.set_replies_enabled(true);
        for (at, chunk_of) in output.chunks(chunk).enumerate() {
            screen.feed((at * chunk) as u64, chunk_of);
        }
        let snapshot = screen.snapshot();
        prop_assert!(output.len() as u64 - snapshot.at_offset <= output.len() as u64);
        prop_assert_eq!(screen.faults(), 0);
        let mut client = Oracle::new(SIZE);
        client.feed(&snapshot.bytes);
        prop_assert_eq!(client.replies(), Vec::<String>::new());
    }
}

/// Bytes with a meaning in sequences, more often than others.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        4 => prop::sample::select(&b"\x1b\x1b\x1b[]P_;?>0123hlmHJKrsu\\\x07\x18\n\r\t"[..]),
        1 => any::<u8>(),
    ]
}

/// Endless strings take no memory, and a client that attaches within one does not display it.
#[test]
fn endless_strings_are_neither_kept_nor_displayed() {
    for (open, close) in [
        ("\x1bPq", "\x1b\\"),
        ("\x1b]1337;File=:", "\x07"),
        ("\x1b_Gq=2;", "\x1b\\"),
    ] {
        let mut screen = SessionScreen::new(SIZE);
        let before = format!("before\r\n{open}");
        let inside = "0123456789abcdef".repeat(1_000);
        screen.feed(0, before.as_bytes());
        for _ in 0..20 {
            screen.feed(screen.end(), inside.as_bytes());
        }
        assert!(screen.splitter.held().len() <= 64 << 10);
        let snapshot = screen.snapshot();
        assert_eq!(
            snapshot.at_offset,
            screen.end(),
            "dropped bytes are not requested again"
        );
        let rest = format!("{inside}{close}after");
        let mut client = Oracle::new(SIZE);
        client.feed(&snapshot.bytes);
        client.feed(rest.as_bytes());
        let mut direct = Oracle::new(SIZE);
        direct.feed(b"before\r\nafter");
        same(&direct, &client).unwrap();
        screen.feed(screen.end(), rest.as_bytes());
        let mut late = Oracle::new(SIZE);
        late.feed(&screen.snapshot().bytes);
        late.feed(b"r");
        same(&direct, &late).unwrap();
    }
}

#[test]
fn repeated_bytes_are_skipped_and_gaps_tolerated() {
    let mut screen = SessionScreen::new(SIZE);
    screen.feed(0, b"one ");
    screen.feed(2, b"e two\x1b[3");
    screen.feed(0, b"one");
    assert_eq!(screen.end(), 10);
    screen.feed(500, b" three.");
    let mut client = Oracle::new(SIZE);
    client.feed(&screen.snapshot().bytes);
    assert_eq!(client.text().trim(), "one two three");
}
