//! Where recorded output and states of a screen are read from.

use std::io;

use bowline_transport::Piece;
use bowline_transport::journal::{Disk, JournalReader};
use bowline_transport::wire::{MAX_PAYLOAD, StreamId};
use bytes::Bytes;

use super::place::ScreenPlace;
use super::record::ScreenRecord;

/// The recorded output of a terminal.
pub(crate) trait ScrollbackSource {
    /// Returns the records of the screen that precede those returned before, in order; `None` if there are
    /// none. A part may be empty.
    fn older_records(&mut self) -> io::Result<Option<Vec<ScreenRecord>>>;

    /// Reads output at an offset; `None` if there is none.
    fn read(&mut self, offset: u64) -> io::Result<Option<Piece>>;
}

/// The journal of a session.
#[derive(Debug)]
pub(crate) struct JournalSource<D: Disk> {
    reader: JournalReader<D>,
    /// Ranges of the stream of records, one per segment, that were not read yet.
    ranges: Vec<(u64, u64)>,
}

impl<D: Disk> JournalSource<D> {
    /// Opens a journal.
    pub(crate) fn open(disk: D) -> io::Result<Self> {
        let mut reader = JournalReader::open(disk)?;
        let begins = reader.begins(StreamId::SCREENS)?;
        let ends = begins.iter().copied().skip(1).chain([u64::MAX]);
        let ranges = begins.iter().copied().zip(ends).collect();
        Ok(Self { reader, ranges })
    }

    /// Returns the newest screen; `None` if none was recorded.
    pub(crate) fn newest(&mut self) -> io::Result<Option<ScreenPlace>> {
        let kept = self.reader.kept()?;
        let offset = kept.get(&StreamId::TTY).map_or(0, |it| it.end);
        for range in self.ranges.clone().into_iter().rev() {
            if let Some(last) = self.records(range)?.last() {
                let size = last.size;
                return Ok(Some(ScreenPlace { offset, size }));
            }
        }
        Ok(None)
    }

    fn records(&mut self, (mut at, end): (u64, u64)) -> io::Result<Vec<ScreenRecord>> {
        let mut records = Vec::new();
        while at < end {
            match self.reader.read(StreamId::SCREENS, at, MAX_PAYLOAD)? {
                None => break,
                Some(Piece::Gap { to, .. }) => at = to.max(at + 1),
                Some(Piece::Bytes { offset, bytes }) => {
                    at = offset + bytes.len() as u64;
                    records.extend(ScreenRecord::decode(bytes));
                }
            }
        }
        Ok(records)
    }
}

impl<D: Disk> ScrollbackSource for JournalSource<D> {
    fn older_records(&mut self) -> io::Result<Option<Vec<ScreenRecord>>> {
        let Some(range) = self.ranges.pop() else {
            return Ok(None);
        };
        self.records(range).map(Some)
    }

    fn read(&mut self, offset: u64) -> io::Result<Option<Piece>> {
        self.reader.read(StreamId::TTY, offset, MAX_PAYLOAD)
    }
}

/// The memory of a session without a journal.
#[derive(Debug)]
pub(crate) struct MemorySource {
    /// The records; `None` once they were returned.
    pub(crate) records: Option<Vec<ScreenRecord>>,
    /// Offset of the output in memory.
    pub(crate) start: u64,
    /// The output in memory.
    pub(crate) output: Bytes,
}

impl ScrollbackSource for MemorySource {
    fn older_records(&mut self) -> io::Result<Option<Vec<ScreenRecord>>> {
        Ok(self.records.take())
    }

    fn read(&mut self, offset: u64) -> io::Result<Option<Piece>> {
        let Some(skipped) = offset.checked_sub(self.start) else {
            let (from, to) = (offset, self.start);
            return Ok(Some(Piece::Gap { from, to }));
        };
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        if skipped >= self.output.len() {
            return Ok(None);
        }
        let bytes = self.output.slice(skipped..);
        Ok(Some(Piece::Bytes { offset, bytes }))
    }
}
