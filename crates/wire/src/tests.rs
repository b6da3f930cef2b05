use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use super::*;
use bowline_process::{
    Containment, Drained, ExitStatus, SessionId, Signal, TerminationPolicy, WindowSize,
};
use bytes::{Bytes, BytesMut};

fn bytes(longest: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..longest).prop_map(Bytes::from)
}

fn stream() -> impl Strategy<Value = StreamId> {
    (0..10_u16).prop_map(StreamId)
}

fn size() -> impl Strategy<Value = WindowSize> {
    any::<(u16, u16, u16, u16)>().prop_map(|(rows, cols, width, height)| WindowSize {
        rows,
        cols,
        width,
        height,
    })
}

fn millis() -> impl Strategy<Value = Duration> {
    any::<u32>().prop_map(|it| Duration::from_millis(it.into()))
}

fn policy() -> impl Strategy<Value = TerminationPolicy> {
    let steps = (millis(), prop::option::of(millis()), millis(), millis());
    steps.prop_map(
        |(eof_grace, interrupt, term_grace, kill)| TerminationPolicy {
            eof_grace,
            interrupt,
            term_grace,
            kill,
        },
    )
}

fn attach() -> impl Strategy<Value = Message> {
    let lease = prop_oneof![Just(Lease::Read), Just(Lease::Append), Just(Lease::Write)];
    let cursors = btree_map(stream(), any::<u64>(), 0..4);
    let known = prop::option::of(any::<u128>().prop_map(Epoch));
    let rest = (any::<Option<u64>>(), prop::option::of(size()), any::<u64>());
    let parts = (known, cursors, lease, rest, ".{0,20}");
    parts.prop_map(
        |(epoch, cursors, lease, (resume_generation, size, credit), client)| {
            Message::Attach(Attach {
                session: SessionId::random(),
                epoch,
                cursors,
                mode: AttachMode::Tail,
                lease,
                resume_generation,
                size,
                credit,
                client,
            })
        },
    )
}

fn exit() -> impl Strategy<Value = ExitNotice> {
    let status = prop_oneof![
        any::<i32>().prop_map(ExitStatus::Code),
        any::<i32>().prop_map(ExitStatus::Signal),
        Just(ExitStatus::Unknown),
    ];
    let ends = btree_map(stream(), any::<u64>(), 0..4);
    (status, any::<bool>(), ends).prop_map(|(status, oom, ends)| ExitNotice {
        status,
        oom,
        drained: Drained::Timeout,
        ends,
    })
}

fn attached() -> impl Strategy<Value = Message> {
    let extent = any::<(u64, u64)>().prop_map(|(start, end)| Extent {
        start,
        end,
        durable: Durability::Power,
    });
    let streams = btree_map(stream(), extent, 0..4);
    let rest = (prop::option::of(exit()), prop::option::of(size()));
    (any::<u128>(), any::<(u64, u64)>(), streams, rest).prop_map(
        |(epoch, (generation, input_next), streams, (exit, size))| {
            Message::Attached(Attached {
                epoch: Epoch(epoch),
                generation,
                streams,
                input_next,
                exit,
                info: SessionFacts {
                    kind: SessionKind::Dialogue,
                    stdio: StdioKind::Pty,
                    pid: Some(7),
                    size,
                    containment: Containment::Subreaper,
                    state: SessionState::Running,
                },
            })
        },
    )
}

