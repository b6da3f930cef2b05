//! Reads a journal at any offset of any stream, while it is written or after.

mod place;

use std::collections::BTreeMap;
use std::io;

use super::{Disk, Header, Kept, KeptStreams};
use bowline_process::Piece;
use bowline_wire::{Epoch, StreamId};

use place::Place;

/// Reads a journal. What it finds is checked byte for byte before it is given out.
///
/// Reading on from where the last read of the same stream ended costs what is read. A read at another
/// offset costs a look through one segment.
#[derive(Debug)]
pub struct JournalReader<D: Disk> {
    disk: D,
    /// The headers of the segments, oldest first. Later ones may have come since.
    segments: Vec<Header>,
    places: BTreeMap<StreamId, Place<D::File>>,
}

impl<D: Disk> JournalReader<D> {
    /// Looks at what there is.
    ///
    /// # Errors
    ///
    /// Those of the disk. A journal without a segment is an empty one.
    pub fn open(disk: D) -> io::Result<Self> {
        let mut reader = Self {
            disk,
            segments: Vec::new(),
            places: BTreeMap::new(),
        };
        reader.look_again()?;
        Ok(reader)
    }

    /// The epoch whose journal it is; `None` of an empty one.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.segments.first().map(|header| header.epoch)
    }

    /// When the journal was begun, in milliseconds since 1970; `None` of an empty one.
    #[must_use]
    pub fn started_ms(&self) -> Option<u64> {
        self.segments.first().map(|header| header.started_ms)
    }

    /// What the journal holds now. How much of it would survive a power failure is known of what
    /// earlier segments hold, no more.
    ///
    /// # Errors
    ///
    /// Those of the disk.
    pub fn kept(&mut self) -> io::Result<KeptStreams> {
        self.look_again()?;
        let (Some(first), Some(last)) = (self.segments.first(), self.segments.last()) else {
            return Ok(KeptStreams::new());
        };
        let mut place = Place::open(&self.disk, last.segment, 0)?;
        while place.next_record(&self.disk)?.is_some() {}
        let ends = place.kept().into_iter();
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

    /// The next piece of a stream from an offset: at most `max` bytes, or the gap up to where the
    /// stream goes on, or `None` if nothing is there (yet). A gap may end behind the stream's end.
    ///
    /// # Errors
    ///
    /// Those of the disk.
    pub fn read(&mut self, stream: StreamId, offset: u64, max: usize) -> io::Result<Option<Piece>> {
        let kept = self.places.remove(&stream);
        let mut place = match kept.filter(|place| self.leads_on(place, stream, offset)) {
            Some(place) => place,
            None => match self.find(stream, offset)? {
                Some(place) => place,
                None => return Ok(self.lead(stream, offset)),
            },
        };
        loop {
            if let Some(piece) = place.next(&self.disk, stream, offset, max)? {
                self.places.insert(stream, place);
                return Ok(Some(piece));
            }
            let Some(next) = self.after(place.segment())? else {
                self.places.insert(stream, place);
                return Ok(None);
            };
            // The rest of this segment may have come just before the next was begun.
            if let Some(piece) = place.next(&self.disk, stream, offset, max)? {
                self.places.insert(stream, place);
                return Ok(Some(piece));
            }
            let begin = next.begin(stream);
            match Place::open(&self.disk, next.segment, begin) {
                Ok(opened) => place = opened,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.look_again()?;
                    continue;
                }
                Err(error) => return Err(error),
            }
            if begin > offset {
                self.places.insert(stream, place);
                return Ok(Some(Piece::Gap {
                    from: offset,
                    to: begin,
                }));
            }
        }
    }

    /// Whether an offset is found from a place, and no later segment is known to have it.
    fn leads_on(&self, place: &Place<D::File>, stream: StreamId, offset: u64) -> bool {
        let later =
            |header: &Header| header.segment > place.segment() && header.begin(stream) <= offset;
        place.at() <= offset && !self.segments.last().is_some_and(later)
    }

    /// The segment behind another one, if it has been begun.
    fn after(&mut self, segment: u32) -> io::Result<Option<Header>> {
        if self
            .segments
            .last()
            .is_none_or(|last| last.segment <= segment)
        {
            self.look_again()?;
        }
        let at = self
            .segments
            .partition_point(|header| header.segment <= segment);
        Ok(self.segments.get(at).cloned())
    }

    /// Opens the segment that has an offset, or will have it. `None` if none reaches back so far.
    fn find(&mut self, stream: StreamId, offset: u64) -> io::Result<Option<Place<D::File>>> {
        while !self.segments.is_empty() || self.look_again()? {
            // The last one that has it: one that carries what others lost begins before them.
            let has_it = |header: &Header| header.begin(stream) <= offset;
            let found = self.segments.iter().rposition(has_it);
            let Some(header) = found.map(|at| &self.segments[at]) else {
                return Ok(None);
            };
            match Place::open(&self.disk, header.segment, header.begin(stream)) {
                Ok(place) => return Ok(Some(place)),
                // Dropped since for the cap.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.look_again()?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The gap between an offset and the oldest one that is there.
    fn lead(&self, stream: StreamId, from: u64) -> Option<Piece> {
        let to = self.segments.first()?.begin(stream);
        (from < to).then_some(Piece::Gap { from, to })
    }

    /// Learns which segments there are now; answers whether there is any.
    fn look_again(&mut self) -> io::Result<bool> {
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

    /// The header of a segment, once it is whole and so is what the segment repeats of others.
    fn header(&self, number: u32) -> io::Result<Option<Header>> {
        let mut place = match Place::open(&self.disk, number, 0) {
            Ok(place) => place,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(header) = place.header(&self.disk)? else {
            return Ok(None);
        };
        while !header.is_met(&place.kept()) {
            if place.next_record(&self.disk)?.is_none() {
                return Ok(None);
            }
        }
        // Of a recording, whatever it was copied from: it is found by this number.
        Ok(Some(Header {
            segment: number,
            ..header
        }))
    }
}
