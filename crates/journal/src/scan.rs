//! Parses a segment incrementally.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};

use super::KeptStreams;
use super::damage::{DamageKind, UnsupportedVersion};
use super::header::{self, Header, Version};
use super::record::{self, Record};
use bowline_wire::StreamId;

/// Why a scan returns no more records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// All bytes were parsed.
    End,
    /// The bytes end within a record or the header. More bytes may complete it; a crash leaves this too.
    Torn,
    /// The next bytes are not a record, are damaged, or do not continue their stream. Permanent: later
    /// bytes cannot be trusted.
    Bad,
    /// The segment has a version of the format that cannot be read.
    Version(u16),
}

/// Parses a segment: [`push`](Self::push) bytes, then take records until there are none.
///
/// Returns the longest prefix of intact records of which each continues its stream.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    buffer: BytesMut,
    header: Option<Header>,
    /// Version of the records, once the header is complete.
    version: Option<Version>,
    ends: BTreeMap<StreamId, u64>,
    /// Length of the valid prefix in bytes.
    valid: u64,
    stop: Option<Stop>,
}

impl Scan {
    /// Appends bytes of the segment.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.stop.is_none() {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Returns the header, once it is complete.
    pub fn header(&mut self) -> Option<&Header> {
        if self.header.is_none() && self.stop.is_none() {
            self.read_header();
        }
        self.header.as_ref()
    }

    /// Returns the next record. `None` until more bytes arrive, or permanently: see
    /// [`stop`](Self::stop).
    pub fn next_record(&mut self) -> Option<Record> {
        self.header()?;
        let version = self.version.filter(|_| self.stop.is_none())?;
        match record::look(&self.buffer, version) {
            record::Front::Record(length) => {
                let record = record::read(self.buffer.split_to(length).freeze(), version);
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

    /// Returns why there is no next record.
    #[must_use]
    pub fn stop(&self) -> Stop {
        let is_whole = self.buffer.is_empty() && self.header.is_some();
        let so_far = if is_whole { Stop::End } else { Stop::Torn };
        self.stop.unwrap_or(so_far)
    }

    /// Returns what is wrong with the bytes after the valid prefix; `None` if there are none.
    ///
    /// # Errors
    ///
    /// The segment has another version of the format.
    pub fn damage(&self) -> Result<Option<DamageKind>, UnsupportedVersion> {
        match self.stop() {
            Stop::End => Ok(None),
            Stop::Torn => Ok(Some(DamageKind::Cut)),
            Stop::Bad => Ok(Some(DamageKind::Corrupt)),
            Stop::Version(version) => Err(UnsupportedVersion::new(version)),
        }
    }

    /// Returns whether no further bytes can yield another record.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stop.is_some()
    }

    /// Returns the length of the valid prefix in bytes.
    #[must_use]
    pub fn valid_bytes(&self) -> u64 {
        self.valid
    }

    /// Returns the offset past the last byte of a stream so far.
    #[must_use]
    pub fn end(&self, stream: StreamId) -> u64 {
        self.ends.get(&stream).copied().unwrap_or(0)
    }

    /// Returns what the journal holds up to the current position.
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
            header::Front::Header(header, length, version) => {
                self.version = Some(version);
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

/// The readable part of a segment.
#[derive(Clone, Debug)]
pub struct Recovered {
    /// The header; `None` if it is damaged or missing.
    pub header: Option<Header>,
    /// The intact records from the beginning.
    pub records: Vec<Record>,
    /// Length of the valid prefix in bytes.
    pub valid_bytes: u64,
    /// Why it ends there.
    pub stop: Stop,
}

/// Reads the intact records of a segment. Never fails: a damaged record and everything after it is left
/// out.
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
