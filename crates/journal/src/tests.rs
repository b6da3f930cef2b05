//! The journal against harmed bytes, failing disks and a model.

mod disk;
mod faults;
mod format;
mod harm;
mod merge;
mod model;

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{Arrival, Disk, JournalLimits, JournalReader, JournalWriter};
use bowline_process::Piece;
use bowline_wire::{Epoch, StreamId};

/// The byte that a stream has at an offset, in all of these tests.
fn byte_at(stream: StreamId, offset: u64) -> u8 {
    (offset.wrapping_mul(31) >> 3) as u8 ^ (offset as u8) ^ stream.0 as u8
}

fn bytes_of(stream: StreamId, from: u64, to: u64) -> Bytes {
    (from..to).map(|offset| byte_at(stream, offset)).collect()
}

/// The arrival of everything whose arrival does not matter.
const AT: Arrival = Arrival::at(1_700_000_000_001);

fn small_limits() -> JournalLimits {
    JournalLimits {
        segment_bytes: 600,
        cap_bytes: 3_000,
        sync_every: Duration::from_secs(1),
        sync_bytes: 500,
        retry_after: Duration::from_millis(250),
    }
}

fn begin<D: Disk>(disk: D, limits: JournalLimits) -> JournalWriter<D> {
    JournalWriter::create(disk, limits, Epoch(7), 1_700_000_000_000).unwrap()
}

/// The arrival of the bytes that [`append`] adds at an offset. Input is taken where the output has a third
/// of its length.
fn arrival_of(stream: StreamId, offset: u64) -> Arrival {
    let arrival = Arrival::at(1_700_000_000_000 + offset);
    match stream {
        StreamId::INPUT => arrival.beside(offset / 3),
        _ => arrival,
    }
}

/// Appends this number of bytes at the end of a stream.
fn append<D: Disk>(writer: &mut JournalWriter<D>, stream: StreamId, count: u64, now: Instant) {
    let from = writer.end(stream);
    let bytes = bytes_of(stream, from, from + count);
    let arrival = arrival_of(stream, from);
    writer.append(stream, from, bytes, arrival, now).unwrap();
}

/// Reads a stream from an offset to its end, checks every byte, and gives the ranges that are there.
fn ranges<D: Disk>(
    reader: &mut JournalReader<D>,
    stream: StreamId,
    from: u64,
    max: usize,
) -> Vec<(u64, u64)> {
    let (mut ranges, mut at) = (Vec::<(u64, u64)>::new(), from);
    while let Some(piece) = reader.read(stream, at, max).unwrap() {
        match piece {
            Piece::Gap { from, to } => {
                assert!(from == at && to > from, "a gap at {at}: {from} to {to}");
                at = to;
            }
            Piece::Bytes { offset, bytes } => {
                assert!(offset == at && !bytes.is_empty() && bytes.len() <= max);
                let end = at + bytes.len() as u64;
                assert_eq!(bytes, bytes_of(stream, at, end), "stream {stream} at {at}");
                match ranges.last_mut() {
                    Some(last) if last.1 == at => last.1 = end,
                    _ => ranges.push((at, end)),
                }
                at = end;
            }
        }
    }
    ranges
}
