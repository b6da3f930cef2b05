//! Output and input in one order, however they are read.

use std::time::Instant;

use bytes::Bytes;
use proptest::prelude::*;

use super::super::{Arrival, Arrived, InputLines, JournalLimits, JournalReader, Merge, Merged};
use super::disk::Memory;
use super::{begin, bytes_of};
use bowline_process::Piece;
use bowline_wire::StreamId;

const OUTPUT: StreamId = StreamId::STDOUT;

/// An event of a session: a number of bytes of output, or of input.
#[derive(Clone, Copy, Debug)]
enum Occurrence {
    Output(u64),
    Input(u64),
}

fn occurrences() -> impl Strategy<Value = Vec<Occurrence>> {
    let one = prop_oneof![
        (1..300_u64).prop_map(Occurrence::Output),
        (1..90_u64).prop_map(Occurrence::Input),
    ];
    prop::collection::vec(one, 0..40)
}

/// A stream's bytes with their times, and the input at its place: equal if the order is equal.
fn flat(pieces: impl Iterator<Item = Merged>) -> Vec<(bool, u64, Option<u64>, u8)> {
    let mut all = Vec::new();
    for merged in pieces {
        let (is_input, Arrived { arrival, piece }) = match merged {
            Merged::Output(it) => (false, it),
            Merged::Input(it) => (true, it),
        };
        let Piece::Bytes { offset, bytes } = piece else {
            panic!("{piece:?}");
        };
        let byte = |(at, byte): (usize, &u8)| (is_input, offset + at as u64, arrival.at_ms, *byte);
        all.extend(bytes.iter().enumerate().map(byte));
    }
    all
}

fn read_merged(disk: Memory, max: usize) -> Vec<(bool, u64, Option<u64>, u8)> {
    let mut reader = JournalReader::open(disk).unwrap();
    let (mut merge, mut input_at) = (Merge::default(), 0);
    let mut pieces = Vec::new();
    loop {
        if merge.needs_input()
            && let Some(piece) = reader.read_arrived(StreamId::INPUT, input_at, max).unwrap()
        {
            input_at = piece.end();
            merge.push_input(piece);
        }
        if merge.needs_output() {
            let at = merge.output_end();
            if let Some(piece) = reader.read_arrived(OUTPUT, at, max).unwrap() {
                merge.push_output(piece);
            }
        }
        match merge.next_piece() {
            Some(piece) => pieces.push(piece),
            None => {
                return flat(
                    pieces
                        .into_iter()
                        .chain(std::iter::from_fn(|| merge.rest())),
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn order_is_that_of_the_session(
        occurrences in occurrences(),
        segment_bytes in 200..4_000_u64,
        max in 1..400_usize,
        cut in 0.0..1.0_f64,
    ) {
        let disk = Memory::default();
        let limits = JournalLimits { segment_bytes, ..JournalLimits::default() };
        let mut writer = begin(disk.clone(), limits);
        let mut expected = Vec::new();
        for (occurrence, at_ms) in occurrences.iter().zip(1..) {
            let end = writer.end(OUTPUT);
            let (stream, count, arrival) = match *occurrence {
                Occurrence::Output(count) => (OUTPUT, count, Arrival::at(at_ms)),
                Occurrence::Input(count) => (StreamId::INPUT, count, Arrival::at(at_ms).beside(end)),
            };
            let offset = writer.end(stream);
            let bytes = bytes_of(stream, offset, offset + count);
            let piece = Piece::Bytes { offset, bytes: bytes.clone() };
            writer.append(stream, offset, bytes, arrival, Instant::now()).unwrap();
            let piece = Arrived { arrival, piece };
            expected.push(match stream {
                OUTPUT => Merged::Output(piece),
                _ => Merged::Input(piece),
            });
        }
        let expected = flat(expected.into_iter());
        prop_assert_eq!(&read_merged(disk.clone(), max), &expected);
        // Cut anywhere, the order of what is left is the same.
        let mut segments = disk.contents();
        let (number, mut last) = segments.pop_last().unwrap();
        let length = (last.len() as f64 * cut) as usize;
        last.truncate(length);
        segments.insert(number, last);
        let left = read_merged(Memory::of(segments), max);
        prop_assert!(left.len() <= expected.len());
        prop_assert_eq!(&left[..], &expected[..left.len()]);
    }

    #[test]
    fn lines_do_not_depend_on_pieces(text in "[a-c\n]{0,60}", sizes in prop::collection::vec(1..9_usize, 60)) {
        let (mut lines, mut found, mut rest) = (InputLines::default(), Vec::new(), text.as_bytes());
        for size in sizes {
            let (piece, left) = rest.split_at(size.min(rest.len()));
            lines.push(piece, |line| found.push(line.to_owned()));
            rest = left;
        }
        lines.push(rest, |line| found.push(line.to_owned()));
        let whole = text.rsplit_once('\n').map(|(whole, _)| whole.split('\n'));
        let expected: Vec<_> = whole.into_iter().flatten().map(str::to_owned).collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn input_within_missing_output_follows_the_gap() {
    let mut merge = Merge::default();
    let piece = Piece::Bytes {
        offset: 0,
        bytes: Bytes::from_static(b"answer\n"),
    };
    let arrival = Arrival::at(1).beside(5);
    merge.push_input(Arrived { arrival, piece });
    assert_eq!(merge.next_piece(), None, "output may follow");
    merge.push_output(Piece::Gap { from: 0, to: 9 }.into());
    assert!(matches!(merge.next_piece(), Some(Merged::Output(gap)) if gap.end() == 9));
    assert!(matches!(merge.next_piece(), Some(Merged::Input(_))));
    assert_eq!(merge.rest(), None);
}

#[test]
fn line_that_is_too_long_is_left_out() {
    let mut lines = InputLines::default();
    let mut found = Vec::new();
    let half = vec![b'x'; 40 << 20];
    for part in [&half[..], &half, b"tail\nnext", b"\n\xff\n", b"last\n"] {
        lines.push(part, |line| found.push(line.to_owned()));
    }
    assert_eq!(found, ["next", "last"]);
}
