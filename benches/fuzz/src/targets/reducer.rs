//! The reducer, with lines in any order.

use bowline_reducer::{Cursor, End, Meta, Mirror, Phase, Transcript, Window};
use serde_json::{Value, to_value};

use super::{same, whole};
use crate::corpus::Corpus;
use crate::guided::{Check, Target};
use crate::shipped::jsonl::Framer;

/// Arrival time of every line, which this target ignores.
const NOW: Meta = Meta { at_ms: 0 };

/// The first byte selects where readers read and where a replay begins; the rest is a stream.
pub(super) static REDUCER: Target = Target {
    name: "reducer",
    what: "changes reproduce the transcript, a replay changes nothing, and nothing is open at the end",
    longest: 4_000,
    seeds,
    dictionary: &TOKENS,
    repair: whole,
    check,
};

const TOKENS: [&[u8]; 36] = [
    b"\n", b"\"m1\"", b"\"t1\"", b"\"uuid\":\"u1\"", b"\"session_id\":\"s\"", b"\"type\":\"assistant\"",
    b"\"type\":\"user\"", b"\"type\":\"result\"", b"\"type\":\"system\"", b"\"type\":\"stream_event\"",
    b"\"subtype\":\"init\"", b"\"subtype\":\"task_started\"", b"\"subtype\":\"task_notification\"",
    b"\"parent_tool_use_id\":\"t1\"", b"\"parent_tool_use_id\":null", b"\"isReplay\":true",
    b"\"supersedes\":[\"u1\"]", b"\"retracted_message_uuids\":[\"u1\"]",
    b"{\"type\":\"text\",\"text\":\"a\"}",
    b"{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Agent\",\"input\":{}}",
    b"{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"c\"}",
    b"{\"type\":\"message_start\",\"message\":{\"id\":\"m1\"}}",
    b"{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}",
    b"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"b\"}}",
    b"{\"type\":\"content_block_stop\",\"index\":0}", b"{\"type\":\"message_stop\"}",
    b"\"abandoned_blocks\":{\"api_message_id\":\"m1\",\"from_block_index\":0}",
    b"\"is_error\":true", b"\"terminal_reason\":\"aborted_tools\"",
    b"{\"type\":\"control_request\",\"request_id\":\"r1\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_use_id\":\"t1\"}}\n",
    b"{\"type\":\"control_cancel_request\",\"request_id\":\"r1\"}\n", b"\\ud83d", b"\\ude00", b"null",
    b"[]", b"{}",
];

/// Consecutive lines of the recordings, up to the maximum length.
fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let corpus = Corpus::load()?;
    let (mut seeds, mut seed) = (Vec::new(), vec![0x35_u8]);
    for line in corpus.lines().iter().filter(|line| line.len() < 1_500) {
        if seed.len() + line.len() > 2_500 {
            let pattern = (seeds.len() % 251) as u8;
            seeds.push(std::mem::replace(&mut seed, vec![pattern]));
        }
        seed.extend_from_slice(line);
        seed.push(b'\n');
    }
    Ok(seeds)
}

fn check() -> Result<Check, String> {
    Ok(Box::new(|input| {
        let Some((pattern, stream)) = input.split_first() else {
            return Ok(());
        };
        let pattern = usize::from(*pattern);
        let once = read_on_the_way(Transcript::new(), stream, pattern)?;
        let window = Window::of_entries(1 + pattern % 5);
        read_on_the_way(Transcript::with_window(window), stream, pattern)?;
        replayed(stream, pattern, &once)?;
        nothing_is_open(&once)
    }))
}

