//! Encodes streams that are in memory.

use std::collections::BTreeMap;

use bowline_process::Piece;
use bowline_wire::{Epoch, MAX_PAYLOAD, StreamId};

use super::header::Header;
use super::merge::Arrived;
use super::record::{Body, Record};

/// Encodes a segment of the given records, which continue the streams of the header in this order.
#[must_use]
pub fn encode_records(header: &Header, records: &[Record]) -> Vec<u8> {
    let mut bytes = header.encode();
    for record in records {
        let (head, payload) = record.encode();
        bytes.extend_from_slice(head.as_ref());
        bytes.extend_from_slice(&payload);
    }
    bytes
}

/// Encodes pieces as a journal of one segment, in the format that [`JournalWriter`](crate::JournalWriter)
/// writes. `gap_reason` is the reason of each gap. The pieces of a stream are in the order of their offsets;
/// what is missing between two of them, or before the first, is a gap.
pub fn encode_segment(
    started_ms: u64,
    gap_reason: &str,
    pieces: impl IntoIterator<Item = (StreamId, Arrived)>,
) -> Vec<u8> {
    let header = Header {
        segment: 0,
        // The journal is complete: none continues it.
        epoch: Epoch(0),
        started_ms,
        streams: BTreeMap::new(),
    };
    let mut segment = Segment {
        bytes: header.encode(),
        ends: BTreeMap::new(),
    };
    for (stream, Arrived { arrival, piece }) in pieces {
        let record = |offset, body| Record {
            stream,
            offset,
            arrival,
            body,
        };
        let begin = match &piece {
            Piece::Bytes { offset, .. } => *offset,
            Piece::Gap { to, .. } => *to,
        };
        let end = segment.ends.get(&stream).copied().unwrap_or(0);
        if begin > end {
            let reason = gap_reason.to_owned();
            segment.put(record(end, Body::Gap { to: begin, reason }));
        }
        if let Piece::Bytes {
            mut bytes,
            mut offset,
        } = piece
        {
            while !bytes.is_empty() {
                let part = bytes.split_to(bytes.len().min(MAX_PAYLOAD));
                let next = offset + part.len() as u64;
                segment.put(record(offset, Body::Bytes(part)));
                offset = next;
            }
        }
    }
    segment.bytes
}

struct Segment {
    bytes: Vec<u8>,
    ends: BTreeMap<StreamId, u64>,
}

impl Segment {
    fn put(&mut self, record: Record) {
        self.ends.insert(record.stream, record.end());
        let (head, payload) = record.encode();
        self.bytes.extend_from_slice(head.as_ref());
        self.bytes.extend_from_slice(&payload);
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::record::Arrival;
    use crate::scan::{Stop, recover};

    #[test]
    fn encoded_pieces_are_recovered() {
        let long = Bytes::from(vec![b'l'; MAX_PAYLOAD + 5]);
        let arrival = Arrival::at(7).beside(3);
        let bytes = |offset, bytes: &Bytes| Piece::Bytes {
            offset,
            bytes: bytes.clone(),
        };
        let pieces = [
            (StreamId::INPUT, bytes(0, &Bytes::from_static(b"in"))),
            (StreamId::STDOUT, bytes(10, &long)),
            (
                StreamId::STDOUT,
                Piece::Gap {
                    from: 10 + long.len() as u64,
                    to: u64::MAX / 2,
                },
            ),
        ];
        let arrived = pieces.map(|(stream, piece)| (stream, Arrived { arrival, piece }));
        let segment: Bytes = encode_segment(5, "not kept", arrived).into();
        let recovered = recover(&segment);
        assert_eq!(recovered.stop, Stop::End);
        assert_eq!(recovered.valid_bytes, segment.len() as u64);
        let found: Vec<_> = recovered
            .records
            .iter()
            .map(|it| (it.stream, it.offset, it.end(), it.arrival == arrival))
            .collect();
        let (first, end) = (10 + MAX_PAYLOAD as u64, 10 + long.len() as u64);
        assert_eq!(
            found,
            [
                (StreamId::INPUT, 0, 2, true),
                (StreamId::STDOUT, 0, 10, true),
                (StreamId::STDOUT, 10, first, true),
                (StreamId::STDOUT, first, end, true),
                (StreamId::STDOUT, end, u64::MAX / 2, true),
            ]
        );
    }
}
