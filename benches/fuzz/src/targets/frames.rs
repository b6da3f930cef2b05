//! The frames of the wire.

use bowline_transport::wire::{Decoder, Frame, WireError, encode};
use bytes::{Bytes, BytesMut};

use super::sealed::{frame, mend_frames};
use super::{pieces, same};
use crate::guided::{Check, Target};

/// The first byte selects how the rest, a sequence of frames, is split.
pub(super) static FRAMES: Target = Target {
    name: "frames",
    what: "decoding does not depend on chunk sizes, and decoded messages survive a round trip",
    longest: 512,
    seeds,
    dictionary: &[
        b"{\"",
        b"\":",
        b"null",
        b"18446744073709551615",
        b"-1",
        b"1.5",
        b"\\ud800",
        b"\"a\":{",
        b"}",
        b"[]",
        b"offset",
        b"stream",
        b"reason",
        b"base64",
    ],
    repair,
    check,
};

/// One of this many inputs is split.
const OFTEN: u8 = 4;

/// An example of each message by its type.
const MESSAGES: [(u8, &str); 24] = [
    (1, r#"{"hello":{"versions":[1,1],"features":["x"]}}"#),
    (
        2,
        r#"{"welcome":{"version":1,"features":[],"limits":{"message":33554432,"input_window":1048576}}}"#,
    ),
    (
        3,
        r#"{"attach":{"session":"00000000-0000-4000-8000-000000000000","epoch":null,"cursors":{"tty":5},"mode":"resume","lease":"write","resume_generation":3,"size":{"rows":24,"cols":80,"width":0,"height":0},"credit":9,"client":"c"}}"#,
    ),
    (
        5,
        r#"{"gap":{"stream":"tty","from":1,"to":9,"reason":"trimmed"}}"#,
    ),
    (
        6,
        r#"{"snapshot":{"at_offset":1,"size":{"rows":2,"cols":3,"width":0,"height":0},"hash":7,"total":9}}"#,
    ),
    (
        9,
        r#"{"ack":{"stream":"stdout","offset":18446744073709551615}}"#,
    ),
    (10, r#"{"credit":{"stream":"stdout","n":1}}"#),
    (12, r#"{"input_end":{"offset":1}}"#),
    (13, r#"{"input_ack":{"offset":1,"ended":true}}"#),
    (
        14,
        r#"{"input_refused":{"from":1,"to":2,"reason":"ended"}}"#,
    ),
    (
        15,
        r#"{"prompt":{"id":"p","bytes":{"text":"hi"},"mode":"paste"}}"#,
    ),
    (16, r#"{"prompt_state":{"id":"p","state":"queued"}}"#),
    (
        17,
        r#"{"resize":{"seq":1,"size":{"rows":2,"cols":3,"width":0,"height":0}}}"#,
    ),
    (18, r#"{"signal":{"id":"s","signal":"interrupt"}}"#),
    (
        19,
        r#"{"kill":{"id":"k","ladder":{"eof_grace_ms":1,"interrupt_ms":null,"term_grace_ms":2,"kill_ms":3}}}"#,
    ),
    (
        20,
        r#"{"killed":{"id":"k","report":{"killed":[1],"survivors":[],"level":"cgroup","took_ms":5}}}"#,
    ),
    (
        21,
        r#"{"exit":{"status":{"code":1},"oom":false,"drained":"clean","ends":{"stdout":7}}}"#,
    ),
    (23, r#"{"ping":{"nonce":1}}"#),
    (24, r#"{"pong":{"nonce":1}}"#),
    (25, r#"{"fenced":{"generation":2}}"#),
    (26, r#"{"degraded":{"kind":"journal","detail":"full"}}"#),
    (
        27,
        r#"{"error":{"code":"NO","retryable":true,"after_ms":5,"detail":"why"}}"#,
    ),
    (29, r#"{"go_away":{"after_ms":5}}"#),
    (200, "{}"),
];

fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let mut seeds: Vec<Vec<u8>> = MESSAGES
        .iter()
        .map(|(kind, json)| [vec![0x38], frame(*kind, 0, 0, json.as_bytes())].concat())
        .collect();
    let raw = [
        frame(8, 1, 1, b"some output"),
        frame(11, 0, 0, b"some input"),
        frame(7, 8, 0, b"a screen"),
        frame(22, 0, 0, b""),
        frame(28, 0, 0, b""),
        frame(201, 128, 0, b"from later"),
    ];
    seeds.push([vec![0x24], raw.concat()].concat());
    // A message in two parts.
    let parts = [
        frame(23, 8, 0, br#"{"ping":{"no"#),
        frame(23, 0, 0, br#"nce":4}}"#),
    ];
    seeds.push([vec![0x10], parts.concat()].concat());
    Ok(seeds)
}

fn repair(input: &mut [u8]) {
    if let Some((_, frames)) = input.split_first_mut() {
        mend_frames(frames);
    }
}

fn check() -> Result<Check, String> {
    Ok(Box::new(|input| {
        let Some((pattern, frames)) = input.split_first() else {
            return Ok(());
        };
        let whole = read([frames]);
        if pattern.is_multiple_of(OFTEN) {
            let cut = read(pieces(frames, *pattern));
            same("in pieces", &cut, &whole)?;
        }
        whole.0.into_iter().try_for_each(again)
    }))
}

/// Decodes all frames; the second value is the error, if there was one.
type Read = (Vec<Frame>, Option<WireError>);

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let (mut decoder, mut frames) = (Decoder::new(), Vec::new());
    for piece in pieces {
        decoder.push(Bytes::copy_from_slice(piece));
        loop {
            match decoder.next() {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => return (frames, Some(error)),
            }
        }
    }
    (frames, None)
}

/// Checks that a decoded message survives encoding and decoding.
fn again(frame: Frame) -> Result<(), String> {
    let mut bytes = BytesMut::new();
    encode(&frame, &mut bytes);
    same("written and read", &read([&*bytes]), &(vec![frame], None))
}
