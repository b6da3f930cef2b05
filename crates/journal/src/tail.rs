//! Reads the records of all streams in the order in which they arrived, while the journal is written.

use std::collections::BTreeMap;
use std::io;

use bytes::Buf as _;

use super::reader::SegmentCursor;
use super::{Body, Disk, Header, Record};
use bowline_wire::{Epoch, StreamId};

/// The reason of a gap that takes the place of bytes that are no longer in the journal.
const DROPPED: &str = "dropped from the journal";

/// The records of a journal from given offsets on, of all streams in their order of arrival.
///
/// A record that a later segment repeats is returned once. Bytes that are missing, because the journal
/// dropped its oldest segments or a segment is damaged, are a record with a gap.
#[derive(Debug)]
pub struct JournalTail<D: Disk> {
    disk: D,
    /// The next offset of each stream.
    ends: BTreeMap<StreamId, u64>,
    cursor: Option<Position<D::File>>,
    /// Gaps that precede `parked`.
    gaps: Vec<Record>,
    /// A record that was read, before which gaps are returned.
    parked: Option<Record>,
}

#[derive(Debug)]
struct Position<F> {
    cursor: SegmentCursor<F>,
    header: Header,
}

impl<D: Disk> JournalTail<D> {
    /// Returns the records of a journal whose streams begin at `from`; streams that it does not name begin
    /// at 0.
    #[must_use]
    pub const fn new(disk: D, from: BTreeMap<StreamId, u64>) -> Self {
        Self {
            disk,
            ends: from,
            cursor: None,
            gaps: Vec::new(),
            parked: None,
        }
    }

    /// Returns the next offset of each stream.
    #[must_use]
    pub const fn ends(&self) -> &BTreeMap<StreamId, u64> {
        &self.ends
    }

    /// Returns the epoch and the creation time of the journal; `None` before the first record was there.
    #[must_use]
    pub fn identity(&self) -> Option<(Epoch, u64)> {
        let header = &self.cursor.as_ref()?.header;
        Some((header.epoch, header.started_ms))
    }

    /// Returns the next record; `None` if none follows yet. Blocks as long as the disk does.
    ///
    /// # Errors
    ///
    /// Errors of the disk, and [`UnsupportedVersion`](super::UnsupportedVersion) inside an error of the
    /// kind [`Unsupported`](io::ErrorKind::Unsupported).
    pub fn next_record(&mut self) -> io::Result<Option<Record>> {
        loop {
            if let Some(gap) = self.gaps.pop() {
                self.ends.insert(gap.stream, gap.end());
                return Ok(Some(gap));
            }
            if let Some(record) = self.parked.take() {
                self.ends.insert(record.stream, record.end());
                return Ok(Some(record));
            }
            if !self.read_next()? {
                return Ok(None);
            }
        }
    }

    /// Reads a record or moves to a segment. Returns `false` if there is nothing to read.
    fn read_next(&mut self) -> io::Result<bool> {
        let Some(position) = &mut self.cursor else {
            return self.open_first();
        };
        if let Some(record) = position.cursor.next_record(&self.disk)? {
            self.park(record);
            return Ok(true);
        }
        // Fails for a segment of another version.
        position.cursor.damage()?;
        let segment = position.cursor.segment();
        let later = self.disk.segments()?.into_iter().find(|it| *it > segment);
        let Some(later) = later else {
            return Ok(false);
        };
        // The segment may have grown until the later one was created, and does not grow any more.
        if let Some(record) = position.cursor.next_record(&self.disk)? {
            self.park(record);
            return Ok(true);
        }
        self.open(later)
    }

