//! Puts the messages of a session's log together again.

use std::collections::BTreeMap;

use bowline_journal::{Body, Header, Record, encode_records};
use bowline_wire::{Epoch, StreamId};
use bytes::{Buf as _, Bytes};

use super::message::{LogMessage, MessageError};
use super::positions::Positions;

/// The reason of a gap where the stream lacks messages.
const LOST: &str = "missing from the fleet's stream";

/// The records of one epoch, from the messages of its subject in their order. Bytes that come again, as after
/// a damaged message, are dropped; bytes that are missing are a gap.
#[derive(Debug, Default)]
pub struct Replica {
    identity: Option<(Epoch, u64)>,
    end: Positions,
    records: Vec<Record>,
    held: HeldRecords,
    damage: Vec<ReplicaDamage>,
}

/// A message that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("message {sequence}: {source}")]
pub struct ReplicaDamage {
    /// The sequence of the message.
    pub sequence: u64,
    /// The cause.
    pub source: MessageError,
}

impl Replica {
    /// Returns a replica that begins at an offset of each stream, for a paged read.
    #[must_use]
    pub fn starting_at(begin: Positions) -> Self {
        Self {
            end: begin,
            ..Self::default()
        }
    }

    /// Adds the next message of the subject.
    pub fn take(&mut self, sequence: u64, body: &Bytes) {
        let message = match LogMessage::decode(body) {
            Ok(message) => message,
            Err(source) => return self.damage.push(ReplicaDamage { sequence, source }),
        };
        self.identity
            .get_or_insert((message.epoch, message.started_ms));
        for record in message.records {
            self.take_record(record);
        }
    }

    fn take_record(&mut self, record: Record) {
        let stream = record.stream;
        if record.offset > self.end.at(stream) {
            self.held.push(record);
            return;
        }
        self.append(record);
        while let Some(record) = self.held.take_until(stream, self.end.at(stream)) {
            self.append(record);
        }
    }

    /// Appends the part of a record that was not received before.
    fn append(&mut self, mut record: Record) {
        let at = self.end.at(record.stream);
        if record.end() <= at {
            return;
        }
        if record.offset < at {
            if let Body::Bytes(bytes) = &mut record.body {
                bytes.advance((at - record.offset) as usize);
            }
            record.offset = at;
        }
        self.end.set(record.stream, record.end());
        self.records.push(record);
    }

    /// Ends the replica after the last message: what is still missing becomes a gap.
    pub fn finish(&mut self) {
        for record in std::mem::take(&mut self.held).into_records() {
            let at = self.end.at(record.stream);
            if record.offset > at {
                self.append(Record {
                    stream: record.stream,
                    offset: at,
                    arrival: record.arrival,
                    body: Body::Gap {
                        to: record.offset,
                        reason: LOST.to_owned(),
                    },
                });
            }
            self.append(record);
        }
    }

    /// Returns the epoch and the creation time of the journal; `None` before the first readable message.
    #[must_use]
    pub const fn identity(&self) -> Option<(Epoch, u64)> {
        self.identity
    }

    /// Returns the position of each stream after the records.
    #[must_use]
    pub const fn end(&self) -> &Positions {
        &self.end
    }

    /// Returns the messages that were not readable.
    #[must_use]
    pub fn damage(&self) -> &[ReplicaDamage] {
        &self.damage
    }

    /// Removes and returns the records that were received since the last call.
    pub fn take_records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    /// Encodes the records as a journal of one segment, which every reader of journals reads.
    #[must_use]
    pub fn encode_journal(&self) -> Vec<u8> {
        let (epoch, started_ms) = self.identity.unwrap_or((Epoch(0), 0));
        let header = Header {
            segment: 0,
            epoch,
            started_ms,
            streams: BTreeMap::new(),
        };
        encode_records(&header, &self.records)
    }
}