fn output() -> impl Strategy<Value = Message> {
    let data = (stream(), any::<u64>(), bytes(4000), any::<bool>());
    prop_oneof![
        attached(),
        (any::<(u64, u64)>(), stream()).prop_map(|((from, to), stream)| Message::Gap {
            stream,
            from,
            to,
            reason: GapReason::Trimmed,
        }),
        (any::<(u64, u32, u64)>(), size()).prop_map(|((at_offset, hash, total), size)| {
            Message::Snapshot {
                at_offset,
                size,
                hash,
                total,
            }
        }),
        (any::<(u64, bool)>(), bytes(4000)).prop_map(|((offset, more), bytes)| {
            Message::SnapshotChunk {
                offset,
                bytes,
                more,
            }
        }),
        data.prop_map(|(stream, offset, bytes, replay)| Message::Data {
            stream,
            offset,
            bytes,
            replay,
        }),
        exit().prop_map(Message::Exit),
        any::<u64>().prop_map(|generation| Message::Fenced { generation }),
        any::<u64>().prop_map(|after_ms| Message::GoAway { after_ms }),
        (
            any::<u16>(),
            any::<u64>(),
            any::<Option<u64>>(),
            any::<Option<u64>>()
        )
            .prop_map(|(stream, offset, at_ms, output)| Message::Arrival {
                stream: StreamId(stream),
                offset,
                at_ms,
                output,
            }),
        (".*", ".*").prop_map(|(kind, detail)| Message::Degraded { kind, detail }),
        (".*", any::<(bool, Option<u64>)>(), ".*").prop_map(
            |(code, (retryable, after_ms), detail)| Message::Error {
                code,
                retryable,
                after_ms,
                detail,
            }
        ),
    ]
}

fn answer() -> impl Strategy<Value = Message> {
    let state = prop_oneof![
        Just(PromptStatus::Unverified),
        ".*".prop_map(|reason| PromptStatus::Refused { reason }),
    ];
    let refusal = prop_oneof![
        Just(InputRefusal::Ended),
        any::<(usize, usize)>()
            .prop_map(|(length, limit)| InputRefusal::LineTooLong { length, limit }),
        ".*".prop_map(|detail| InputRefusal::Failed { detail }),
    ];
    prop_oneof![
        Just(Message::Welcome(Welcome {
            version: VERSION,
            features: vec!["x".into()],
            limits: WireLimits::default(),
        })),
        any::<(u64, bool)>().prop_map(|(offset, ended)| Message::InputAck { offset, ended }),
        (any::<(u64, u64)>(), refusal).prop_map(|((from, to), reason)| Message::InputRefused {
            from,
            to,
            reason,
        }),
        (".*", state).prop_map(|(id, state)| Message::PromptState { id, state }),
        (".*", vec(any::<u32>(), 0..9), millis()).prop_map(|(id, killed, took)| {
            let report = KillReport {
                killed,
                survivors: vec![1],
                level: Containment::Cgroup,
                took,
            };
            Message::Killed { id, report }
        }),
        any::<u64>().prop_map(|nonce| Message::Pong { nonce }),
    ]
}

fn input() -> impl Strategy<Value = Message> {
    prop_oneof![
        Just(Message::Hello(Hello {
            versions: (1, VERSION),
            features: Vec::new(),
        })),
        attach(),
        (stream(), any::<u64>()).prop_map(|(stream, offset)| Message::Ack { stream, offset }),
        (stream(), any::<u64>()).prop_map(|(stream, n)| Message::Credit { stream, n }),
        (any::<u64>(), bytes(4000)).prop_map(|(offset, bytes)| Message::Input { offset, bytes }),
        any::<u64>().prop_map(|offset| Message::InputEnd { offset }),
        (".*", bytes(300), proptest::option::of(".*")).prop_map(|(id, bytes, request_id)| {
            Message::Prompt(Prompt {
                id,
                bytes,
                mode: PromptMode::Paste,
                request_id,
            })
        }),
        (any::<u64>(), size()).prop_map(|(seq, size)| Message::Resize { seq, size }),
        ".*".prop_map(|id| Message::Signal {
            id,
            signal: Signal::User1,
        }),
        (".*", policy()).prop_map(|(id, policy)| Message::Kill { id, policy }),
        any::<u64>().prop_map(|nonce| Message::Ping { nonce }),
        Just(Message::ExitAck),
        Just(Message::Detach),
    ]
}

fn frame() -> impl Strategy<Value = Frame> {
    let message = prop_oneof![output(), answer(), input()];
    (any::<u64>(), message).prop_map(|(generation, message)| Frame::new(generation, message))
}

