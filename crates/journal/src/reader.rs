//! Reads a journal at any offset of any stream, during or after writing.

mod cursor;

use std::collections::BTreeMap;
use std::io;

use super::{Arrived, Damage, Disk, Header, Kept, KeptStreams};
use bowline_process::Piece;
use bowline_wire::{Epoch, StreamId};

pub(super) use cursor::SegmentCursor;

/// Number of positions that a reader keeps, of all streams. Each has an open file and up to one record.
const MAX_CURSORS: usize = 32;

/// Reads a journal. The checksum of each record is verified before it is returned.
///
/// A read that continues where an earlier read of the same stream ended costs what it returns, even if
/// other offsets were read in between: the last 32 positions are kept. A read at another offset scans one
/// segment.
#[derive(Debug)]
pub struct JournalReader<D: Disk> {
    disk: D,
    /// The headers of the known segments, oldest first.
    segments: Vec<Header>,
    /// The positions at which reads ended, the last one last.
    cursors: Vec<(StreamId, SegmentCursor<D::File>)>,
    /// What was found so far, by segment.
    damage: BTreeMap<u32, Damage>,
}

impl<D: Disk> JournalReader<D> {
    /// Opens a journal.
    ///
    /// # Errors
    ///
    /// Errors of the disk, and [`UnsupportedVersion`](super::UnsupportedVersion) inside an error of the kind
    /// [`Unsupported`](io::ErrorKind::Unsupported). A journal without segments is empty.
    pub fn open(disk: D) -> io::Result<Self> {
        let mut reader = Self {
            disk,
            segments: Vec::new(),
            cursors: Vec::new(),
            damage: BTreeMap::new(),
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

    /// Returns what could not be read, by segment, as far as reads have reached it. Bytes of a stream that
    /// are missing because of it are a gap if a later segment continues the stream; otherwise the stream
    /// seems to end there.
    pub fn damage(&self) -> impl ExactSizeIterator<Item = &Damage> {
        self.damage.values()
    }

    /// Returns what the journal holds now. Of the last segment, durability is unknown and reported as its
    /// beginning.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    pub fn kept(&mut self) -> io::Result<KeptStreams> {
        self.refresh()?;
        let Some(last) = self.segments.last().map(|last| last.segment) else {
            return Ok(KeptStreams::new());
        };
        let ends = self.scan(last)?;
        let (Some(first), Some(last)) = (self.segments.first(), self.segments.last()) else {
            return Ok(KeptStreams::new());
        };
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
        Ok(ends.into_iter().map(kept).collect())
    }

    /// Returns the offset of a stream at which each segment begins, oldest first. A record begins there.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    pub fn begins(&mut self, stream: StreamId) -> io::Result<Vec<u64>> {
        self.refresh()?;
        Ok(self.segments.iter().map(|it| it.begin(stream)).collect())
    }

