//! Reads a journal at any offset of any stream, during or after writing.

mod cursor;

use std::collections::BTreeMap;
use std::io;

use super::{Disk, Header, Kept, KeptStreams};
use bowline_process::Piece;
use bowline_wire::{Epoch, StreamId};

use cursor::SegmentCursor;

/// Reads a journal. The checksum of each record is verified before it is returned.
///
/// A read that continues where the last read of the same stream ended costs what it returns. A read at
/// another offset scans one segment.
#[derive(Debug)]
pub struct JournalReader<D: Disk> {
    disk: D,
    /// The headers of the known segments, oldest first.
    segments: Vec<Header>,
    cursors: BTreeMap<StreamId, SegmentCursor<D::File>>,
}

impl<D: Disk> JournalReader<D> {
    /// Opens a journal.
    ///
    /// # Errors
    ///
    /// Errors of the disk. A journal without segments is empty.
    pub fn open(disk: D) -> io::Result<Self> {
        let mut reader = Self {
            disk,
            segments: Vec::new(),
            cursors: BTreeMap::new(),
        };
        reader.refresh()?;
        Ok(reader)
    }

    /// Returns the epoch of the journal; `None` if it is empty.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.segments.first().map(|header| header.epoch)
    }

    /// Returns the creation time in milliseconds since the Unix epoch; `None` if the journal is empty.
    #[must_use]
    pub fn started_ms(&self) -> Option<u64> {
        self.segments.first().map(|header| header.started_ms)
    }

    /// Returns what the journal holds now. Of the last segment, durability is unknown and reported as its
    /// beginning.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    pub fn kept(&mut self) -> io::Result<KeptStreams> {
        self.refresh()?;
        let (Some(first), Some(last)) = (self.segments.first(), self.segments.last()) else {
            return Ok(KeptStreams::new());
        };
        let mut cursor = SegmentCursor::open(&self.disk, last.segment, 0)?;
        while cursor.next_record(&self.disk)?.is_some() {}
        let ends = cursor.kept().into_iter();
        let kept = |(stream, Kept { end, .. })| {
            let (start, durable) = (first.begin(stream), last.begin(stream));
            (
                stream,
                Kept {
                    start,
                    end,
                    durable,
                },
            )
        };
        Ok(ends.map(kept).collect())
    }

    /// Returns the next piece of a stream at an offset: at most `max` bytes, or the gap to the next
    /// available offset, or `None` if there is nothing yet. A gap may extend past the end of the stream.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    pub fn read(&mut self, stream: StreamId, offset: u64, max: usize) -> io::Result<Option<Piece>> {
        let kept = self.cursors.remove(&stream);
        let mut cursor = match kept.filter(|cursor| self.reaches(cursor, stream, offset)) {
            Some(cursor) => cursor,
            None => match self.find(stream, offset)? {
                Some(cursor) => cursor,
                None => return Ok(self.leading_gap(stream, offset)),
            },
        };
        loop {
            if let Some(piece) = cursor.next(&self.disk, stream, offset, max)? {
                self.cursors.insert(stream, cursor);
                return Ok(Some(piece));
            }
            let Some(next) = self.after(cursor.segment())? else {
                self.cursors.insert(stream, cursor);
                return Ok(None);
            };
            // The segment may have grown just before the next one was created.
            if let Some(piece) = cursor.next(&self.disk, stream, offset, max)? {
                self.cursors.insert(stream, cursor);
                return Ok(Some(piece));
            }
            let begin = next.begin(stream);
            match SegmentCursor::open(&self.disk, next.segment, begin) {
                Ok(opened) => cursor = opened,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.refresh()?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if begin > offset {
                self.cursors.insert(stream, cursor);
                return Ok(Some(Piece::Gap {
                    from: offset,
                    to: begin,
                }));
            }
        }
    }

    /// Returns whether an offset is reachable from a cursor and no later known segment has it.
    fn reaches(&self, cursor: &SegmentCursor<D::File>, stream: StreamId, offset: u64) -> bool {
        let later =
            |header: &Header| header.segment > cursor.segment() && header.begin(stream) <= offset;
        cursor.at() <= offset && !self.segments.last().is_some_and(later)
    }

    /// Returns the segment after another one, if it exists.
    fn after(&mut self, segment: u32) -> io::Result<Option<Header>> {
        if self
            .segments
            .last()
            .is_none_or(|last| last.segment <= segment)
        {
            self.refresh()?;
        }
        let at = self
            .segments
            .partition_point(|header| header.segment <= segment);
        Ok(self.segments.get(at).cloned())
    }

    /// Opens the segment that has an offset, or will have it. `None` if the offset is no longer available.
    fn find(
        &mut self,
        stream: StreamId,
        offset: u64,
    ) -> io::Result<Option<SegmentCursor<D::File>>> {
        while !self.segments.is_empty() || self.refresh()? {
            // The last one that has it, since a segment that repeats lost bytes begins before others.
            let has_offset = |header: &Header| header.begin(stream) <= offset;
            let found = self.segments.iter().rposition(has_offset);
            let Some(header) = found.map(|at| &self.segments[at]) else {
                return Ok(None);
            };
            match SegmentCursor::open(&self.disk, header.segment, header.begin(stream)) {
                Ok(cursor) => return Ok(Some(cursor)),
                // Removed in the meantime to stay within the size limit.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.refresh()?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Returns the gap between an offset and the oldest available one.
    fn leading_gap(&self, stream: StreamId, from: u64) -> Option<Piece> {
        let to = self.segments.first()?.begin(stream);
        (from < to).then_some(Piece::Gap { from, to })
    }

    /// Updates the list of segments, and returns whether there are any.
    fn refresh(&mut self) -> io::Result<bool> {
        let numbers = self.disk.segments()?;
        self.segments
            .retain(|header| numbers.binary_search(&header.segment).is_ok());
        for number in numbers {
            let known = self
                .segments
                .binary_search_by_key(&number, |header| header.segment);
            if let Err(at) = known
                && let Some(header) = self.header(number)?
            {
                self.segments.insert(at, header);
            }
        }
        Ok(!self.segments.is_empty())
    }

    /// Returns the header of a segment if it is complete, as well as what the segment repeats.
    fn header(&self, number: u32) -> io::Result<Option<Header>> {
        let mut cursor = match SegmentCursor::open(&self.disk, number, 0) {
            Ok(cursor) => cursor,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(header) = cursor.header(&self.disk)? else {
            return Ok(None);
        };
        while !header.covers_carried(&cursor.kept()) {
            if cursor.next_record(&self.disk)?.is_none() {
                return Ok(None);
            }
        }
        // A recording may be a copy of any segment, but is opened by this number.
        Ok(Some(Header {
            segment: number,
            ..header
        }))
    }
}