fn encoded<'a>(frames: impl IntoIterator<Item = &'a Frame>) -> Bytes {
    let mut bytes = BytesMut::new();
    for frame in frames {
        encode(frame, &mut bytes);
    }
    bytes.freeze()
}

fn drain(decoder: &mut Decoder) -> Result<Vec<Frame>, WireError> {
    let mut frames = Vec::new();
    while let Some(frame) = decoder.next()? {
        frames.push(frame);
    }
    Ok(frames)
}

fn decoded(bytes: impl Into<Bytes>) -> Result<Vec<Frame>, WireError> {
    let mut decoder = Decoder::new();
    decoder.push(bytes.into());
    drain(&mut decoder)
}

proptest! {
    #[test]
    fn frames_survive_any_chunking(
        frames in vec(frame(), 1..8),
        cuts in vec(1..600_usize, 1..200),
    ) {
        let mut rest = encoded(&frames);
        let mut decoder = Decoder::new();
        let mut received = Vec::new();
        for cut in cuts.into_iter().cycle() {
            if rest.is_empty() {
                break;
            }
            decoder.push(rest.split_to(cut.min(rest.len())));
            received.extend(drain(&mut decoder).unwrap());
        }
        prop_assert!(decoder.is_empty());
        prop_assert_eq!(received, frames);
    }

    #[test]
    fn random_bytes_yield_no_frame(noise in vec(any::<u8>(), 0..400), cut in 1..40_usize) {
        let mut decoder = Decoder::new();
        for part in noise.chunks(cut) {
            decoder.push(Bytes::copy_from_slice(part));
            prop_assert!(drain(&mut decoder).map_or(true, |frames| frames.is_empty()));
        }
    }

    #[test]
    fn random_payload_with_valid_checksum_does_not_panic(
        kind in any::<u8>(),
        flags in any::<u8>(),
        payload in vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = BytesMut::new();
        raw_frame(kind, flags, &payload, &mut bytes);
        let _ = decoded(bytes.freeze());
    }
}

fn raw_frame(kind: u8, flags: u8, payload: &[u8], into: &mut BytesMut) {
    let header = header::Header {
        length: 0,
        kind,
        flags,
        stream: StreamId(0),
        offset: 0,
        generation: 0,
        checksum: 0,
    };
    header.write(payload, into);
}

/// Returns frames of every type, the same in each run.
fn samples(count: usize) -> Vec<Frame> {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut draw = || frame().new_tree(&mut runner).unwrap().current();
    (0..count).map(|_| draw()).collect()
}

/// Returns whether no frame is decoded: refused, or incomplete because of a wrong length.
fn is_rejected(bytes: Vec<u8>) -> bool {
    decoded(bytes).map_or(true, |frames| frames.is_empty())
}

#[test]
fn flipped_bit_is_detected() {
    let frames = samples(40);
    let mut flips = 0;
    for frame in &frames {
        let whole = encoded([frame]);
        for bit in 0..whole.len().min(400) * 8 {
            let mut bytes = whole.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(is_rejected(bytes), "bit {bit} of {frame:?}");
            flips += 1;
        }
    }
    assert!(flips > 20_000, "only {flips} flips");
}

#[test]
fn truncated_frame_is_incomplete() {
    for frame in samples(200) {
        let whole = encoded([&frame]);
        for length in 0..whole.len() {
            assert_eq!(decoded(whole.slice(..length)), Ok(Vec::new()));
        }
    }
}

#[test]
fn damaged_frame_is_rejected() {
    let frames = samples(200);
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for round in 0..20_000 {
        let whole = encoded([&frames[round % frames.len()]]);
        let mut bytes = whole.to_vec();
        for _ in 0..=random(4) {
            let at = random(bytes.len());
            match random(4) {
                0 => bytes[at] ^= 1 << random(8),
                1 => bytes[at] = random(256) as u8,
                2 => drop(bytes.drain(at..bytes.len().min(at + 1 + random(8)))),
                _ => bytes.insert(at, random(256) as u8),
            }
            if bytes.is_empty() {
                break;
            }
        }
        // Bytes after an intact frame do not damage it.
        if !bytes.starts_with(&whole) {
            assert!(is_rejected(bytes), "round {round}");
        }
    }
}