    /// Reads the whole journal, so that [`damage`](Self::damage) is complete.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    pub fn verify(&mut self) -> io::Result<()> {
        self.refresh()?;
        let segments: Vec<_> = self.segments.iter().map(|it| it.segment).collect();
        for segment in segments {
            match self.scan(segment) {
                // Removed in the meantime to stay within the size limit.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                scanned => drop(scanned?),
            }
        }
        Ok(())
    }

    /// Reads a segment to its end, and returns what it holds.
    fn scan(&mut self, segment: u32) -> io::Result<KeptStreams> {
        let mut cursor = SegmentCursor::open(&self.disk, segment, 0)?;
        while cursor.next_record(&self.disk)?.is_some() {}
        self.note_damage(&cursor)?;
        Ok(cursor.kept())
    }

    /// Returns the next piece of a stream at an offset: at most `max` bytes, or the gap to the next
    /// available offset, or `None` if there is nothing yet. A gap may extend past the end of the stream.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    pub fn read(&mut self, stream: StreamId, offset: u64, max: usize) -> io::Result<Option<Piece>> {
        let arrived = self.read_arrived(stream, offset, max)?;
        Ok(arrived.map(|arrived| arrived.piece))
    }

    /// As [`read`](Self::read), with the time and the place at which the piece arrived. Those of bytes that
    /// were dropped or damaged are unknown.
    ///
    /// # Errors
    ///
    /// Errors of the disk.
    pub fn read_arrived(
        &mut self,
        stream: StreamId,
        offset: u64,
        max: usize,
    ) -> io::Result<Option<Arrived>> {
        let mut cursor = match self.cursor_at(stream, offset) {
            Some(cursor) => cursor,
            None => match self.find(stream, offset)? {
                Some(cursor) => cursor,
                None => return Ok(self.leading_gap(stream, offset).map(Arrived::from)),
            },
        };
        let piece = self.read_from(&mut cursor, stream, offset, max)?;
        self.keep(stream, cursor);
        Ok(piece)
    }

    /// Keeps a position, in place of the one that was not used for the longest time.
    fn keep(&mut self, stream: StreamId, cursor: SegmentCursor<D::File>) {
        // Equal positions are kept: each belongs to a reader, which continues from its own.
        if self.cursors.len() == MAX_CURSORS {
            self.cursors.remove(0);
        }
        self.cursors.push((stream, cursor));
    }

    fn read_from(
        &mut self,
        cursor: &mut SegmentCursor<D::File>,
        stream: StreamId,
        offset: u64,
        max: usize,
    ) -> io::Result<Option<Arrived>> {
        loop {
            if let Some(piece) = cursor.next(&self.disk, stream, offset, max)? {
                return Ok(Some(piece));
            }
            let next = self.after(cursor.segment())?;
            // The segment may have grown just before the next one was created.
            if next.is_some()
                && let Some(piece) = cursor.next(&self.disk, stream, offset, max)?
            {
                return Ok(Some(piece));
            }
            self.note_damage(cursor)?;
            let Some(next) = next else {
                return Ok(None);
            };
            let begin = next.begin(stream);
            match SegmentCursor::open(&self.disk, next.segment, begin) {
                Ok(opened) => *cursor = opened,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.refresh()?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if begin > offset {
                let (from, to) = (offset, begin);
                return Ok(Some(Piece::Gap { from, to }.into()));
            }
        }
    }

    /// Returns the position at an offset; otherwise a copy of the closest one before it, unless another
    /// segment has the offset.
    fn cursor_at(&mut self, stream: StreamId, offset: u64) -> Option<SegmentCursor<D::File>> {
        let reaching = |(id, cursor): &&(StreamId, SegmentCursor<D::File>)| {
            *id == stream && self.reaches(cursor, stream, offset)
        };
        let positions = self.cursors.iter().enumerate();
        let reaching = positions.filter(|(_, cursor)| reaching(cursor));
        let (at, (_, closest)) = reaching.max_by_key(|(_, (_, cursor))| cursor.at())?;
        if closest.at() == offset {
            return Some(self.cursors.remove(at).1);
        }
        Some(closest.fork())
    }

    /// Records why no more can be read of a segment, or that it has become readable.
    fn note_damage(&mut self, cursor: &SegmentCursor<D::File>) -> io::Result<()> {
        match cursor.damage()? {
            Some(damage) => self.damage.insert(damage.segment, damage),
            None => self.damage.remove(&cursor.segment()),
        };
        Ok(())
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
    fn header(&mut self, number: u32) -> io::Result<Option<Header>> {
        let mut cursor = match SegmentCursor::open(&self.disk, number, 0) {
            Ok(cursor) => cursor,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(header) = cursor.header(&self.disk)? else {
            self.note_damage(&cursor)?;
            return Ok(None);
        };
        while !header.covers_carried(&cursor.kept()) {
            if cursor.next_record(&self.disk)?.is_none() {
                self.note_damage(&cursor)?;
                return Ok(None);
            }
        }
        self.damage.remove(&number);
        // A recording may be a copy of any segment, but is opened by this number.
        Ok(Some(Header {
            segment: number,
            ..header
        }))
    }
}
