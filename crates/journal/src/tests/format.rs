//! What lies on the disk, and what a well-behaved disk gives back.

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::super::{
    Arrival, Body, Folder, JournalEvent, JournalLimits, JournalReader, JournalWriter, Kept,
    OneFile, Record, SIGNATURE, Scan, Stop, UnsupportedVersion, recover,
};
use super::disk::Memory;
use super::{AT, append, arrival_of, begin, bytes_of, ranges, small_limits};
use bowline_process::Piece;
use bowline_wire::{Epoch, MAX_PAYLOAD, StreamId};

#[test]
fn record_layout_matches_the_format() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), JournalLimits::default());
    let now = Instant::now();
    writer
        .append(StreamId(1), 0, Bytes::from_static(b"ahoy"), AT, now)
        .unwrap();
    writer
        .append(
            StreamId::INPUT,
            0,
            Bytes::from_static(b"aye"),
            Arrival::at(0x0102).beside(4),
            now,
        )
        .unwrap();
    let content = disk.contents().remove(&0).unwrap();
    let record = |stream: u8, flags: u8, text: &[u8], times: &[u64]| {
        let mut record = Vec::from(*b"BJR\xb1");
        record.extend([stream, 0, flags, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        record.extend((text.len() as u32).to_le_bytes());
        let times: Vec<u8> = times.iter().flat_map(|time| time.to_le_bytes()).collect();
        let crc = crc32c::crc32c(&[&record[..], &times, text].concat());
        record.extend(crc.to_le_bytes());
        [record, times, text.to_vec()].concat()
    };
    let expected = [
        header(2),
        record(1, 0, b"ahoy", &[AT.at_ms.unwrap()]),
        record(8, 2, b"aye", &[0x0102, 4]),
    ];
    assert_eq!(content, expected.concat());
}

/// The header of a segment without streams.
fn header(version: u8) -> Vec<u8> {
    let mut header = Vec::from(SIGNATURE);
    header.extend([version, 0, 0, 0, 0, 0, 0, 0]);
    header.extend(7_u128.to_le_bytes());
    header.extend(1_700_000_000_000_u64.to_le_bytes());
    let crc = crc32c::crc32c(&header);
    header.extend(crc.to_le_bytes());
    header
}

/// A record as version 1 has it.
fn untimed(stream: u8, flags: u8, offset: u64, payload: &[u8]) -> Vec<u8> {
    let mut record = Vec::from(*b"BJR\xb1");
    record.extend([stream, 0, flags, 0]);
    record.extend(offset.to_le_bytes());
    record.extend((payload.len() as u32).to_le_bytes());
    let crc = crc32c::crc32c(&[&record[..], payload].concat());
    record.extend(crc.to_le_bytes());
    [record, payload.to_vec()].concat()
}

#[test]
fn version_1_is_read_without_times() {
    let gap = [&9_u64.to_le_bytes()[..], b"full"].concat();
    let parts = [
        header(1),
        untimed(1, 0, 0, b"ahoy"),
        untimed(8, 0, 0, b"aye\n"),
        untimed(1, 1, 4, &gap),
        untimed(1, 0, 9, b"on"),
    ];
    let whole = parts.concat();
    let records = recover(&whole.clone().into()).records;
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|it| it.arrival == Arrival::default()));
    for cut in 0..=whole.len() {
        let found = recover(&Bytes::copy_from_slice(&whole[..cut]));
        assert_eq!(
            found.records,
            records[..found.records.len()],
            "cut at {cut}"
        );
        assert_eq!(
            found.stop == Stop::End,
            found.valid_bytes == cut as u64 && cut > 0
        );
    }
    let mut reader = JournalReader::open(Memory::of([(0, whole)].into())).unwrap();
    let piece = reader.read_arrived(StreamId(8), 0, 9).unwrap().unwrap();
    assert_eq!(piece.arrival, Arrival::default());
    assert_eq!(piece.end(), 4);
    let flagged = [header(1), untimed(8, 2, 0, &[0; 16])].concat();
    let found = recover(&flagged.into());
    assert_eq!((found.records.len(), found.stop), (0, Stop::Bad));
}