    /// Opens the last segment that has all streams from their offsets on.
    fn open_first(&mut self) -> io::Result<bool> {
        let segments = self.disk.segments()?;
        for (at, &segment) in segments.iter().enumerate().rev() {
            let Some(position) = self.position(segment)? else {
                continue;
            };
            let starts_before = |(stream, begin): (&StreamId, &super::Begin)| {
                begin.begin <= self.ends.get(stream).copied().unwrap_or(0)
            };
            if at == 0 || position.header.streams.iter().all(starts_before) {
                self.enter(position);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn open(&mut self, segment: u32) -> io::Result<bool> {
        let Some(position) = self.position(segment)? else {
            return Ok(false);
        };
        self.enter(position);
        Ok(true)
    }

    /// Opens a segment; `None` if its header is not complete, or the segment was removed.
    fn position(&self, segment: u32) -> io::Result<Option<Position<D::File>>> {
        let mut cursor = match SegmentCursor::open(&self.disk, segment, 0) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            cursor => cursor?,
        };
        let header = cursor.header(&self.disk)?;
        if header.is_none() {
            cursor.damage()?;
        }
        Ok(header.map(|header| Position { cursor, header }))
    }

    /// Continues in a segment. What its streams lack before it is a gap.
    fn enter(&mut self, position: Position<D::File>) {
        for (&stream, begin) in &position.header.streams {
            let end = self.ends.get(&stream).copied().unwrap_or(0);
            if begin.begin > end {
                self.gaps.push(Record {
                    stream,
                    offset: end,
                    arrival: super::Arrival::default(),
                    body: Body::Gap {
                        to: begin.begin,
                        reason: DROPPED.to_owned(),
                    },
                });
            }
        }
        self.cursor = Some(position);
    }

    /// Keeps the part of a record that was not returned before.
    fn park(&mut self, mut record: Record) {
        let end = self.ends.get(&record.stream).copied().unwrap_or(0);
        if record.end() <= end {
            return;
        }
        if record.offset < end {
            if let Body::Bytes(bytes) = &mut record.body {
                bytes.advance((end - record.offset) as usize);
            }
            record.offset = end;
        }
        self.parked = Some(record);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::{Arrival, Folder, JournalLimits, JournalWriter, encode_records, recover};

    fn limits(segment_bytes: u64, cap_bytes: u64) -> JournalLimits {
        JournalLimits {
            segment_bytes,
            cap_bytes,
            ..JournalLimits::default()
        }
    }

    fn all(tail: &mut JournalTail<Folder>) -> Vec<Record> {
        std::iter::from_fn(|| tail.next_record().unwrap()).collect()
    }

    #[test]
    fn records_are_read_while_written() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::make(scratch.path().join("j")).unwrap();
        let now = Instant::now();
        let epoch = Epoch::random();
        let limits = limits(4096, 1 << 20);
        let mut writer = JournalWriter::create(folder.clone(), limits, epoch, 7).unwrap();
        let mut tail = JournalTail::new(folder.clone(), BTreeMap::new());
        let mut found = Vec::new();
        for n in 0..200_u64 {
            let stream = if n % 3 == 0 {
                StreamId::STDERR
            } else {
                StreamId::STDOUT
            };
            let bytes = vec![n as u8; 100];
            let at = writer.end(stream);
            writer
                .append(stream, at, bytes.into(), Arrival::at(n + 1), now)
                .unwrap();
            if n % 7 == 0 {
                found.extend(all(&mut tail));
            }
        }
        found.extend(all(&mut tail));
        let order: Vec<_> = found.iter().map(|it| it.arrival.at_ms).collect();
        assert_eq!(order, (1..=200).map(Some).collect::<Vec<_>>());
        assert_eq!(tail.identity(), Some((epoch, 7)));
        // From the middle, the rest of the same records follows.
        let from: BTreeMap<_, _> = found[..90].iter().map(|it| (it.stream, it.end())).collect();
        let mut middle = JournalTail::new(folder, from);
        assert_eq!(all(&mut middle), found[90..]);
        let header = Header {
            segment: 0,
            epoch,
            started_ms: 7,
            streams: BTreeMap::new(),
        };
        let recovered = recover(&encode_records(&header, &found).into());
        assert_eq!((recovered.header, recovered.records), (Some(header), found));
    }

    #[test]
    fn dropped_segments_are_a_gap() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = Folder::make(scratch.path().join("j")).unwrap();
        let now = Instant::now();
        let limits = limits(1024, 4096);
        let mut writer = JournalWriter::create(folder.clone(), limits, Epoch(1), 0).unwrap();
        for _ in 0..100 {
            let at = writer.end(StreamId::STDOUT);
            let bytes = vec![b'x'; 200].into();
            writer
                .append(StreamId::STDOUT, at, bytes, Arrival::at(1), now)
                .unwrap();
        }
        let mut tail = JournalTail::new(folder, BTreeMap::from([(StreamId::STDOUT, 500)]));
        let found = all(&mut tail);
        let start = writer.kept()[&StreamId::STDOUT].start;
        assert!(
            matches!(&found[0].body, Body::Gap { to, reason } if *to == start && reason == DROPPED)
        );
        assert_eq!(found[0].offset, 500);
        let ends: Vec<_> = found
            .windows(2)
            .map(|pair| pair[0].end() == pair[1].offset)
            .collect();
        assert!(ends.iter().all(|it| *it));
        assert_eq!(found.last().unwrap().end(), 20_000);
    }
}
