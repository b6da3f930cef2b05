//! Reads a segment record by record, as its bytes come.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use super::KeptStreams;
use super::header::{self, Header};
use super::record::{self, Record};
use bowline_wire::StreamId;

/// Why a scan gives nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All that came was read.
    End,
    /// What came ends within a record or within the header. More bytes may make it whole; if none
    /// come, this is what a crash leaves.
    Torn,
    /// What comes next is no record, is harmed, or does not continue its stream. For good: nothing
    /// behind it can be trusted.
    Bad,
    /// Another version of the format wrote this.
    Version(u16),
}

/// Reads a segment: [`push`](Self::push) bytes as they come, take records until there is none.
///
/// It gives the longest prefix of whole, unharmed records of which each continues its stream.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    buffer: BytesMut,
    header: Option<Header>,
    ends: BTreeMap<StreamId, u64>,
    /// Length of the valid prefix.
    valid: u64,
    stop: Option<Stop>,
}

impl Scan {
    /// Takes the next bytes of the segment.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.stop.is_none() {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The segment's header, once all of it has come.
    pub fn header(&mut self) -> Option<&Header> {
        if self.header.is_none() && self.stop.is_none() {
            self.read_header();
        }
        self.header.as_ref()
    }

    /// The next record, or `None` until more bytes come, or for good: see [`stop`](Self::stop).
    pub fn next_record(&mut self) -> Option<Record> {
        self.header()?;
        if self.stop.is_some() {
            return None;
        }
        match record::look(&self.buffer) {
            record::Front::Record(length) => {
                let record = record::read(self.buffer.split_to(length).freeze());
                let Some(record) = record.filter(|record| self.continues(record)) else {
                    self.stop = Some(Stop::Bad);
                    return None;
                };
                self.valid += length as u64;
                self.ends.insert(record.stream, record.end());
                Some(record)
            }
            record::Front::Short => None,
            record::Front::Bad => {
                self.stop = Some(Stop::Bad);
                None
            }
        }
    }

    /// Why there is no next record.
    #[must_use]
    pub fn stop(&self) -> Stop {
        let is_whole = self.buffer.is_empty() && self.header.is_some();
        let so_far = if is_whole { Stop::End } else { Stop::Torn };
        self.stop.unwrap_or(so_far)
    }

    /// Whether no further bytes can make another record.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stop.is_some()
    }

    /// Bytes of the segment that were read and found good.
    #[must_use]
    pub fn valid_bytes(&self) -> u64 {
        self.valid
    }

    /// The offset behind the last byte of a stream so far.
    #[must_use]
    pub fn end(&self, stream: StreamId) -> u64 {
        self.ends.get(&stream).copied().unwrap_or(0)
    }

    /// What the journal holds up to the place that was read.
    #[must_use]
    pub fn kept(&self) -> KeptStreams {
        let mut kept = self.header.as_ref().map(Header::kept).unwrap_or_default();
        for (&stream, &end) in &self.ends {
            kept.entry(stream).or_default().end = end;
        }
        kept
    }

    fn read_header(&mut self) {
        match header::look(&self.buffer) {
            header::Front::Header(header, length) => {
                let _ = self.buffer.split_to(length);
                self.valid = length as u64;
                let begin = |&stream: &StreamId| (stream, header.begin(stream));
                self.ends = header.streams.keys().map(begin).collect();
                self.header = Some(header);
            }
            header::Front::Short => {}
            header::Front::Bad => self.stop = Some(Stop::Bad),
            header::Front::Version(version) => self.stop = Some(Stop::Version(version)),
        }
    }

    fn continues(&self, record: &Record) -> bool {
        record.offset == self.end(record.stream)
    }
}

/// What can be read of a segment.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The segment's beginning; `None` if even that is harmed or missing.
    pub header: Option<Header>,
    /// The longest run of good records from the beginning.
    pub records: Vec<Record>,
    /// Bytes of the segment up to there.
    pub valid_bytes: u64,
    /// Why it ends there.
    pub stop: Stop,
}

/// Reads all that can be read of a segment. Never fails: what is harmed is left out, and so is all
/// that comes after it.
#[must_use]
pub fn recover(segment: &Bytes) -> Recovered {
    let mut scan = Scan {
        buffer: BytesMut::from(segment.clone()),
        ..Scan::default()
    };
    let records = std::iter::from_fn(|| scan.next_record()).collect();
    Recovered {
        records,
        valid_bytes: scan.valid_bytes(),
        stop: scan.stop(),
        header: scan.header,
    }
}