#[test]
fn pieces_have_the_arrival_of_their_record() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), small_limits());
    for _ in 0..6 {
        append(&mut writer, StreamId(1), 100, Instant::now());
        append(&mut writer, StreamId::INPUT, 100, Instant::now());
    }
    let mut reader = JournalReader::open(disk).unwrap();
    for stream in [StreamId(1), StreamId::INPUT] {
        let mut at = 0;
        while let Some(piece) = reader.read_arrived(stream, at, 30).unwrap() {
            assert_eq!(piece.arrival, arrival_of(stream, at / 100 * 100));
            at = piece.end();
        }
        assert_eq!(at, 600);
    }
}

#[test]
fn files_are_for_their_owner_alone_and_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let disk = Folder::make(&path).unwrap();
    let mut writer = begin(disk.clone(), small_limits());
    for _ in 0..20 {
        append(&mut writer, StreamId(0), 100, Instant::now());
    }
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    let mut files = 0;
    for file in path.read_dir().unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
        files += 1;
    }
    assert!(files > 1, "2,000 bytes are several segments");
    let again = JournalWriter::create(disk.clone(), small_limits(), Epoch(8), 0);
    assert_eq!(again.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    let mut reader = JournalReader::open(disk).unwrap();
    assert_eq!(reader.epoch(), Some(Epoch(7)));
    assert_eq!(ranges(&mut reader, StreamId(0), 0, 100), [(0, 2_000)]);
}

#[test]
fn recording_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.bjl");
    let mut writer = begin(OneFile::at(&path), JournalLimits::one_segment());
    let now = Instant::now();
    append(&mut writer, StreamId(1), 5 << 20, now);
    append(&mut writer, StreamId(2), 10, now);
    writer.sync(now).unwrap();
    let recovered = recover(&std::fs::read(&path).unwrap().into());
    assert_eq!((recovered.stop, recovered.records.len()), (Stop::End, 21));
    let mut reader = JournalReader::open(OneFile::at(&path)).unwrap();
    assert_eq!(
        ranges(&mut reader, StreamId(1), 0, usize::MAX),
        [(0, 5 << 20)]
    );
    assert!(
        JournalWriter::create(
            OneFile::at(&path),
            JournalLimits::one_segment(),
            Epoch(1),
            0
        )
        .is_err()
    );
}

#[test]
fn oldest_segments_are_dropped_whole_and_reported() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), small_limits());
    let now = Instant::now();
    append(&mut writer, StreamId(4), 10, now);
    for _ in 0..100 {
        append(&mut writer, StreamId(0), 100, now);
        let held: usize = disk.contents().values().map(Vec::len).sum();
        assert!(held <= 3_000, "{held} bytes are over the cap");
    }
    let (tty, lifecycle) = (writer.kept()[&StreamId(0)], writer.kept()[&StreamId(4)]);
    assert!(tty.end == 10_000 && tty.start > 7_000, "{tty:?}");
    assert_eq!((lifecycle.start, lifecycle.end), (10, 10));
    let mut dropped = 0;
    while let Some(event) = writer.next_event() {
        match event {
            JournalEvent::Dropped {
                stream: StreamId(0),
                from,
                to,
            } => {
                assert_eq!(from, dropped);
                dropped = to;
            }
            JournalEvent::Dropped { stream, from, to } => {
                assert_eq!((stream, from, to), (StreamId(4), 0, 10))
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(dropped, tty.start);
    let mut reader = JournalReader::open(disk).unwrap();
    let gap = Piece::Gap {
        from: 5,
        to: tty.start,
    };
    assert_eq!(reader.read(StreamId(0), 5, 100).unwrap(), Some(gap));
    assert_eq!(
        ranges(&mut reader, StreamId(0), 5, 64),
        [(tty.start, 10_000)]
    );
    assert_eq!(reader.kept().unwrap()[&StreamId(0)].start, tty.start);
}

#[test]
fn offered_twice_is_written_once_and_offered_late_is_a_gap() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), JournalLimits::default());
    let now = Instant::now();
    append(&mut writer, StreamId(0), 100, now);
    writer
        .append(StreamId(0), 50, bytes_of(StreamId(0), 50, 120), AT, now)
        .unwrap();
    writer
        .append(StreamId(0), 20, bytes_of(StreamId(0), 20, 30), AT, now)
        .unwrap();
    assert_eq!(writer.end(StreamId(0)), 120);
    writer
        .append(StreamId(0), 200, bytes_of(StreamId(0), 200, 210), AT, now)
        .unwrap();
    writer
        .append_gap(StreamId(0), 300, "the terminal was faster", AT, now)
        .unwrap();
    let records = recover(&disk.contents().remove(&0).unwrap().into()).records;
    let offsets: Vec<_> = records
        .iter()
        .map(|record| (record.offset, record.end()))
        .collect();
    assert_eq!(
        offsets,
        [(0, 100), (100, 120), (120, 200), (200, 210), (210, 300)]
    );
    let reason = "the terminal was faster".to_owned();
    assert_eq!(records[4].body, Body::Gap { to: 300, reason });
    let mut reader = JournalReader::open(disk).unwrap();
    assert_eq!(
        ranges(&mut reader, StreamId(0), 0, 9),
        [(0, 120), (200, 210)]
    );
}