#[test]
fn oversize_length_is_rejected_by_the_header() {
    let mut bytes = vec![0; HEADER_BYTES];
    let length = MAX_PAYLOAD as u32 + 1;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    assert_eq!(decoded(bytes), Err(WireError::Oversize { length }));
}

#[test]
fn bytes_past_the_maximum_offset_are_rejected() {
    let piece = |offset, bytes: &'static [u8]| {
        let bytes = Bytes::from_static(bytes);
        let more = false;
        let of = |message| Frame::new(1, message);
        [
            of(Message::Input {
                offset,
                bytes: bytes.clone(),
            }),
            of(Message::SnapshotChunk {
                offset,
                bytes: bytes.clone(),
                more,
            }),
            of(Message::Data {
                stream: StreamId(1),
                offset,
                bytes,
                replay: false,
            }),
        ]
    };
    for frame in piece(u64::MAX - 3, b"abc") {
        assert_eq!(decoded(encoded([&frame])), Ok(vec![frame]));
    }
    for frame in piece(u64::MAX - 3, b"abc") {
        let mut moved = encoded([&frame]).to_vec();
        moved[8] += 1;
        let checked = crc32c::crc32c_append(crc32c::crc32c(&moved[..24]), &moved[HEADER_BYTES..]);
        moved[24..HEADER_BYTES].copy_from_slice(&checked.to_le_bytes());
        let (kind, offset) = (frame.message.kind(), u64::MAX - 2);
        assert_eq!(decoded(moved), Err(WireError::PastEnd { kind, offset }));
    }
}

#[test]
fn long_json_is_split_into_parts_and_raw_bytes_into_messages() {
    let long = Bytes::from(vec![b'"'; MAX_PAYLOAD + 7]);
    let prompt = Frame::new(
        3,
        Message::Prompt(Prompt {
            id: "p".into(),
            bytes: long.clone(),
            mode: PromptMode::Line,
            request_id: None,
        }),
    );
    assert_eq!(decoded(encoded([&prompt])).unwrap(), [prompt]);

    let stream = StreamId::STDOUT;
    let data = Message::Data {
        stream,
        offset: 5,
        bytes: long,
        replay: true,
    };
    let frames = decoded(encoded([&Frame::new(3, data)])).unwrap();
    let ends = frames.iter().map(|frame| match &frame.message {
        Message::Data {
            offset,
            bytes,
            replay: true,
            ..
        } => (*offset, bytes.len()),
        other => panic!("{other:?}"),
    });
    let second = 5 + MAX_PAYLOAD as u64;
    assert_eq!(ends.collect::<Vec<_>>(), [(5, MAX_PAYLOAD), (second, 7)]);
}

#[test]
fn unfinished_parts_are_bounded_and_uninterrupted() {
    let mut part = BytesMut::new();
    raw_frame(15, flags::MORE, &vec![b' '; MAX_PAYLOAD], &mut part);
    let part = part.freeze();
    let mut decoder = Decoder::new();
    for _ in 0..MAX_MESSAGE / MAX_PAYLOAD {
        decoder.push(part.clone());
        assert_eq!(decoder.next(), Ok(None));
    }
    decoder.push(part.clone());
    assert_eq!(decoder.next(), Err(WireError::TooLong));
    assert_eq!(decoder.next(), Err(WireError::TooLong), "errors are sticky");

    let mut decoder = Decoder::new();
    decoder.push(part);
    decoder.push(encoded([&Frame::new(0, Message::Detach)]));
    assert_eq!(decoder.next(), Err(WireError::Interrupted { kind: 28 }));
}

