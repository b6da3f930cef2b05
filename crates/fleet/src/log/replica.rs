//! Puts the messages of a session's log together again.

use std::collections::BTreeMap;

use bowline_journal::{Arrival, Body, Header, Record, encode_records};
use bowline_wire::{Epoch, StreamId};
use bytes::{Buf as _, Bytes};

use super::message::{LogMessage, MessageError};
use super::positions::Positions;

/// The reason of a gap where the stream lacks messages.
const LOST: &str = "missing from the fleet's stream";

/// The records of one epoch, from the messages of its subject in any order: a message waits until all is there that was
/// before it in the journal. Bytes that come again, as after a damaged message, are dropped; bytes that are missing are a gap.
#[derive(Debug, Default)]
pub struct Replica {
    identity: Option<(Epoch, u64)>,
    end: Positions,
    newest: Positions,
    /// Whether the first message is not to wait.
    is_part: bool,
    records: Vec<Record>,
    /// Messages that wait, by the bytes before them in the journal, and their sequence.
    held: BTreeMap<(u64, u64), LogMessage>,
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
    /// Returns a replica that begins at an offset of some streams, for a paged read. What is missing of the others before the
    /// first message is a gap.
    #[must_use]
    pub fn starting_at(begin: Positions) -> Self {
        Self {
            end: begin,
            is_part: true,
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
        self.newest.advance(&message.begin);
        self.newest.advance(&message.end());
        if std::mem::take(&mut self.is_part) {
            return self.append(message);
        }
        let key = (message.begin.total(), sequence);
        self.held.insert(key, message);
        while let Some(first) = self.held.first_entry()
            && self.end.covers(&first.get().begin)
        {
            let message = first.remove();
            self.append(message);
        }
    }

    /// Ends the replica after the last message: what is still missing becomes a gap.
    pub fn finish(&mut self) {
        for message in std::mem::take(&mut self.held).into_values() {
            self.append(message);
        }
    }

    /// Appends what of a message was not received before, after gaps where bytes before it are missing.
    fn append(&mut self, message: LogMessage) {
        let arrival = message.records.first().map(|it| it.arrival);
        for (&stream, &at) in message.begin.iter() {
            self.append_gap(stream, at, arrival.unwrap_or_default());
        }
        for mut record in message.records {
            self.append_gap(record.stream, record.offset, record.arrival);
            let at = self.end.at(record.stream);
            if record.end() <= at {
                continue;
            }
            if let Body::Bytes(bytes) = &mut record.body {
                bytes.advance((at - record.offset) as usize);
            }
            record.offset = at;
            self.end.set(record.stream, record.end());
            self.records.push(record);
        }
    }

    /// Appends a gap up to an offset of a stream, if bytes before it are missing.
    fn append_gap(&mut self, stream: StreamId, to: u64, arrival: Arrival) {
        let offset = self.end.at(stream);
        if offset >= to {
            return;
        }
        self.end.set(stream, to);
        self.records.push(Record {
            stream,
            offset,
            arrival,
            body: Body::Gap {
                to,
                reason: LOST.to_owned(),
            },
        });
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

    /// Returns the position of each stream past the newest message, also if messages before it are missing.
    #[must_use]
    pub const fn newest(&self) -> &Positions {
        &self.newest
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of one record per stream, offset and text.
    fn message(begin: &str, records: &[(StreamId, u64, &'static str)]) -> Bytes {
        let record = |&(stream, offset, text): &(StreamId, u64, &'static str)| Record {
            stream,
            offset,
            arrival: Arrival::at(1),
            body: Body::Bytes(Bytes::from_static(text.as_bytes())),
        };
        let message = LogMessage {
            epoch: Epoch(1),
            started_ms: 1,
            begin: begin.parse().unwrap(),
            records: records.iter().map(record).collect(),
        };
        message.encode()
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

    const OUT: StreamId = StreamId::STDOUT;
    const ERR: StreamId = StreamId::STDERR;

    #[test]
    fn message_waits_for_what_was_before_it_in_the_journal() {
        let first = message("", &[(OUT, 0, "abc")]);
        let second = message("1:3", &[(OUT, 3, "de")]);
        let third = message("1:5", &[(ERR, 0, "x"), (OUT, 5, "f")]);
        let mut replica = Replica::default();
        replica.take(1, &third);
        replica.take(2, &second);
        assert_eq!(shape(&mut replica), []);
        assert_eq!(replica.newest(), &"1:6,2:1".parse().unwrap());
        replica.take(3, &first);
        replica.take(4, &second);
        let expected = [
            (OUT, 0, 3, false),
            (OUT, 3, 5, false),
            (ERR, 0, 1, false),
            (OUT, 5, 6, false),
        ];
        assert_eq!(shape(&mut replica), expected);
    }

    #[test]
    fn missing_message_is_a_gap_of_each_stream() {
        let mut replica = Replica::default();
        replica.take(1, &message("1:20,2:5", &[(OUT, 20, "abc")]));
        replica.take(2, &message("1:10,2:5", &[(OUT, 10, "abc")]));
        assert_eq!(shape(&mut replica), []);
        replica.finish();
        let expected = [
            (OUT, 0, 10, true),
            (ERR, 0, 5, true),
            (OUT, 10, 13, false),
            (OUT, 13, 20, true),
            (OUT, 20, 23, false),
        ];
        assert_eq!(shape(&mut replica), expected);
    }

    #[test]
    fn part_begins_with_its_first_message() {
        let mut replica = Replica::starting_at("1:12".parse().unwrap());
        replica.take(1, &message("1:10,2:5", &[(OUT, 10, "abc"), (ERR, 5, "x")]));
        replica.take(2, &message("1:13,2:6", &[(OUT, 13, "d")]));
        let expected = [
            (ERR, 0, 5, true),
            (OUT, 12, 13, false),
            (ERR, 5, 6, false),
            (OUT, 13, 14, false),
        ];
        assert_eq!(shape(&mut replica), expected);
    }
}