#[test]
fn long_writes_become_records_that_a_frame_can_hold() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), JournalLimits::default());
    append(
        &mut writer,
        StreamId(1),
        MAX_PAYLOAD as u64 * 2 + 1,
        Instant::now(),
    );
    let records = recover(&disk.contents().remove(&0).unwrap().into()).records;
    let lengths: Vec<_> = records
        .iter()
        .map(|record| record.end() - record.offset)
        .collect();
    assert_eq!(lengths, [MAX_PAYLOAD as u64, MAX_PAYLOAD as u64, 1]);
}

#[test]
fn sync_is_due_by_time_and_by_size() {
    let disk = Memory::default();
    let mut writer = begin(
        disk.clone(),
        JournalLimits {
            sync_bytes: 500,
            ..JournalLimits::default()
        },
    );
    let start = Instant::now();
    assert_eq!(writer.deadline(), None);
    append(&mut writer, StreamId(0), 100, start);
    assert_eq!(writer.deadline(), Some(start + Duration::from_secs(1)));
    let calls = disk.calls();
    writer.poll(start + Duration::from_millis(999));
    assert_eq!(
        (disk.calls(), writer.kept()[&StreamId(0)].durable),
        (calls, 0)
    );
    writer.poll(start + Duration::from_secs(1));
    assert_eq!(
        (disk.calls(), writer.kept()[&StreamId(0)].durable),
        (calls + 1, 100)
    );
    assert_eq!(writer.deadline(), None);
    append(&mut writer, StreamId(0), 500, start);
    let kept = Kept {
        start: 0,
        end: 600,
        durable: 600,
    };
    assert_eq!(writer.kept()[&StreamId(0)], kept);
}

#[test]
fn reader_follows_a_growing_journal() {
    let disk = Memory::default();
    let mut reader = JournalReader::open(disk.clone()).unwrap();
    assert_eq!(reader.read(StreamId(0), 0, 10).unwrap(), None);
    let mut writer = begin(
        disk,
        JournalLimits {
            cap_bytes: 100_000,
            ..small_limits()
        },
    );
    let now = Instant::now();
    let mut at = 0;
    for count in [1, 10, 700, 30, 2_000, 5] {
        append(&mut writer, StreamId(0), count, now);
        let fresh = ranges(&mut reader, StreamId(0), at, 333);
        assert_eq!(fresh, [(at, at + count)]);
        at += count;
        assert_eq!(reader.read(StreamId(0), at, 10).unwrap(), None);
    }
    for from in [0, 700, 2_745, 1, 2_000] {
        assert_eq!(
            ranges(&mut reader, StreamId(0), from, 50),
            [(from, at)],
            "from {from}"
        );
    }
}

