//! Frames damaged in transit: flipped bits, truncation, repeated or exchanged parts.
//!
//! From a damaged stream, a decoder yields a prefix of the frames that were sent, and then an error
//! or a wait for more. The only undetectable damage is whole frames that are repeated or reordered;
//! in that case, every frame that is decoded must be one that was sent, and the receiver detects
//! the damage by their stream offsets.

use bowline_runner::wire::{Decoder, Frame, Message, StreamId, encode};
use bytes::{Bytes, BytesMut};

use super::super::{Job, Random, Report};

/// Maximum number of frames of a stream.
const FRAMES: u64 = 6;

/// Maximum length of a payload, in bytes.
const PAYLOAD: u64 = 1_200;

pub(in crate::campaign) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let mut seen = Seen::default();
    for number in 0..job.count {
        let seed = job.seed.wrapping_add(number);
        let outcome = one(seed, &mut seen);
        report.one(outcome.map_err(|why| format!("seed {seed}: {why}")));
    }
    report.note(format!(
        "{} frames; {} streams refused, {} waited for in vain, {} with whole frames out of their places, {} unchanged",
        seen.frames, seen.refused, seen.waited, seen.moved, seen.same
    ));
    report
}

#[derive(Debug, Default)]
struct Seen {
    frames: u64,
    refused: u64,
    waited: u64,
    moved: u64,
    same: u64,
}

fn one(seed: u64, seen: &mut Seen) -> Result<(), String> {
    let mut random = Random::new(seed);
    let sent: Vec<Frame> = (0..1 + random.below(FRAMES))
        .map(|at| frame(&mut random, at))
        .collect();
    seen.frames += sent.len() as u64;
    let mut whole = Vec::new();
    let mut ends = Vec::new();
    for frame in &sent {
        let mut bytes = BytesMut::new();
        encode(frame, &mut bytes);
        whole.extend_from_slice(&bytes);
        ends.push(whole.len());
    }
    let (damage, harmed) = damage(&mut random, &whole, &ends);
    if harmed == whole {
        seen.same += 1;
        return Ok(());
    }
    let (decoded, ended) = decode(&mut random, &harmed);
    let is_seen =
        sent.starts_with(&decoded) && !(decoded.len() == sent.len() && ended == Ended::Clean);
    // A lost, repeated or exchanged part is a whole frame by chance, about once in ten thousand.
    let may_be_whole = matches!(damage, Damage::Truncate | Damage::Duplicate | Damage::Swap);
    if damage == Damage::Frames || may_be_whole && !is_seen {
        seen.moved += 1;
        let is_known = decoded.iter().all(|frame| sent.contains(frame));
        return is_known
            .then_some(())
            .ok_or_else(|| "a frame came out that never went in".to_owned());
    }
    if !is_seen {
        return Err(format!(
            "{damage:?}: {} of {} frames were taken, {ended:?}",
            decoded.len(),
            sent.len()
        ));
    }
    match ended {
        Ended::Refused => seen.refused += 1,
        Ended::Waits | Ended::Clean => seen.waited += 1,
    }
    Ok(())
}

/// A message of the protocol, of random length.
fn frame(random: &mut Random, at: u64) -> Frame {
    let length = random.below(PAYLOAD) as usize;
    let bytes: Bytes = random.bytes(length).into();
    let offset = random.draw() >> 8;
    let message = match random.below(8) {
        0 => Message::Ping { nonce: at },
        1 => Message::ExitAck,
        2 => Message::Credit {
            stream: StreamId::TTY,
            n: offset,
        },
        3 => Message::Input { offset, bytes },
        4 => Message::Ack {
            stream: StreamId::STDOUT,
            offset,
        },
        _ => Message::Data {
            stream: StreamId::STDOUT,
            offset,
            bytes,
            replay: random.below(2) == 0,
        },
    };
    Frame::new(random.below(9), message)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Damage {
    Flip,
    Truncate,
    Duplicate,
    Swap,
    Noise,
    /// Whole frames, repeated or exchanged.
    Frames,
}

fn damage(random: &mut Random, whole: &[u8], ends: &[usize]) -> (Damage, Vec<u8>) {
    let mut bytes = whole.to_vec();
    let at = |random: &mut Random| random.below(whole.len() as u64) as usize;
    let part = |random: &mut Random| {
        let from = at(random);
        let length = 1 + random.below(64) as usize;
        from..(from + length).min(whole.len())
    };
    match random.below(6) {
        0 => {
            for _ in 0..=random.below(4) {
                let place = at(random);
                bytes[place] ^= 1 << random.below(8);
            }
            (Damage::Flip, bytes)
        }
        1 => {
            let part = part(random);
            // A random offset, or the end.
            if random.below(2) == 0 {
                bytes.drain(part);
            } else {
                bytes.truncate(part.start);
            }
            (Damage::Truncate, bytes)
        }
        2 => {
            let part = part(random);
            if is_whole(&part, ends) {
                return (Damage::Frames, bytes);
            }
            let twice = whole[part.clone()].to_vec();
            bytes.splice(part.end..part.end, twice);
            (Damage::Duplicate, bytes)
        }
        3 => {
            let (a, b) = (part(random), part(random));
            let length = a.len().min(b.len());
            for it in 0..length {
                bytes.swap(a.start + it, b.start + it);
            }
            (Damage::Swap, bytes)
        }
        4 => {
            let part = part(random);
            let noise = random.bytes(part.len());
            bytes.splice(part, noise);
            (Damage::Noise, bytes)
        }
        _ => {
            let (from, to) = (
                random.below(ends.len() as u64),
                random.below(ends.len() as u64),
            );
            let start = |at: u64| at.checked_sub(1).map_or(0, |it| ends[it as usize]);
            let frame = whole[start(from)..ends[from as usize]].to_vec();
            let place = ends[to as usize];
            bytes.splice(place..place, frame);
            (Damage::Frames, bytes)
        }
    }
}

/// Whether a part consists of one or more whole frames.
fn is_whole(part: &std::ops::Range<usize>, ends: &[usize]) -> bool {
    let is_edge = |at: usize| at == 0 || ends.contains(&at);
    is_edge(part.start) && is_edge(part.end)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// Every byte was consumed.
    Clean,
    /// The last frame is incomplete.
    Waits,
    Refused,
}

/// Decodes a stream that arrives in random chunks.
fn decode(random: &mut Random, bytes: &[u8]) -> (Vec<Frame>, Ended) {
    let (mut decoder, mut decoded) = (Decoder::new(), Vec::new());
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = (1 + random.below(700) as usize).min(rest.len());
        let (now, later) = rest.split_at(length);
        decoder.push(Bytes::copy_from_slice(now));
        rest = later;
        loop {
            match decoder.next() {
                Ok(Some(frame)) => decoded.push(frame),
                Ok(None) => break,
                Err(_) => return (decoded, Ended::Refused),
            }
        }
    }
    let ended = if decoder.is_empty() {
        Ended::Clean
    } else {
        Ended::Waits
    };
    (decoded, ended)
}
