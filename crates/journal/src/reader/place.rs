//! A place in a segment that moves on as records are read.

use std::io;

use bytes::Buf as _;

use super::super::{Body, Disk, Header, KeptStreams, Record, Scan};
use bowline_process::Piece;
use bowline_wire::StreamId;

/// Bytes that are read at once.
const CHUNK: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Place<F> {
    segment: u32,
    file: F,
    /// Bytes of the file that the scan was given.
    position: u64,
    scan: Scan,
    /// No offset before this one is found from here.
    at: u64,
    /// What is left of a record that was given out in part.
    held: Option<Record>,
}

impl<F> Place<F> {
    /// The beginning of a segment, in which the stream that is read begins at `at`.
    pub(super) fn open<D: Disk<File = F>>(disk: &D, segment: u32, at: u64) -> io::Result<Self> {
        Ok(Self {
            segment,
            file: disk.open(segment)?,
            position: 0,
            scan: Scan::default(),
            at,
            held: None,
        })
    }

    pub(super) fn segment(&self) -> u32 {
        self.segment
    }

    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn kept(&self) -> KeptStreams {
        self.scan.kept()
    }

    /// The next piece of a stream in this segment from an offset.
    pub(super) fn next<D: Disk<File = F>>(
        &mut self,
        disk: &D,
        stream: StreamId,
        offset: u64,
        max: usize,
    ) -> io::Result<Option<Piece>> {
        loop {
            let record = match self.held.take() {
                Some(held) => Some(held),
                None => self.next_record(disk)?,
            };
            match record {
                None => return Ok(None),
                Some(record) if record.stream != stream => {}
                Some(record) if record.end() <= offset => self.at = record.end(),
                Some(record) => return Ok(Some(self.give(record, offset, max.max(1)))),
            }
        }
    }

    pub(super) fn next_record<D: Disk<File = F>>(
        &mut self,
        disk: &D,
    ) -> io::Result<Option<Record>> {
        loop {
            if let Some(record) = self.scan.next_record() {
                return Ok(Some(record));
            }
            if !self.read_on(disk)? {
                return Ok(None);
            }
        }
    }

    /// The header; `None` if it is not whole.
    pub(super) fn header<D: Disk<File = F>>(&mut self, disk: &D) -> io::Result<Option<Header>> {
        while self.scan.header().is_none() {
            if !self.read_on(disk)? {
                return Ok(None);
            }
        }
        Ok(self.scan.header().cloned())
    }

    /// Gives the scan more; answers whether there was more that could matter.
    fn read_on<D: Disk<File = F>>(&mut self, disk: &D) -> io::Result<bool> {
        if self.scan.is_over() {
            return Ok(false);
        }
        let mut chunk = [0; CHUNK];
        let read = disk.read(&self.file, self.position, &mut chunk)?;
        self.position += read as u64;
        self.scan.push(&chunk[..read]);
        Ok(read > 0)
    }

    fn give(&mut self, mut record: Record, offset: u64, max: usize) -> Piece {
        let from = record.offset.max(offset);
        match &mut record.body {
            Body::Gap { to, .. } => {
                self.at = *to;
                Piece::Gap { from, to: *to }
            }
            Body::Bytes(bytes) => {
                bytes.advance((from - record.offset) as usize);
                let given = bytes.split_to(bytes.len().min(max));
                record.offset = from + given.len() as u64;
                self.at = record.offset;
                let is_over = bytes.is_empty();
                self.held = (!is_over).then_some(record);
                Piece::Bytes {
                    offset: from,
                    bytes: given,
                }
            }
        }
    }
}