/// Folds a stream, reads its changes now and then, and compares them with the transcript. Returns
/// the final transcript as JSON.
fn read_on_the_way(mut it: Transcript, stream: &[u8], pattern: usize) -> Result<Value, String> {
    let (mut mirror, mut cursor) = (Mirror::new(), Cursor::default());
    let mut framer = Framer::default();
    framer.push(stream.to_vec().into());
    framer.finish();
    let mut count = 0;
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            it.apply(&item, NOW);
            count += 1;
            if count % (1 + pattern % 7) == 0 {
                cursor = mirrored(&mut it, &mut mirror, cursor)?;
            }
        }
    }
    mirrored(&mut it, &mut mirror, cursor).and_then(|cursor| {
        it.end(End::Recording, NOW);
        mirrored(&mut it, &mut mirror, cursor)
    })?;
    if it.status().phase != Phase::Ended {
        return Err("it does not end".to_owned());
    }
    json(&it)
}

pub(super) fn mirrored(
    it: &mut Transcript,
    mirror: &mut Mirror,
    from: Cursor,
) -> Result<Cursor, String> {
    let cursor = read(it, mirror, from)?;
    same("what changes lead to", &mirror.transcript(), &json(it)?)?;
    Ok(cursor)
}

/// Applies what has changed to a mirror.
pub(super) fn read(
    it: &mut Transcript,
    mirror: &mut Mirror,
    from: Cursor,
) -> Result<Cursor, String> {
    let changes = it.changes_since(from);
    for change in changes.iter() {
        mirror.apply(&to_value(&change).map_err(|error| error.to_string())?);
    }
    Ok(changes.cursor())
}

pub(super) fn json(it: &Transcript) -> Result<Value, String> {
    to_value(it).map_err(|error| error.to_string())
}

/// Folds a prefix, and then the stream from an offset in it or after its first line.
fn replayed(stream: &[u8], pattern: usize, once: &Value) -> Result<(), String> {
    let ends = line_ends(stream);
    let at = |number: usize| ends.get(number).copied().unwrap_or(0);
    let prefix = pattern % ends.len().max(1);
    let from = if prefix == 0 {
        0
    } else {
        (pattern / 3) % (prefix + 1)
    };
    let mut it = Transcript::new();
    apply(&mut it, stream.get(..at(prefix)).unwrap_or_default(), 0, 0);
    let rest = stream.get(at(from)..).unwrap_or_default();
    apply(&mut it, rest, at(from) as u64, from as u64);
    it.end(End::Recording, NOW);
    same("a replay", &json(&it)?, once)
}

/// Returns the offsets at which lines begin.
fn line_ends(stream: &[u8]) -> Vec<usize> {
    let bytes = stream.iter().enumerate();
    let after = bytes
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1);
    std::iter::once(0).chain(after).collect()
}

/// Applies a part of a stream that begins at an offset and after this many lines.
fn apply(it: &mut Transcript, part: &[u8], offset: u64, lines: u64) {
    let mut framer = Framer::at(usize::MAX >> 1, offset, lines + 1);
    framer.push(part.to_vec().into());
    framer.finish();
    while let Some(frame) = framer.next_frame() {
        frame.items().for_each(|item| it.apply(&item, NOW));
    }
}

/// Checks that no record waits for something.
pub(super) fn nothing_is_open(value: &Value) -> Result<(), String> {
    const OPEN: [&str; 6] = [
        "streaming",
        "pending",
        "awaiting_permission",
        "running",
        "open",
        "paused",
    ];
    match value {
        Value::Object(members) => {
            let state = members.get("state").and_then(Value::as_str);
            if let Some(state) = state.filter(|state| OPEN.contains(state)) {
                return Err(format!("something is {state} at the end: {value}"));
            }
            // What the agent wrote as it liked, and the plan, whose steps may be left undone.
            let is_judged =
                |(name, _): &(&String, &Value)| !["input", "raw", "plan"].contains(&name.as_str());
            let inside = members.iter().filter(is_judged);
            inside.map(|(_, value)| value).try_for_each(nothing_is_open)
        }
        Value::Array(values) => values.iter().try_for_each(nothing_is_open),
        _ => Ok(()),
    }
}