#[test]
fn scan_accepts_single_bytes() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), JournalLimits::default());
    let now = Instant::now();
    append(&mut writer, StreamId(1), 40, now);
    append(&mut writer, StreamId(8), 7, now);
    let mut scan = Scan::default();
    let mut records = Vec::<Record>::new();
    for byte in disk.contents().remove(&0).unwrap() {
        scan.push(&[byte]);
        records.extend(scan.next_record());
    }
    assert_eq!(scan.stop(), Stop::End);
    let seen: Vec<_> = records
        .iter()
        .map(|record| (record.stream.0, record.end()))
        .collect();
    assert_eq!(seen, [(1, 40), (8, 7)]);
}

#[test]
fn readers_at_many_offsets_do_not_slow_each_other() {
    const READERS: u64 = 20;
    const SIZE: u64 = 1 << 20;
    let disk = Memory::default();
    let limits = JournalLimits {
        segment_bytes: SIZE / 4,
        ..JournalLimits::default()
    };
    let mut writer = begin(disk.clone(), limits);
    let stream = StreamId(0);
    while writer.end(stream) < SIZE {
        append(&mut writer, stream, 1 << 12, Instant::now());
    }
    let mut reader = JournalReader::open(disk.clone()).unwrap();
    let mut offsets: Vec<u64> = (0..READERS).map(|number| number * SIZE / READERS).collect();
    let expected: u64 = offsets.iter().map(|offset| SIZE - offset).sum();
    let before = disk.bytes_read();
    while offsets.iter().any(|offset| *offset < SIZE) {
        for offset in &mut offsets {
            let piece = reader.read(stream, *offset, 5_000).unwrap();
            if let Some(Piece::Bytes { bytes, .. }) = piece {
                *offset += bytes.len() as u64;
            }
        }
    }
    let read = disk.bytes_read() - before;
    // Each reader may scan one segment to find its first offset.
    assert!(read < 2 * expected, "{read} bytes read for {expected}");
}

#[test]
fn readers_one_piece_apart_do_not_scan_again() {
    const PIECE: u64 = 16 << 10;
    const PIECES: u64 = 64;
    const READERS: u64 = 8;
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), JournalLimits::default());
    let stream = StreamId(0);
    for _ in 0..PIECES {
        append(&mut writer, stream, PIECE, Instant::now());
    }
    let mut reader = JournalReader::open(disk.clone()).unwrap();
    let before = disk.bytes_read();
    let mut expected = 0;
    for round in 0..PIECES - READERS {
        // Each reader reaches the position that the next one has just left.
        for number in 0..READERS {
            let offset = (round + number) * PIECE;
            let piece = reader.read(stream, offset, PIECE as usize).unwrap();
            assert!(
                matches!(&piece, Some(Piece::Bytes { bytes, .. }) if bytes.len() as u64 == PIECE),
                "{piece:?} at {offset}"
            );
            expected += PIECE;
        }
    }
    let read = disk.bytes_read() - before;
    assert!(read < 2 * expected, "{read} bytes read for {expected}");
}

#[test]
fn newer_version_is_refused_with_both_versions() {
    let disk = Memory::default();
    let mut writer = begin(disk.clone(), small_limits());
    append(&mut writer, StreamId(0), 2_000, Instant::now());
    for segment in disk.contents().into_keys() {
        let mut contents = disk.contents();
        contents.get_mut(&segment).unwrap()[8..10].copy_from_slice(&[0, 3]);
        let error = JournalReader::open(Memory::of(contents)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::Unsupported);
        let error = error.get_ref().unwrap().downcast_ref().unwrap();
        let UnsupportedVersion {
            found, supported, ..
        } = error;
        assert_eq!((*found, *supported), (768, 2));
        assert_eq!(
            error.to_string(),
            "the journal has format version 768, and only versions up to 2 can be read"
        );
    }
}

#[test]
fn another_version_is_named_and_not_guessed_at() {
    let disk = Memory::default();
    begin(disk.clone(), JournalLimits::default());
    let mut content = disk.contents().remove(&0).unwrap();
    content[8] = 3;
    assert_eq!(recover(&content.into()).stop, Stop::Version(3));
}
