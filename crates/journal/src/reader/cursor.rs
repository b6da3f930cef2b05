//! A position in a segment.

use std::io;
use std::sync::Arc;

use bytes::Buf as _;

use super::super::{Arrived, Body, Damage, Disk, Header, KeptStreams, Record, Scan};
use bowline_process::Piece;
use bowline_wire::StreamId;

/// Read size in bytes.
const CHUNK: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct SegmentCursor<F> {
    segment: u32,
    file: Arc<F>,
    /// Number of bytes of the file that the scan has received.
    position: u64,
    scan: Scan,
    /// The lowest offset of the stream that is reachable from here.
    at: u64,
    /// The rest of a record that was returned in part.
    rest: Option<Record>,
}

impl<F> SegmentCursor<F> {
    /// Opens a segment at its beginning, where the stream is at offset `at`.
    pub(crate) fn open<D: Disk<File = F>>(disk: &D, segment: u32, at: u64) -> io::Result<Self> {
        Ok(Self {
            segment,
            file: Arc::new(disk.open(segment)?),
            position: 0,
            scan: Scan::default(),
            at,
            rest: None,
        })
    }

    pub(crate) fn segment(&self) -> u32 {
        self.segment
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    /// Returns a second cursor at the same position.
    pub(super) fn fork(&self) -> Self {
        Self {
            file: Arc::clone(&self.file),
            scan: self.scan.clone(),
            rest: self.rest.clone(),
            ..*self
        }
    }

    /// Returns why no record follows; `None` if the segment ends here.
    pub(crate) fn damage(&self) -> io::Result<Option<Damage>> {
        let damage = |kind| Damage {
            segment: self.segment,
            offset: self.scan.valid_bytes(),
            kind,
        };
        Ok(self.scan.damage()?.map(damage))
    }

    pub(super) fn kept(&self) -> KeptStreams {
        self.scan.kept()
    }

    /// Returns the next piece of a stream in this segment at an offset.
    pub(super) fn next<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        stream: StreamId,
        offset: u64,
        max: usize,
    ) -> io::Result<Option<Arrived>> {
        loop {
            let record = match self.rest.take() {
                Some(rest) => Some(rest),
                None => self.next_record(disk)?,
            };
            match record {
                None => return Ok(None),
                Some(record) if record.stream != stream => {}
                Some(record) if record.end() <= offset => self.at = record.end(),
                Some(record) => return Ok(Some(self.piece(record, offset, max.max(1)))),
            }
        }
    }

    pub(crate) fn next_record<D: Disk<File = F>>(
        &mut self,
        disk: &D,
    ) -> io::Result<Option<Record>> {
        loop {
            if let Some(record) = self.scan.next_record() {
                return Ok(Some(record));
            }
            if !self.read_more(disk)? {
                return Ok(None);
            }
        }
    }

    /// Returns the header; `None` if it is incomplete.
    pub(crate) fn header<D: Disk<File = F>>(&mut self, disk: &D) -> io::Result<Option<Header>> {
        while self.scan.header().is_none() {
            if !self.read_more(disk)? {
                return Ok(None);
            }
        }
        Ok(self.scan.header().cloned())
    }

    /// Reads more bytes into the scan, and returns whether there were any.
    fn read_more<D: Disk<File = F>>(&mut self, disk: &D) -> io::Result<bool> {
        if self.scan.is_over() {
            return Ok(false);
        }
        let mut chunk = [0; CHUNK];
        let read = disk.read(&self.file, self.position, &mut chunk)?;
        self.position += read as u64;
        self.scan.push(&chunk[..read]);
        Ok(read > 0)
    }

    fn piece(&mut self, mut record: Record, offset: u64, max: usize) -> Arrived {
        let from = record.offset.max(offset);
        let arrival = record.arrival;
        let piece = match &mut record.body {
            Body::Gap { to, .. } => {
                self.at = *to;
                Piece::Gap { from, to: *to }
            }
            Body::Bytes(bytes) => {
                bytes.advance((from - record.offset) as usize);
                let taken = bytes.split_to(bytes.len().min(max));
                record.offset = from + taken.len() as u64;
                self.at = record.offset;
                let is_empty = bytes.is_empty();
                self.rest = (!is_empty).then_some(record);
                Piece::Bytes {
                    offset: from,
                    bytes: taken,
                }
            }
        };
        Arrived { arrival, piece }
    }
}
