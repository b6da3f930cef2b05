//! Segments that were cut, flipped, and put together wrongly.

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;
use proptest::prelude::*;

use super::super::{
    Begin, Body, Damage, DamageKind, Header, JournalLimits, JournalReader, Record, Stop, recover,
};
use super::disk::Memory;
use super::{AT, append, begin, ranges, small_limits};
use bowline_wire::{Epoch, StreamId};

/// A segment of three streams and a gap, and where its records end.
fn segment() -> (Vec<u8>, Vec<(u64, Record)>) {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), JournalLimits::default());
    let now = Instant::now();
    for count in [1, 3, 60, 17, 5, 120, 2] {
        for stream in [1, 2, 8].map(StreamId) {
            append(&mut writer, stream, count + u64::from(stream.0), now);
        }
    }
    let end = writer.end(StreamId(2));
    writer
        .append_gap(StreamId(2), end + 50, "why not", AT, now)
        .unwrap();
    append(&mut writer, StreamId(2), 30, now);
    let content = disk.contents().remove(&0).unwrap();
    let mut at = 44;
    let with_ends = |record: Record| {
        at += record.size();
        (at, record)
    };
    let records = recover(&content.clone().into()).records;
    let records: Vec<_> = records.into_iter().map(with_ends).collect();
    assert_eq!(
        records.last().map(|last| last.0),
        Some(content.len() as u64)
    );
    (content, records)
}

/// What must be read of a segment of which the first `good` bytes are as they were.
fn expected(records: &[(u64, Record)], good: u64) -> Vec<Record> {
    let kept = records.iter().take_while(|(end, _)| *end <= good);
    kept.map(|(_, record)| record.clone()).collect()
}

#[test]
fn cut_at_every_byte_it_gives_the_longest_prefix() {
    let (content, records) = segment();
    for cut in 0..content.len() {
        let recovered = recover(&Bytes::copy_from_slice(&content[..cut]));
        assert_eq!(
            recovered.records,
            expected(&records, cut as u64),
            "cut at {cut}"
        );
        let ends = records.iter().map(|(end, _)| *end as usize);
        let is_whole = cut == 44 || ends.clone().any(|end| end == cut);
        assert_eq!(
            recovered.stop,
            if is_whole { Stop::End } else { Stop::Torn },
            "cut at {cut}"
        );
        let valid = ends
            .filter(|end| *end <= cut)
            .max()
            .unwrap_or(if cut < 44 { 0 } else { 44 });
        assert_eq!(recovered.valid_bytes, valid as u64);
    }
}

#[test]
fn flipped_at_every_byte_it_gives_what_came_before() {
    let (content, records) = segment();
    for at in 0..content.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut harmed = content.clone();
            harmed[at] ^= flip;
            let recovered = recover(&harmed.into());
            let before = if at < 44 { 0 } else { at as u64 };
            assert_eq!(
                recovered.records,
                expected(&records, before),
                "flip {flip} at {at}"
            );
        }
    }
}

#[test]
fn records_that_are_whole_but_out_of_place_are_not_given_out() {
    let (content, records) = segment();
    let end = |index: usize| records[index].0 as usize;
    let twice = [&content[..end(5)], &content[end(2)..]].concat();
    assert_eq!(
        recover(&twice.into()).records,
        expected(&records, records[5].0)
    );
    let without = [&content[..end(5)], &content[end(6)..]].concat();
    let recovered = recover(&without.into());
    assert_eq!(recovered.stop, Stop::Bad);
    assert!(recovered.records.len() >= 6 && recovered.records.len() < records.len() - 1);
}

/// Found by `cargo fuzz journal`: a reader continued at offset 0 after it.
#[test]
fn record_past_the_maximum_offset_is_invalid() {
    let stream = StreamId(0);
    let last = u64::MAX - 20;
    for (length, is_read) in [(20, true), (21, false)] {
        let begin = Begin {
            start: last,
            begin: last,
            carried: last,
        };
        let header = Header {
            segment: 0,
            epoch: Epoch(1),
            started_ms: 0,
            streams: [(stream, begin)].into(),
        };
        let record = Record {
            stream,
            offset: last,
            arrival: AT,
            body: Body::Bytes(vec![b'x'; length].into()),
        };
        let (head, payload) = record.encode();
        let segment = [&header.encode()[..], head.as_ref(), &payload].concat();
        let recovered = recover(&segment.into());
        assert_eq!(recovered.records.len(), usize::from(is_read));
        assert_eq!(recovered.stop, if is_read { Stop::End } else { Stop::Bad });
    }
}