/// Records that do not continue their stream, until what is missing before them arrives. Ordered by offset, so
/// that a record is examined a constant number of times, however many of other streams are held.
#[derive(Debug, Default)]
struct HeldRecords {
    /// By stream, offset and number of arrival.
    records: BTreeMap<(StreamId, u64, u64), Record>,
    /// Number of records that have been held.
    arrived: u64,
    /// Number of records that [`take_until`](Self::take_until) has looked at.
    #[cfg(test)]
    examined: usize,
}

impl HeldRecords {
    fn push(&mut self, record: Record) {
        let key = (record.stream, record.offset, self.arrived);
        self.records.insert(key, record);
        self.arrived += 1;
    }

    /// Removes and returns the first record of a stream that begins at `end` or before it.
    fn take_until(&mut self, stream: StreamId, end: u64) -> Option<Record> {
        let (&key, _) = self.records.range((stream, 0, 0)..).next()?;
        #[cfg(test)]
        {
            self.examined += 1;
        }
        let is_due = key.0 == stream && key.1 <= end;
        is_due.then(|| self.records.remove(&key)).flatten()
    }

    /// Returns the records: the streams in their order of arrival, each by offset, since what lies before the end
    /// of a stream is dropped.
    fn into_records(mut self) -> impl Iterator<Item = Record> {
        let keys = self.records.keys();
        let mut arrivals: Vec<_> = keys.map(|&(stream, _, number)| (number, stream)).collect();
        arrivals.sort_unstable();
        arrivals
            .into_iter()
            .filter_map(move |(_, stream)| self.take_until(stream, u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use bowline_journal::Arrival;

    use super::*;

    fn record(stream: StreamId, offset: u64, text: &'static str) -> Record {
        Record {
            stream,
            offset,
            arrival: Arrival::default(),
            body: Body::Bytes(Bytes::from_static(text.as_bytes())),
        }
    }

    /// Stream, offset and end of each record, and whether it is a gap.
    fn shape(replica: &mut Replica) -> Vec<(StreamId, u64, u64, bool)> {
        let records = replica.take_records();
        let shape = |it: &Record| {
            let is_gap = matches!(it.body, Body::Gap { .. });
            (it.stream, it.offset, it.end(), is_gap)
        };
        records.iter().map(shape).collect()
    }

    #[test]
    fn held_records_are_not_examined_for_each_arrival() {
        const COUNT: u64 = 2_000;
        let mut replica = Replica::default();
        for number in 0..COUNT {
            replica.take_record(record(StreamId::STDERR, 10 + 2 * number, "x"));
        }
        for number in 0..COUNT {
            replica.take_record(record(StreamId::STDOUT, number, "y"));
        }
        // Each fills a hole before one held record.
        replica.take_record(record(StreamId::STDERR, 0, "0123456789"));
        for number in 0..COUNT {
            replica.take_record(record(StreamId::STDERR, 11 + 2 * number, "z"));
        }
        assert_eq!(replica.take_records().len() as u64, 3 * COUNT + 1);
        assert_eq!(replica.end().at(StreamId::STDERR), 10 + 2 * COUNT);
        let examined = replica.held.examined as u64;
        assert!(examined <= 4 * COUNT, "{examined} for {COUNT} held records");
    }

    #[test]
    fn records_before_a_gap_are_kept_in_any_order() {
        let mut replica = Replica::default();
        for (stream, offset) in [
            (StreamId::STDOUT, 20),
            (StreamId::STDERR, 5),
            (StreamId::STDOUT, 10),
        ] {
            replica.take_record(record(stream, offset, "abc"));
        }
        assert_eq!(shape(&mut replica), []);
        replica.finish();
        let (out, err) = (StreamId::STDOUT, StreamId::STDERR);
        let expected = [
            (out, 0, 10, true),
            (out, 10, 13, false),
            (err, 0, 5, true),
            (err, 5, 8, false),
            (out, 13, 20, true),
            (out, 20, 23, false),
        ];
        assert_eq!(shape(&mut replica), expected);
    }
}
