//! Journals with any content on disk.

use std::collections::BTreeMap;
use std::io::{self, IoSlice};

use bowline_transport::Piece;
use bowline_transport::journal::{
    Body, Disk, JournalReader, Record, Recovered, Scan, Stop, recover,
};
use bowline_transport::wire::StreamId;
use bytes::Bytes;

use super::sealed::{MAGIC, PLACED, SIGNATURE, header, mend_segment, record, untimed};
use super::{pieces, same};
use crate::guided::{Check, Target};

/// The first byte selects how the rest, a segment, is split.
pub(super) static JOURNAL: Target = Target {
    name: "journal",
    what: "the intact prefix of a segment is read completely and contiguously per stream",
    longest: 600,
    seeds,
    dictionary: &[SIGNATURE, MAGIC, b"\0\0\0\0", b"\0\0\0\0\0\0\0\0"],
    repair,
    check,
};

fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let far = u64::MAX - 20;
    let gap = |to: u64| [&to.to_le_bytes()[..], b"disk full"].concat();
    let rows: [Vec<Vec<u8>>; 5] = [
        vec![header(2, &[])],
        vec![
            header(2, &[(1, 0)]),
            record(1, 0, 0, b"one"),
            record(1, 0, 3, b"two"),
            record(2, 0, 0, b"another"),
            record(1, 1, 6, &gap(50)),
            record(1, 0, 50, b"after the gap"),
        ],
        vec![
            header(2, &[(0, 100), (8, 7)]),
            record(0, 0, 100, b"late"),
            record(8, PLACED, 7, b"{}"),
            record(0, 0, 104, &[b'x'; 200]),
        ],
        vec![
            header(2, &[(0, far)]),
            record(0, 0, far, b"near the end"),
            record(0, 1, far + 12, &gap(u64::MAX)),
        ],
        vec![
            header(1, &[(1, 0)]),
            untimed(1, 0, 0, b"one"),
            untimed(1, 1, 3, &gap(9)),
            untimed(8, 0, 0, b"{}"),
        ],
    ];
    let with_pattern = |row: &Vec<Vec<u8>>| [vec![0x73], row.concat()].concat();
    Ok(rows.iter().map(with_pattern).collect())
}

fn repair(input: &mut [u8]) {
    if let Some((_, segment)) = input.split_first_mut() {
        mend_segment(segment);
    }
}

fn check() -> Result<Check, String> {
    Ok(Box::new(|input| {
        let Some((pattern, segment)) = input.split_first() else {
            return Ok(());
        };
        let segment = Bytes::copy_from_slice(segment);
        let found = recover(&segment);
        in_pieces(&segment, *pattern, &found)?;
        cut_to_its_good_part(&segment, &found)?;
        read(&segment, &found)
    }))
}

/// Checks that a scan does not depend on the chunk sizes.
fn in_pieces(segment: &[u8], pattern: u8, found: &Recovered) -> Result<(), String> {
    let (mut scan, mut records) = (Scan::default(), Vec::new());
    for piece in pieces(segment, pattern) {
        scan.push(piece);
        records.extend(std::iter::from_fn(|| scan.next_record()));
    }
    same("in pieces", &records, &found.records)?;
    let stop = (scan.stop(), scan.valid_bytes());
    same("the end in pieces", &stop, &(found.stop, found.valid_bytes))
}

/// Checks that the records read do not depend on the bytes after them, and that the segment ends
/// cleanly without those.
fn cut_to_its_good_part(segment: &Bytes, found: &Recovered) -> Result<(), String> {
    let length = usize::try_from(found.valid_bytes).unwrap_or(usize::MAX);
    if length > segment.len() {
        return Err(format!("{length} bytes of {} are good", segment.len()));
    }
    let again = recover(&segment.slice(..length));
    same("the good part alone", &again.records, &found.records)?;
    let stop = if found.header.is_some() {
        Stop::End
    } else {
        Stop::Torn
    };
    same("the end of the good part", &again.stop, &stop)
}

/// Checks that a reader returns each stream as its records define it: contiguous, with every byte.
fn read(segment: &Bytes, found: &Recovered) -> Result<(), String> {
    let disk = Segment(segment.clone());
    let mut reader = match JournalReader::open(disk) {
        Ok(reader) => reader,
        // A segment of another version is refused; it has no records.
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            return same(
                "the records of another version",
                &found.records,
                &Vec::new(),
            );
        }
        Err(error) => return Err(error.to_string()),
    };
    let kept = reader.kept().map_err(|error| error.to_string())?;
    if kept.is_empty() {
        return is_half(found);
    }
    let mut streams: BTreeMap<StreamId, Vec<&Record>> = BTreeMap::new();
    for record in &found.records {
        streams.entry(record.stream).or_default().push(record);
    }
    for (stream, records) in streams {
        let end = kept.get(&stream).map(|kept| kept.end);
        same("the end", &end, &records.last().map(|last| last.end()))?;
        for record in records {
            let wanted = match &record.body {
                Body::Bytes(bytes) => Piece::Bytes {
                    offset: record.offset,
                    bytes: bytes.clone(),
                },
                Body::Gap { to, .. } => Piece::Gap {
                    from: record.offset,
                    to: *to,
                },
            };
            let piece = reader.read(stream, record.offset, usize::MAX);
            let piece = piece.map_err(|error| error.to_string())?;
            same("what a reader reads", &piece, &Some(wanted))?;
        }
    }
    Ok(())
}

/// Checks that a segment that a reader skips lacks something that it repeats of earlier ones.
fn is_half(found: &Recovered) -> Result<(), String> {
    let Some(header) = &found.header else {
        return Ok(());
    };
    let is_met = header.streams.iter().all(|(stream, begin)| {
        let mut records = found.records.iter();
        let reaches = |record: &Record| record.stream == *stream && record.end() >= begin.carried;
        begin.begin >= begin.carried || records.any(reaches)
    });
    if is_met && !found.records.is_empty() {
        return Err("a reader skips a complete segment".to_owned());
    }
    Ok(())
}

/// A journal of one segment, in memory.
#[derive(Debug)]
struct Segment(Bytes);

impl Disk for Segment {
    type File = ();

    fn segments(&self) -> io::Result<Vec<u32>> {
        Ok(vec![0])
    }

    fn create(&self, _: u32) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn open(&self, _: u32) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: u32) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn write(&self, (): &(), _: &[IoSlice<'_>]) -> io::Result<usize> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn read(&self, (): &(), position: u64, into: &mut [u8]) -> io::Result<usize> {
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        let rest = self.0.get(position..).unwrap_or_default();
        let count = rest.len().min(into.len());
        for (to, from) in into.iter_mut().zip(rest) {
            *to = *from;
        }
        Ok(count)
    }

    fn sync(&self, (): &()) -> io::Result<()> {
        Ok(())
    }
}