#[test]
fn only_a_prompt_that_fits_is_decoded() {
    let prompt = |count| Prompt {
        id: "p".to_owned(),
        // Each takes two bytes in JSON.
        bytes: "\"".repeat(count).into(),
        mode: PromptMode::Control,
        request_id: None,
    };
    for (count, fits) in [(MAX_MESSAGE / 2 - 64, true), (MAX_MESSAGE / 2, false)] {
        let prompt = prompt(count);
        assert_eq!(prompt.fits(), fits);
        let frame = Frame::new(0, Message::Prompt(prompt));
        let mut decoder = Decoder::new();
        decoder.push(encoded([&frame]));
        let expected = if fits {
            Ok(Some(frame))
        } else {
            Err(WireError::TooLong)
        };
        assert!(decoder.next() == expected, "{count}");
    }
}

#[test]
fn additions_of_later_versions_are_accepted() {
    let detach = Frame::new(0, Message::Detach);
    let mut bytes = BytesMut::new();
    raw_frame(200, flags::OPTIONAL, b"what", &mut bytes);
    encode(&detach, &mut bytes);
    raw_frame(23, 64, br#"{"ping":{"nonce":1,"mood":"fine"}}"#, &mut bytes);
    raw_frame(200, 0, b"what", &mut bytes);
    let mut decoder = Decoder::new();
    decoder.push(bytes.freeze());
    assert_eq!(decoder.next(), Ok(Some(detach)));
    let ping = Frame::new(0, Message::Ping { nonce: 1 });
    assert_eq!(decoder.next(), Ok(Some(ping)));
    assert_eq!(decoder.next(), Err(WireError::UnknownType { kind: 200 }));
}

#[test]
fn request_of_a_prompt_may_be_unknown() {
    let prompt = |request_id: Option<&str>| {
        Message::Prompt(Prompt {
            id: "p".to_owned(),
            bytes: Bytes::new(),
            mode: PromptMode::Line,
            request_id: request_id.map(str::to_owned),
        })
    };
    let json = |message: &Message| serde_json::to_value(message).unwrap();
    let earlier = json(&prompt(None));
    assert!(!earlier.to_string().contains("request_id"), "{earlier}");
    let received: Message = serde_json::from_value(earlier).unwrap();
    assert_eq!(received, prompt(None));
    assert_eq!(json(&prompt(Some("r")))["prompt"]["request_id"], "r");
}

#[test]
fn payload_type_must_match_the_header() {
    let mut bytes = BytesMut::new();
    raw_frame(24, 0, br#"{"ping":{"nonce":1}}"#, &mut bytes);
    let refused = decoded(bytes.freeze());
    assert!(matches!(refused, Err(WireError::Payload { kind: 24, .. })));
}

#[test]
fn layout_matches_the_documentation() {
    let data = Message::Data {
        stream: StreamId::STDERR,
        offset: 0x0102,
        bytes: Bytes::from_static(b"ahoy"),
        replay: true,
    };
    let bytes = encoded([&Frame::new(9, data)]);
    let mut expected = vec![
        4, 0, 0, 0, 8, 1, 2, 0, 2, 1, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0,
    ];
    let checked = [&expected[..], b"ahoy"].concat();
    expected.extend(crc32c::crc32c(&checked).to_le_bytes());
    expected.extend(b"ahoy");
    assert_eq!(bytes, expected);
    assert_eq!(
        crc32c::crc32c(b"123456789"),
        0xe306_9283,
        "check value of CRC-32C"
    );
}

#[test]
fn streams_are_json_keys_and_epochs_strings() {
    let exit = Message::Exit(ExitNotice {
        status: ExitStatus::Code(3),
        oom: false,
        drained: Drained::Clean,
        ends: [(StreamId::STDOUT, 7)].into(),
    });
    let json = serde_json::to_string(&exit).unwrap();
    let expected = r#"{"exit":{"status":{"code":3},"oom":false,"drained":"clean","ends":{"1":7}}}"#;
    assert_eq!(json, expected);
    let epoch = serde_json::to_string(&Epoch(0xab)).unwrap();
    assert_eq!(epoch, "\"000000000000000000000000000000ab\"");
    assert!("ab".parse::<Epoch>().is_err() && "+".repeat(32).parse::<Epoch>().is_err());
}
