//! The replay filter.

use super::SIZE;
use crate::screen::ReplayFilter;
use crate::screen::tests::oracle::{Oracle, same};
use crate::screen::tests::replay_cases::{DROPPED, KEPT};

fn clean(output: &[u8], chunk: usize) -> Vec<u8> {
    let (mut cleaner, mut out) = (ReplayFilter::default(), Vec::new());
    for chunk in output.chunks(chunk) {
        cleaner.feed(chunk, &mut out);
    }
    out.extend(cleaner.rest());
    out
}

#[test]
fn queries_and_side_effects_are_removed() {
    let kept = KEPT.concat();
    let mut mixed = Vec::new();
    for (at, dropped) in DROPPED.iter().enumerate() {
        mixed.extend_from_slice(dropped);
        mixed.extend_from_slice(KEPT.get(at).copied().unwrap_or_default());
    }
    for chunk in [1, 2, 3, 7, 1_000_000] {
        assert_eq!(clean(&mixed, chunk), kept, "in chunks of {chunk}");
    }
}

/// Found by `cargo fuzz replay`: a control inside hid the query from the filter, not from a
/// terminal.
#[test]
fn query_with_a_control_inside_is_removed() {
    for output in [
        &b"a\x1b]11;?\x06\x1bMb"[..],
        b"a\x1b]4;1;\x01?\x07b",
        b"a\x1b]1\x050;?\x07b",
        b"a\x1b\x1c[6n",
        b"a\x1b\n\x01]11;?\x07b",
        b"a\x1b]\x1711;?;r\x1b\\b",
    ] {
        let mut client = Oracle::new(SIZE);
        client.feed(output);
        assert!(!client.replies().is_empty(), "{}", output.escape_ascii());
        client.feed(&clean(output, 1_000));
        assert_eq!(client.replies(), [""; 0], "{}", output.escape_ascii());
    }
}

/// Found by `cargo fuzz replay`: a terminal replied to this form as well.
#[test]
fn query_with_an_intermediate_byte_is_removed() {
    let output = b"a\x1b[>!cb";
    let mut client = Oracle::new(SIZE);
    client.feed(output);
    assert!(!client.replies().is_empty());
    assert_eq!(clean(output, 1_000), b"ab");
    // The cursor shape of the Linux console is no query (console_codes(4)).
    assert_eq!(clean(b"\x1b[?1c", 1_000), b"\x1b[?1c");
}

/// Found by `cargo fuzz replay`: removing a sequence joined its neighbours to a query.
#[test]
fn removal_does_not_create_a_query() {
    let output = b"\x1b]11;\x1b[\x1b[?2026h?\x07";
    let mut client = Oracle::new(SIZE);
    client.feed(&clean(output, 1_000));
    assert_eq!(client.replies(), [""; 0]);
}

#[test]
fn long_strings_are_removed() {
    let long = "x".repeat(5_000);
    for (open, close) in [
        ("\x1bP1q", "\x1b\\"),
        ("\x1b_", "\x1b\\"),
        ("\x1b^", "\x1b\\"),
        ("\x1b]0;", "\x07"),
    ] {
        let output = format!("a{open}{long}{close}b");
        assert_eq!(clean(output.as_bytes(), 1_000), b"ab");
        let output = format!("a{open}{}{close}b", long.repeat(100));
        assert_eq!(clean(output.as_bytes(), 1_000), b"ab");
        let output = format!("a{open}{}{close}b", "x".repeat(3_000));
        assert_eq!(clean(output.as_bytes(), 1_000), output.as_bytes());
    }
}

/// Ten thousand replays of random mixtures get no reply.
#[test]
fn replayed_queries_get_no_reply() {
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    for round in 0..10_000 {
        let mut output = Vec::new();
        for _ in 0..random(12) + 1 {
            let from: &[&[u8]] = if random(2) == 0 { &DROPPED } else { &KEPT };
            output.extend_from_slice(from[random(from.len())]);
        }
        // Ends within a query, which is never completed.
        output.truncate(output.len() - random(output.len().min(4)));
        let mut client = Oracle::new(SIZE);
        client.feed(&clean(&output, 1 + random(40)));
        assert_eq!(client.replies(), [""; 0], "round {round}: {output:?}");
    }
}

#[test]
fn filtered_replay_shows_the_same_screen() {
    let mut direct = Oracle::new(SIZE);
    let mut replayed = Oracle::new(SIZE);
    for (dropped, kept) in DROPPED.iter().zip(KEPT.iter().cycle()) {
        // A synchronised update is only displayed late.
        let output = [
            *kept,
            if dropped.ends_with(b"2026h") {
                b""
            } else {
                dropped
            },
        ]
        .concat();
        direct.feed(&output);
        replayed.feed(&clean(&output, 5));
    }
    same(&direct, &replayed).unwrap();
    assert!(!direct.replies().is_empty());
    assert_eq!(replayed.replies(), [""; 0]);
}
