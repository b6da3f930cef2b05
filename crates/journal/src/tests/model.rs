//! Writer, reader and cap against a model, in any order of calls.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::super::{JournalLimits, JournalReader, JournalWriter};
use super::disk::Memory;
use super::{AT, begin, bytes_of, ranges};
use bowline_wire::StreamId;

#[derive(Clone, Debug)]
enum Step {
    /// Stream, bytes to go back or to leave out, bytes.
    Append(StreamId, i64, u64),
    Wait(u64),
    Sync,
    /// Stream, and where from in hundredths of its length.
    Read(StreamId, u64, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => ((0..3_u16).prop_map(StreamId), Just(0), 1..400_u64).prop_map(|(s, o, n)| Step::Append(s, o, n)),
        1 => ((0..3_u16).prop_map(StreamId), -50..50_i64, 1..400_u64).prop_map(|(s, o, n)| Step::Append(s, o, n)),
        1 => (0..2_000_u64).prop_map(Step::Wait),
        1 => Just(Step::Sync),
        3 => ((0..3_u16).prop_map(StreamId), 0..110_u64, 1..500_usize).prop_map(|(s, at, max)| Step::Read(s, at, max)),
    ];
    prop::collection::vec(step, 0..80)
}

/// The ranges of each stream that were appended, whatever became of them.
type Ranges = [Vec<(u64, u64)>; 3];

fn add(ranges: &mut Vec<(u64, u64)>, from: u64, to: u64) {
    match ranges.last_mut() {
        Some(last) if last.1 >= from => last.1 = last.1.max(to),
        _ => ranges.push((from, to)),
    }
}

fn cut(ranges: &[(u64, u64)], from: u64) -> Vec<(u64, u64)> {
    let kept = ranges.iter().filter(|range| range.1 > from);
    kept.map(|range| (range.0.max(from), range.1)).collect()
}

fn look(
    writer: &JournalWriter<Memory>,
    reader: &mut JournalReader<Memory>,
    model: &Ranges,
    step: &Step,
) {
    let &Step::Read(stream, at, max) = step else {
        return;
    };
    let end = writer.end(stream);
    let from = end * at / 100;
    let start = writer.kept().get(&stream).map_or(0, |kept| kept.start);
    let from = from.max(start);
    let expected = cut(&model[usize::from(stream.0)], from);
    // A reader that holds a dropped segment open may still read it.
    let there = cut(&ranges(reader, stream, end * at / 100, max), from);
    assert_eq!(there, expected, "stream {stream} from {from}");
}

proptest! {
    #[test]
    fn reads_return_writes_less_dropped_bytes(
        steps in steps(),
        segment_bytes in 100..2_000_u64,
        segments in 2..8_u64,
    ) {
        let limits = JournalLimits {
            segment_bytes,
            cap_bytes: segment_bytes * segments,
            sync_bytes: 700,
            ..JournalLimits::default()
        };
        let disk = Memory::default();
        let mut writer = begin(disk.clone(), limits);
        let mut reader = JournalReader::open(disk.clone()).unwrap();
        let (mut model, mut now) = (Ranges::default(), Instant::now());
        for step in &steps {
            match *step {
                Step::Append(stream, shift, count) => {
                    let from = writer.end(stream).saturating_add_signed(shift);
                    let bytes = bytes_of(stream, from, from + count);
                    writer.append(stream, from, bytes, AT, now).unwrap();
                    add(&mut model[usize::from(stream.0)], from, from + count);
                }
                Step::Wait(ms) => {
                    now += Duration::from_millis(ms);
                    writer.poll(now);
                }
                Step::Sync => writer.sync(now).unwrap(),
                Step::Read(..) => look(&writer, &mut reader, &model, step),
            }
        }
        let mut fresh = JournalReader::open(disk.clone()).unwrap();
        for stream in (0..3).map(StreamId) {
            look(&writer, &mut reader, &model, &Step::Read(stream, 0, 1_000));
            look(&writer, &mut fresh, &model, &Step::Read(stream, 50, 1_000));
            let known = writer.kept().get(&stream).map(|kept| (kept.start, kept.end));
            let read = fresh.kept().unwrap().get(&stream).map(|kept| (kept.start, kept.end));
            prop_assert_eq!(known, read);
        }
        let held: usize = disk.contents().values().map(Vec::len).sum();
        prop_assert!(held as u64 <= limits.cap_bytes + 500, "one record may be longer than a segment");
    }
}
