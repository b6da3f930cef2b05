//! Frames with extreme values.

use bowline_runner::wire::{
    Attached, Epoch, ExitNotice, Extent, Frame, GapReason, InputRefusal, KillReport, Message,
    SessionFacts, SessionKind, SessionState, StdioKind, StreamId, Welcome, WireLimits, code,
    encode,
};
use bowline_transport::{Containment, Drained, ExitStatus, WindowSize};
use bytes::BytesMut;
use std::time::Duration;

use super::super::Random;

/// Largest offset of bytes that can be encoded: the end of the bytes is an offset, too.
const MAX_ENCODED: u64 = u64::MAX - 3000;

/// Returns some frames that no honest session sends.
pub(super) fn hostile(random: &mut Random) -> Vec<u8> {
    let mut out = BytesMut::new();
    for _ in 0..=random.below(4) {
        let generation = extreme(random);
        encode(&Frame::new(generation, message(random)), &mut out);
    }
    if random.below(4) == 0 {
        // Damaged in transit.
        let at = random.below(out.len() as u64) as usize;
        if let Some(byte) = out.get_mut(at) {
            *byte ^= 1 << random.below(8);
        }
    }
    out.to_vec()
}

/// Returns one of the numbers that arithmetic fails on.
fn extreme(random: &mut Random) -> u64 {
    match random.below(5) {
        0 => 0,
        1 => 1,
        2 => u64::MAX - 1,
        3 => u64::MAX,
        _ => random.draw(),
    }
}

fn stream(random: &mut Random) -> StreamId {
    let streams = [StreamId::STDOUT, StreamId::STDERR, StreamId::TTY];
    streams[random.below(3) as usize]
}

fn message(random: &mut Random) -> Message {
    match random.below(14) {
        kind @ 4..=10 => of_streams(kind, random),
        kind => of_link(kind, random),
    }
}

/// Returns a message about the connection or the session.
fn of_link(kind: u64, random: &mut Random) -> Message {
    let n = |random: &mut Random| extreme(random);
    match kind {
        0 => Message::GoAway {
            after_ms: n(random),
        },
        1 => Message::Error {
            code: [code::LIMIT, code::UNKNOWN_SESSION, code::NO_LEASE, "NEW"]
                [random.below(4) as usize]
                .to_owned(),
            retryable: random.below(4) > 0,
            after_ms: Some(n(random)),
            detail: "no".to_owned(),
        },
        2 => Message::Welcome(Welcome {
            version: random.below(3) as u16,
            features: Vec::new(),
            limits: WireLimits {
                input_window: n(random),
                ..WireLimits::default()
            },
        }),
        3 => Message::Fenced {
            generation: n(random),
        },
        11 => Message::Killed {
            id: "other".to_owned(),
            report: KillReport {
                killed: vec![1],
                survivors: Vec::new(),
                level: Containment::Group,
                took: Duration::from_millis(n(random)),
            },
        },
        12 => Message::Pong { nonce: n(random) },
        _ => Message::Attached(Attached {
            epoch: Epoch::random(),
            generation: n(random),
            streams: [(
                stream(random),
                Extent {
                    start: n(random),
                    end: n(random),
                    ..Extent::default()
                },
            )]
            .into(),
            input_next: n(random),
            exit: None,
            info: SessionFacts {
                kind: SessionKind::Dialogue,
                stdio: StdioKind::Pipes,
                pid: Some(u32::MAX),
                size: None,
                containment: Containment::Group,
                state: SessionState::Running,
            },
        }),
    }
}

/// Returns a message about output or input.
fn of_streams(kind: u64, random: &mut Random) -> Message {
    let n = |random: &mut Random| extreme(random);
    match kind {
        4 => Message::Gap {
            stream: stream(random),
            from: n(random),
            to: n(random),
            reason: GapReason::Overflow,
        },
        5 => Message::Data {
            stream: stream(random),
            offset: n(random).min(MAX_ENCODED),
            bytes: vec![b'x'; random.below(3000) as usize].into(),
            replay: random.below(2) == 0,
        },
        6 => Message::InputAck {
            offset: n(random),
            ended: random.below(2) == 0,
        },
        7 => Message::InputRefused {
            from: n(random),
            to: n(random),
            reason: InputRefusal::LineTooLong {
                length: usize::MAX,
                limit: 0,
            },
        },
        8 => Message::Snapshot {
            at_offset: n(random),
            size: WindowSize::new(u16::MAX, u16::MAX),
            hash: 0,
            total: n(random),
        },
        9 => Message::SnapshotChunk {
            offset: n(random).min(MAX_ENCODED),
            bytes: vec![b'x'; random.below(3000) as usize].into(),
            more: random.below(2) == 0,
        },
        _ => Message::Exit(ExitNotice {
            status: ExitStatus::Code(i32::MIN),
            oom: true,
            drained: Drained::Clean,
            ends: [(stream(random), n(random)), (stream(random), n(random))].into(),
        }),
    }
}
