//! Puts the messages of a session's log together again.

use bowline_journal::{Body, Header, Record, encode_records};
use bowline_wire::Epoch;
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
    /// Records that do not continue their stream, until what is missing before them comes.
    held: Vec<Record>,
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
        if record.offset > self.end.at(record.stream) {
            self.held.push(record);
            return;
        }
        self.append(record);
        let held = std::mem::take(&mut self.held);
        for record in held {
            if record.offset > self.end.at(record.stream) {
                self.held.push(record);
            } else {
                self.append(record);
            }
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
        for record in std::mem::take(&mut self.held) {
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
            streams: std::collections::BTreeMap::new(),
        };
        encode_records(&header, &self.records)
    }
}
