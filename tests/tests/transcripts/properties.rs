//! Properties that hold for every chunking, every replay and every reader.

use bowline_jsonl::{DEFAULT_MAX_LINE, Frame, Framer};
use bowline_reducer::{Cursor, Meta, Mirror, Transcript};
use bytes::Bytes;
use serde_json::Value;

use crate::fixture::{
    Dice, Fixture, drain, finish, fixtures, fold, fold_chunks, framer_at, line_starts, to_value,
};

/// Streams up to this size are split at every byte, larger ones at [`CUTS`] offsets.
const EVERY_BYTE: usize = 200_000;

const CUTS: usize = 10_000;

/// Neighbours longer than this many bytes are skipped to save time.
const NEIGHBOUR: usize = 4_000;

/// Number of folds of one stream for one property; fewer for large streams.
fn folds(fixture: &Fixture) -> usize {
    (20_000_000 / fixture.bytes.len()).clamp(4, 120)
}

/// Frames of three lines that arrive in two chunks: their offsets, line numbers and bytes.
fn frames(lines: &Lines<'_>, cut: usize) -> Vec<(u64, u64, Bytes)> {
    let mut framer = Framer::at(DEFAULT_MAX_LINE, lines.start as u64, lines.number);
    framer.push(lines.bytes.slice(..cut));
    framer.push(lines.bytes.slice(cut..));
    framer.finish();
    let mut frames = Vec::new();
    while let Some(frame) = framer.next_frame() {
        match frame {
            Frame::Lines(window) => {
                let bytes = Bytes::copy_from_slice(window.bytes);
                frames.push((window.offset, window.line, bytes));
            }
            Frame::Oversize(over) => panic!("a line of {} bytes", over.length),
        }
    }
    frames
}

/// A line of a stream with its neighbours.
struct Lines<'a> {
    stream: &'a Bytes,
    start: usize,
    number: u64,
    bytes: Bytes,
}

/// A fold receives lines, not chunks, so that it is sufficient to compare lines: frames that begin
/// and end at lines and contain all bytes. A framer has no state between lines, so that the
/// neighbours of a line represent the rest of its stream.
#[test]
fn split_at_any_byte_gives_same_lines() {
    for fixture in fixtures() {
        let starts = line_starts(&fixture.bytes);
        let mut dice = Dice(7);
        let length = fixture.bytes.len();
        let cuts: Vec<usize> = if length <= EVERY_BYTE {
            (0..length).collect()
        } else {
            (0..CUTS).map(|_| dice.below(length)).collect()
        };
        for cut in cuts {
            let lines = Lines::around(&fixture.bytes, &starts, cut);
            same_lines(&lines, &starts, cut - lines.start);
        }
    }
}

impl<'a> Lines<'a> {
    /// The line that contains the byte at `cut`, and its neighbours.
    fn around(stream: &'a Bytes, starts: &[usize], cut: usize) -> Self {
        let place = starts.partition_point(|&start| start <= cut) - 1;
        let before = neighbour(starts, place, place.saturating_sub(1));
        let last = starts.len() - 1;
        let after = neighbour(starts, (place + 1).min(last), (place + 2).min(last));
        let end = if place == last {
            stream.len()
        } else {
            starts[after]
        };
        Self {
            stream,
            start: starts[before],
            number: before as u64 + 1,
            bytes: stream.slice(starts[before]..end),
        }
    }
}

/// The far end of a neighbour, unless it is too long.
fn neighbour(starts: &[usize], near: usize, far: usize) -> usize {
    if starts[near].abs_diff(starts[far]) <= NEIGHBOUR {
        far
    } else {
        near
    }
}

fn same_lines(lines: &Lines<'_>, starts: &[usize], cut: usize) {
    let mut at = lines.start;
    for (offset, line, frame) in frames(lines, cut) {
        assert_eq!(offset as usize, at, "cut at {cut}");
        let place = starts
            .binary_search(&at)
            .expect("a frame begins with a line");
        assert_eq!(line as usize, place + 1, "cut at {cut}");
        assert_eq!(frame, lines.stream[at..at + frame.len()], "cut at {cut}");
        at += frame.len();
    }
    assert_eq!(at, lines.start + lines.bytes.len(), "cut at {cut}");
}