#[test]
fn truncated_folder_reads_as_a_prefix() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), small_limits());
    for _ in 0..12 {
        append(&mut writer, StreamId(0), 90, Instant::now());
    }
    let whole = disk.contents();
    let (&last, content) = whole.last_key_value().unwrap();
    for cut in 0..content.len() {
        let mut contents = whole.clone();
        contents.insert(last, content[..cut].to_vec());
        let mut reader = JournalReader::open(Memory::of(contents)).unwrap();
        let read = ranges(&mut reader, StreamId(0), 0, 1_000);
        assert!(
            read.len() == 1 && read[0].0 == 0 && read[0].1 <= writer.end(StreamId(0)),
            "{read:?}"
        );
        let kept = reader.kept().unwrap()[&StreamId(0)];
        assert_eq!((kept.start, kept.end), read[0], "cut at {cut}");
    }
}

/// Reads everything of a folder, and returns its damage and whether it has a gap.
fn damage_of(contents: BTreeMap<u32, Vec<u8>>) -> (Vec<Damage>, bool) {
    let mut reader = JournalReader::open(Memory::of(contents)).unwrap();
    let read = ranges(&mut reader, StreamId(0), 0, 1_000);
    let damage = reader.damage().cloned().collect();
    (
        damage,
        read.len() > 1 || read.first().is_some_and(|first| first.0 > 0),
    )
}

#[test]
fn damage_of_any_segment_is_reported_with_its_offset() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), small_limits());
    for _ in 0..12 {
        append(&mut writer, StreamId(0), 90, Instant::now());
    }
    let whole = disk.contents();
    assert!(whole.len() > 1 && damage_of(whole.clone()) == (vec![], false));
    let last = *whole.last_key_value().unwrap().0;
    for (&segment, content) in &whole {
        for at in 0..content.len() {
            let mut flipped = whole.clone();
            flipped.get_mut(&segment).unwrap()[at] ^= 0x10;
            // The version is checked before the checksum of its header.
            if !(8..10).contains(&at) {
                let (damage, _) = damage_of(flipped);
                let [found] = &damage[..] else {
                    panic!("flip of {at} in {segment}: {damage:?}")
                };
                assert!(found.segment == segment && found.offset <= at as u64);
            }
            let mut cut = whole.clone();
            cut.get_mut(&segment).unwrap().truncate(at);
            let valid = recover(&Bytes::copy_from_slice(&content[..at])).valid_bytes;
            let (damage, has_gap) = damage_of(cut);
            if valid < at as u64 || at == 0 {
                let kind = DamageKind::Cut;
                let offset = valid;
                let expected = Damage {
                    segment,
                    offset,
                    kind,
                };
                assert_eq!(damage, [expected], "cut of {segment} at {at}");
            } else {
                assert_eq!((damage, has_gap), (vec![], segment != last));
            }
        }
    }
}

#[test]
fn record_that_becomes_complete_is_no_damage() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), JournalLimits::default());
    append(&mut writer, StreamId(0), 90, Instant::now());
    let whole = disk.contents().remove(&0).unwrap();
    let growing = Memory::of([(0, whole[..60].to_vec())].into());
    let mut reader = JournalReader::open(growing.clone()).unwrap();
    assert_eq!(ranges(&mut reader, StreamId(0), 0, 100), []);
    assert_eq!(reader.damage().len(), 1);
    growing.extend(0, &whole[60..]);
    assert_eq!(ranges(&mut reader, StreamId(0), 0, 100), [(0, 90)]);
    assert_eq!(reader.damage().len(), 0);
}

proptest! {
    #[test]
    fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..300), keep in 0..2_000_usize) {
        let (content, records) = segment();
        let keep = keep.min(content.len());
        let harmed = [&content[..keep], &noise[..]].concat();
        let recovered = recover(&harmed.into());
        let sure = expected(&records, keep as u64);
        prop_assert!(recovered.records.starts_with(&sure));
        prop_assert!(recovered.records.len() <= sure.len() + 1, "noise that happens to go on");
    }
}
