//! One message of a session's log: a run of whole journal records.

use std::collections::BTreeMap;

use bowline_journal::{Begin, Header, Record, Stop, encode_records, recover};
use bowline_wire::Epoch;
use bytes::Bytes;

use super::Positions;

/// Records up to this size share a message. One record of at most 256 KiB may exceed it.
pub const MESSAGE_BYTES: usize = 256 << 10;

/// A run of whole journal records of one epoch.
///
/// Its body is a segment of a journal: a header with the position of each stream before it, then the records,
/// all with checksums. So each message can be read alone, and its damage is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMessage {
    /// The incarnation of the session's child.
    pub epoch: Epoch,
    /// When the journal was created, in milliseconds since the Unix epoch.
    pub started_ms: u64,
    /// The position of each stream before the records: the header `B-At`.
    pub begin: Positions,
    /// The records, in their order of arrival.
    pub records: Vec<Record>,
}

/// Why a message is not readable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Its bytes are not those that were published.
    #[error("a message of the log is damaged")]
    Damaged,
    /// It was written by a later version.
    #[error("a message of the log has version {0} of the journal's format; update bowline")]
    Version(u16),
}

impl LogMessage {
    /// Returns the position of each stream after the records.
    #[must_use]
    pub fn end(&self) -> Positions {
        let mut end = self.begin.clone();
        for record in &self.records {
            end.set(record.stream, record.end());
        }
        end
    }

    /// Encodes the body.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let begin = |(&stream, &at): (_, &u64)| {
            let begin = Begin {
                start: at,
                begin: at,
                carried: at,
            };
            (stream, begin)
        };
        let header = Header {
            segment: 0,
            epoch: self.epoch,
            started_ms: self.started_ms,
            streams: self.begin.iter().map(begin).collect(),
        };
        encode_records(&header, &self.records).into()
    }

    /// Decodes a body.
    ///
    /// # Errors
    ///
    /// The body is damaged, or was written by a later version.
    pub fn decode(body: &Bytes) -> Result<Self, MessageError> {
        let recovered = recover(body);
        match recovered.stop {
            Stop::End => {}
            Stop::Version(version) => return Err(MessageError::Version(version)),
            Stop::Torn | Stop::Bad => return Err(MessageError::Damaged),
        }
        let header = recovered.header.ok_or(MessageError::Damaged)?;
        let begin = header
            .streams
            .iter()
            .map(|(&stream, at)| (stream, at.begin));
        Ok(Self {
            epoch: header.epoch,
            started_ms: header.started_ms,
            begin: begin.collect::<BTreeMap<_, _>>().into(),
            records: recovered.records,
        })
    }
}

#[cfg(test)]
mod tests {
    use bowline_journal::{Arrival, Body};
    use bowline_wire::StreamId;

    use super::*;

    #[test]
    fn damaged_message_is_never_decoded() {
        let record = |stream, offset, body| Record {
            stream,
            offset,
            arrival: Arrival::at(9).beside(3),
            body,
        };
        let message = LogMessage {
            epoch: Epoch(5),
            started_ms: 3,
            begin: "1:10,8:2".parse().unwrap(),
            records: vec![
                record(
                    StreamId::STDOUT,
                    10,
                    Body::Bytes(Bytes::from_static(b"out")),
                ),
                record(
                    StreamId::INPUT,
                    2,
                    Body::Gap {
                        to: 9,
                        reason: "dropped".into(),
                    },
                ),
            ],
        };
        let body = message.encode();
        assert_eq!(LogMessage::decode(&body), Ok(message.clone()));
        assert_eq!(message.end().to_string(), "1:13,8:9");
        for at in 0..body.len() {
            let mut bad = body.to_vec();
            bad[at] ^= 0x10;
            assert!(LogMessage::decode(&bad.into()).is_err(), "byte {at}");
            // Cut between two records, it is a shorter message.
            if let Ok(short) = LogMessage::decode(&body.slice(..at)) {
                assert_eq!(short.records[..], message.records[..short.records.len()]);
            }
        }
    }
}