#[test]
fn split_anywhere_gives_same_transcript() {
    for fixture in fixtures() {
        let whole = to_value(&fold(&fixture.bytes));
        let mut dice = Dice(11);
        for _ in 0..folds(&fixture) {
            let (one, two) = fixture.bytes.split_at(dice.below(fixture.bytes.len()));
            let cut = to_value(&fold_chunks([one, two]));
            assert_eq!(cut, whole, "{} cut at {}", fixture.name, one.len());
        }
    }
}

#[test]
fn prefix_and_overlapping_replay_give_same_transcript() {
    for fixture in fixtures() {
        let bytes = &fixture.bytes;
        let whole = to_value(&fold(bytes));
        let starts = line_starts(bytes);
        let mut dice = Dice(13);
        for _ in 0..folds(&fixture) {
            let prefix = dice.below(bytes.len());
            let known = starts.partition_point(|&start| start <= prefix);
            let from = starts[dice.below(known)];
            let mut transcript = Transcript::new();
            let mut framer = Framer::default();
            framer.push(bytes.slice(..prefix));
            drain(&mut framer, &mut transcript);
            // The reader before may have taken the split line for the end of the input.
            if dice.below(2) == 0 {
                framer.finish();
                drain(&mut framer, &mut transcript);
            }
            let mut again = framer_at(bytes, from);
            again.push(bytes.slice(from..));
            finish(again, &mut transcript);
            let replayed = to_value(&transcript);
            assert_eq!(
                replayed, whole,
                "{} up to {prefix}, from {from}",
                fixture.name
            );
        }
    }
}

/// A reader that polls now and then, and applies the changes to a copy.
struct Reader {
    every: usize,
    cursor: Cursor,
    mirror: Mirror,
}

impl Reader {
    fn new(every: usize) -> Self {
        Self {
            every,
            cursor: Cursor::default(),
            mirror: Mirror::new(),
        }
    }

    fn read(&mut self, transcript: &mut Transcript) {
        let changes = transcript.changes_since(self.cursor);
        for change in changes.iter() {
            self.mirror.apply(&serde_json::to_value(&change).unwrap());
        }
        self.cursor = changes.cursor();
    }
}

#[test]
fn incremental_changes_rebuild_transcript() {
    for fixture in fixtures() {
        let mut dice = Dice(17);
        let mut transcript = Transcript::new();
        let mut readers = [Reader::new(1), Reader::new(7), Reader::new(usize::MAX)];
        let mut framer = Framer::default();
        framer.push(fixture.bytes.clone());
        while let Some(frame) = framer.next_frame() {
            for item in frame.items() {
                transcript.apply(&item, Meta { at_ms: 0 });
                for reader in &mut readers {
                    if dice.below(reader.every) == 0 {
                        reader.read(&mut transcript);
                        // Comparing whole transcripts is the expensive part.
                        if fixture.bytes.len() < 20_000 {
                            let now = to_value(&transcript);
                            assert_eq!(reader.mirror.transcript(), now, "{}", fixture.name);
                        }
                    }
                }
            }
        }
        finish(framer, &mut transcript);
        let whole = to_value(&transcript);
        for reader in &mut readers {
            reader.read(&mut transcript);
            assert_eq!(reader.mirror.transcript(), whole, "{}", fixture.name);
        }
        same_after_reset(&mut transcript, &whole);
    }
}

/// A cursor of another transcript returns everything.
fn same_after_reset(transcript: &mut Transcript, whole: &Value) {
    let mut reader = Reader::new(1);
    reader.cursor = Cursor::from_number(u64::MAX);
    assert!(transcript.changes_since(reader.cursor).is_reset());
    reader.read(transcript);
    assert_eq!(reader.mirror.transcript(), *whole);
}

#[test]
fn thousand_deltas_are_one_append() {
    let fixture = fixtures()
        .into_iter()
        .find(|it| it.name == "long_2500")
        .unwrap();
    let mut transcript = Transcript::new();
    let mut framer = Framer::default();
    framer.push(fixture.bytes);
    let mut reader = Reader::new(1);
    let mut deltas = 0;
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            transcript.apply(&item, Meta { at_ms: 0 });
            deltas += 1;
            if deltas == 10 {
                reader.read(&mut transcript);
            }
            if deltas == 2000 {
                let changes = transcript.changes_since(reader.cursor);
                let kinds: Vec<_> = changes
                    .iter()
                    .map(|change| serde_json::to_value(&change).unwrap()["change"].clone())
                    .collect();
                assert_eq!(kinds.iter().filter(|kind| *kind == "append").count(), 1);
                assert!(kinds.len() <= 2, "{kinds:?}");
            }
        }
    }
}
