//! Protocol cases.
//!
//! `stale_close_does_not_affect_a_new_attach` covers the fencing of stale connections, and
//! `silent_connection_times_out` the detection of half-open ones.

use super::*;
use crate::wire::{ARRIVALS, GapReason, InputRefusal, Prompt, PromptMode};

const OUT: StreamId = StreamId::STDOUT;

fn text(messages: &[Message], wanted: StreamId) -> String {
    let mut text = String::new();
    for message in messages {
        if let Message::Data { stream, bytes, .. } = message
            && *stream == wanted
        {
            text.push_str(std::str::from_utf8(bytes).unwrap());
        }
    }
    text
}

fn code_of(messages: &[Message]) -> &str {
    match messages {
        [Message::Error { code, .. }] => code,
        other => panic!("not one error: {other:?}"),
    }
}

fn exit(machine: &mut SessionMachine, at: u64) {
    let now = Duration::from_secs(at);
    machine.on_exited(ExitStatus::Code(3), false, Drained::Clean, now);
}

#[test]
fn requests_before_attach_are_rejected() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    machine.on_output(OUT, "secret".into());
    let client = machine.connect(Duration::ZERO);
    send(
        &mut machine,
        client,
        Message::Attach(attach(Lease::Read, OUT)),
    );
    assert_eq!(code_of(&all(&mut machine, client)), code::PROTOCOL);
    assert!(machine.is_closing(client));
    let client = greeted(&mut machine);
    send(&mut machine, client, Message::Credit { stream: OUT, n: 1 });
    assert_eq!(code_of(&all(&mut machine, client)), code::PROTOCOL);
}

#[test]
fn unsupported_version_and_unknown_session_are_rejected() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let client = machine.connect(Duration::ZERO);
    let hello = Hello {
        versions: (VERSION + 1, VERSION + 2),
        features: Vec::new(),
    };
    send(&mut machine, client, Message::Hello(hello));
    assert_eq!(code_of(&all(&mut machine, client)), code::VERSION);
    let client = greeted(&mut machine);
    let mut other = attach(Lease::Read, OUT);
    other.session = "00000000-0000-4000-8000-000000000002".parse().unwrap();
    send(&mut machine, client, Message::Attach(other));
    assert_eq!(code_of(&all(&mut machine, client)), code::UNKNOWN_SESSION);
}

#[test]
fn earlier_output_is_replay_and_later_output_is_live() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    machine.on_output(OUT, "old".into());
    let (client, attached) = join(&mut machine, attach(Lease::Write, OUT));
    assert_eq!((attached.generation, attached.streams[&OUT].end), (1, 3));
    machine.on_output(OUT, "new".into());
    let messages = all(&mut machine, client);
    assert_eq!(text(&messages, OUT), "oldnew");
    let mut replays = messages.iter().filter_map(|message| match message {
        Message::Data { replay, .. } => Some(*replay),
        _ => None,
    });
    assert_eq!(replays.next(), Some(true));
}

/// Returns the terminal data sent to a client, each chunk with its replay flag.
fn pieces(messages: &[Message]) -> Vec<(&[u8], bool)> {
    let pieces = messages.iter().filter_map(|message| match message {
        Message::Data {
            stream: StreamId::TTY,
            bytes,
            replay,
            ..
        } => Some((&bytes[..], *replay)),
        _ => None,
    });
    pieces.collect()
}

#[test]
fn data_is_split_where_replay_ends() {
    let mut machine = machine(StreamId::TTY, OverflowPolicy::DropOldest, KIB);
    machine.on_output(StreamId::TTY, "old".into());
    let mut asks = attach(Lease::Read, StreamId::TTY);
    asks.credit = 5;
    let (client, _) = join(&mut machine, asks);
    machine.on_output(StreamId::TTY, "new".into());
    let messages = all(&mut machine, client);
    assert_eq!(pieces(&messages), [(&b"old"[..], true), (b"ne", false)]);
}

#[test]
fn resuming_writer_receives_its_own_period_as_live() {
    let mut machine = machine(StreamId::TTY, OverflowPolicy::DropOldest, KIB);
    let (client, attached) = join(&mut machine, attach(Lease::Write, StreamId::TTY));
    machine.on_output(StreamId::TTY, "seen".into());
    all(&mut machine, client);
    machine.on_output(StreamId::TTY, "lost".into());
    machine.on_closed(client);
    machine.on_output(StreamId::TTY, "alone".into());
    let mut back = attach(Lease::Write, StreamId::TTY);
    back.cursors.insert(StreamId::TTY, 4);
    back.resume_generation = Some(attached.generation);
    let (client, _) = join(&mut machine, back.clone());
    machine.on_output(StreamId::TTY, "live".into());
    let messages = all(&mut machine, client);
    let wanted = [(&b"lost"[..], false), (b"alone", true), (b"live", false)];
    assert_eq!(pieces(&messages), wanted);
    // It takes over from its own connection: no other client has replied.
    machine.on_output(StreamId::TTY, "more".into());
    back.cursors.insert(StreamId::TTY, 17);
    let (client, _) = join(&mut machine, back);
    assert_eq!(pieces(&all(&mut machine, client)), [(&b"more"[..], false)]);
    // Another host has replied to none of it.
    let (client, _) = join(&mut machine, attach(Lease::Write, StreamId::TTY));
    let messages = all(&mut machine, client);
    assert!(pieces(&messages).iter().all(|(_, replay)| *replay));
}

#[test]
fn credit_limits_replay_and_live_data() {
    let mut machine = machine(OUT, OverflowPolicy::DropOldest, 64 * KIB);
    machine.on_output(OUT, Bytes::from(vec![b'a'; 100]));
    let mut wanted = attach(Lease::Read, OUT);
    wanted.credit = 40;
    let (client, _) = join(&mut machine, wanted);
    assert_eq!(text(&all(&mut machine, client), OUT).len(), 40);
    send(&mut machine, client, Message::Credit { stream: OUT, n: 7 });
    assert_eq!(text(&all(&mut machine, client), OUT).len(), 7);
    assert!(all(&mut machine, client).is_empty());
}

#[test]
fn evicted_bytes_are_reported_as_a_gap() {
    let mut machine = machine(OUT, OverflowPolicy::DropOldest, 4 * KIB);
    let (client, _) = join(&mut machine, attach(Lease::Read, OUT));
    for _ in 0..4 {
        machine.on_output(OUT, Bytes::from(vec![b'a'; 4 * KIB]));
    }
    let messages = all(&mut machine, client);
    let gap = Message::Gap {
        stream: OUT,
        from: 0,
        to: 12 * KIB as u64,
        reason: GapReason::Overflow,
    };
    assert_eq!(messages[0], gap);
    assert_eq!(text(&messages, OUT).len(), 4 * KIB);
}

#[test]
fn evicted_bytes_are_read_from_the_journal() {
    let mut machine = machine(OUT, OverflowPolicy::Block, 4 * KIB);
    for round in 1..=4 {
        machine.on_output(OUT, Bytes::from(vec![b'a'; 4 * KIB]));
        machine.set_journal_extent(OUT, 0..round * 4 * KIB as u64, true);
    }
    assert!(!machine.is_paused(OUT));
    let (client, attached) = join(&mut machine, attach(Lease::Read, OUT));
    assert_eq!(attached.streams[&OUT].start, 0);
    let mut got = 0;
    while got < 16 * KIB {
        got += text(&all(&mut machine, client), OUT).len();
        for effect in effects(&mut machine) {
            if let Effect::ReadJournal {
                client,
                stream,
                offset,
                max,
            } = effect
            {
                assert_eq!(offset, got as u64);
                let bytes = Bytes::from(vec![b'a'; max.min(1_000)]);
                machine.on_journal_read(
                    client,
                    stream,
                    offset,
                    JournalRead::Bytes(bytes, Arrival::default()),
                );
            }
        }
    }
    assert_eq!(got, 16 * KIB);
}

#[test]
fn unreadable_journal_is_reported_as_a_gap() {
    let mut machine = machine(OUT, OverflowPolicy::DropOldest, 4 * KIB);
    for _ in 0..3 {
        machine.on_output(OUT, Bytes::from(vec![b'a'; 4 * KIB]));
    }
    machine.set_journal_extent(OUT, 0..12 * KIB as u64, true);
    let (client, _) = join(&mut machine, attach(Lease::Read, OUT));
    assert!(all(&mut machine, client).is_empty());
    machine.on_journal_read(client, OUT, 0, JournalRead::Unreadable);
    let messages = all(&mut machine, client);
    let reason = GapReason::Damaged;
    let (from, to) = (0, 8 * KIB as u64);
    let gap = Message::Gap {
        stream: OUT,
        from,
        to,
        reason,
    };
    assert_eq!(messages[0], gap);
    assert_eq!(text(&messages, OUT).len(), 4 * KIB);
}

#[test]
fn stale_close_does_not_affect_a_new_attach() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (old, _) = join(&mut machine, attach(Lease::Write, OUT));
    let (new, attached) = join(&mut machine, attach(Lease::Write, OUT));
    assert_eq!(attached.generation, 2);
    let fenced = all(&mut machine, old);
    assert_eq!(fenced.last(), Some(&Message::Fenced { generation: 2 }));
    let typed = |bytes: &'static str| Message::Input {
        offset: 0,
        bytes: bytes.into(),
    };
    send_as(&mut machine, old, 1, typed("stale"));
    send_as(&mut machine, old, 2, typed("forged"));
    machine.on_closed(old);
    send_as(&mut machine, new, 2, typed("fresh"));
    machine.on_output(OUT, "alive".into());
    let writes: Vec<_> = effects(&mut machine)
        .into_iter()
        .filter(|effect| !matches!(effect, Effect::Attached { .. }))
        .collect();
    assert_eq!(writes, [Effect::Write("fresh".into())]);
    assert_eq!(text(&all(&mut machine, new), OUT), "alive");
}

#[test]
fn resuming_writer_keeps_generation_and_input_offset() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (old, _) = join(&mut machine, attach(Lease::Write, OUT));
    let bytes = Bytes::from_static(b"one");
    send_as(&mut machine, old, 1, Message::Input { offset: 0, bytes });
    let mut again = attach(Lease::Write, OUT);
    (again.epoch, again.resume_generation) = (Some(Epoch(7)), Some(1));
    let (new, attached) = join(&mut machine, again.clone());
    assert_eq!((attached.generation, attached.input_next), (1, 3));
    machine.on_closed(old);
    let bytes = Bytes::from_static(b"onetwo");
    send_as(&mut machine, new, 1, Message::Input { offset: 0, bytes });
    let mut typed = Vec::new();
    while let Some(effect) = machine.next_effect() {
        if let Effect::Write(bytes) = effect {
            typed.extend_from_slice(&bytes);
            machine.on_written(Ok(()), Duration::ZERO);
        }
    }
    assert_eq!(typed, b"onetwo");
    let ack = Message::InputAck {
        offset: 6,
        ended: false,
    };
    assert!(all(&mut machine, new).contains(&ack));
    join(&mut machine, attach(Lease::Write, OUT));
    let late = greeted(&mut machine);
    send(&mut machine, late, Message::Attach(again));
    assert_eq!(all(&mut machine, late), [Message::Fenced { generation: 2 }]);
    assert!(machine.is_closing(late));
}

/// Attaches a writer to a terminal, and has a key of it written.
fn typed_key() -> (SessionMachine, ClientId) {
    let mut machine = machine(StreamId::TTY, OverflowPolicy::DropOldest, KIB);
    let (writer, _) = join(&mut machine, attach(Lease::Write, StreamId::TTY));
    all(&mut machine, writer);
    let bytes = Bytes::from_static(b"k");
    send_as(&mut machine, writer, 1, Message::Input { offset: 0, bytes });
    let written = effects(&mut machine);
    assert!(written.contains(&Effect::Write("k".into())));
    machine.on_written(Ok(()), machine.now);
    (machine, writer)
}

const ACK: Message = Message::InputAck {
    offset: 1,
    ended: false,
};

#[test]
fn key_is_acknowledged_with_its_echo() {
    let (mut machine, writer) = typed_key();
    assert_eq!(all(&mut machine, writer), []);
    machine.on_output(StreamId::TTY, "k".into());
    let sent = all(&mut machine, writer);
    assert!(matches!(sent[0], Message::Data { .. }), "{sent:?}");
    assert_eq!(sent[1..], [ACK]);
}

#[test]
fn key_without_echo_is_acknowledged_in_time() {
    let (mut machine, writer) = typed_key();
    let due = machine.deadline().unwrap();
    assert_eq!(due, machine.now + INPUT_ACK_DELAY);
    machine.tick(due);
    assert!(machine.deadline().unwrap() > due, "it is not due again");
    assert_eq!(all(&mut machine, writer), [ACK]);
}

#[test]
fn key_is_acknowledged_before_the_exit() {
    let (mut machine, writer) = typed_key();
    let now = machine.now;
    machine.on_exited(ExitStatus::Code(0), false, Drained::Clean, now);
    let sent = all(&mut machine, writer);
    assert_eq!(sent[0], ACK);
    assert!(matches!(sent[1], Message::Exit(_)), "{sent:?}");
}

#[test]
fn leases_limit_requests() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (reader, _) = join(&mut machine, attach(Lease::Read, OUT));
    let (appender, _) = join(&mut machine, attach(Lease::Append, OUT));
    let bytes = Bytes::from_static(b"x");
    let prompt = |id: &str| {
        let (id, bytes) = (id.to_owned(), "hi".into());
        Message::Prompt(Prompt {
            id,
            bytes,
            mode: PromptMode::Line,
            request_id: None,
        })
    };
    send(&mut machine, reader, prompt("p"));
    assert_eq!(code_of(&all(&mut machine, reader)), code::NO_LEASE);
    send(&mut machine, appender, Message::Input { offset: 0, bytes });
    assert_eq!(code_of(&all(&mut machine, appender)), code::NO_LEASE);
    send(&mut machine, appender, prompt("p"));
    send(&mut machine, appender, prompt("p"));
    let prompts = effects(&mut machine);
    let written = prompts.iter().filter(|it| matches!(it, Effect::Write(_)));
    assert_eq!(written.count(), 1);
    machine.on_written(Ok(()), Duration::ZERO);
    let state = |state| Message::PromptState {
        id: "p".into(),
        state,
    };
    let states = [
        PromptStatus::Queued,
        PromptStatus::Queued,
        PromptStatus::Written,
    ]
    .map(state);
    assert_eq!(all(&mut machine, appender), states);
    send(&mut machine, appender, prompt("p"));
    let again = Message::PromptState {
        id: "p".into(),
        state: PromptStatus::Written,
    };
    assert_eq!(all(&mut machine, appender), [again]);
    assert_eq!(effects(&mut machine), []);
}

#[test]
fn repeated_signals_and_kills_are_executed_once() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (client, _) = join(&mut machine, attach(Lease::Append, OUT));
    effects(&mut machine);
    let signal = || Message::Signal {
        id: "s".into(),
        signal: Signal::Interrupt,
    };
    let kill = || Message::Kill {
        id: "k".into(),
        policy: TerminationPolicy::AT_ONCE,
    };
    for message in [signal(), signal(), kill(), kill()] {
        send(&mut machine, client, message);
    }
    let once = [
        Effect::Signal(Signal::Interrupt),
        Effect::Kill(TerminationPolicy::AT_ONCE),
    ];
    assert_eq!(effects(&mut machine), once);
    let report = KillReport {
        killed: vec![1],
        survivors: Vec::new(),
        level: bowline_transport::Containment::Group,
        took: Duration::ZERO,
    };
    machine.on_killed(report.clone());
    let killed = Message::Killed {
        id: "k".into(),
        report,
    };
    assert_eq!(all(&mut machine, client), std::slice::from_ref(&killed));
    send(&mut machine, client, kill());
    assert_eq!(all(&mut machine, client), [killed]);
}

#[test]
fn kills_of_a_client_are_limited() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (client, _) = join(&mut machine, attach(Lease::Append, OUT));
    effects(&mut machine);
    for number in 0..65 {
        let (id, policy) = (number.to_string(), TerminationPolicy::AT_ONCE);
        send(&mut machine, client, Message::Kill { id, policy });
    }
    assert_eq!(effects(&mut machine).len(), 64);
    assert_eq!(code_of(&all(&mut machine, client)), code::LIMIT);
}

#[test]
fn reused_prompt_id_is_refused() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (client, _) = join(&mut machine, attach(Lease::Append, OUT));
    effects(&mut machine);
    let mut prompt = |bytes: &'static str| {
        let (id, bytes, mode) = ("p".to_owned(), bytes.into(), PromptMode::Line);
        let prompt = Message::Prompt(Prompt {
            id,
            bytes,
            mode,
            request_id: None,
        });
        send(&mut machine, client, prompt);
        let written = effects(&mut machine);
        if !written.is_empty() {
            machine.on_written(Ok(()), Duration::ZERO);
        }
        let state = match all(&mut machine, client).pop() {
            Some(Message::PromptState { state, .. }) => state,
            other => panic!("{other:?}"),
        };
        (written.len(), state)
    };
    assert_eq!(prompt("one"), (1, PromptStatus::Written));
    let reason = "the id was used for another request".to_owned();
    assert_eq!(prompt("two"), (0, PromptStatus::Refused { reason }));
    assert_eq!(prompt("one"), (0, PromptStatus::Written));
}

#[test]
fn reader_without_credit_does_not_pause_the_child() {
    let mut machine = machine(OUT, OverflowPolicy::Block, 4 * KIB);
    let (writer, _) = join(&mut machine, attach(Lease::Write, OUT));
    let mut idle = attach(Lease::Read, OUT);
    idle.credit = 0;
    let (reader, _) = join(&mut machine, idle);
    let mut offset = 0;
    for _ in 0..64 {
        assert!(!machine.is_paused(OUT));
        machine.on_output(OUT, Bytes::from(vec![b'a'; 4 * KIB]));
        assert_eq!(text(&all(&mut machine, writer), OUT).len(), 4 * KIB);
        offset += 4 * KIB as u64;
        let (stream, n) = (OUT, 4 * KIB as u64);
        send_as(&mut machine, writer, 1, Message::Ack { stream, offset });
        send_as(&mut machine, writer, 1, Message::Credit { stream, n });
        send(&mut machine, reader, Message::Pong { nonce: 0 });
    }
    let (stream, n) = (OUT, 1 << 20);
    send(&mut machine, reader, Message::Credit { stream, n });
    let messages = all(&mut machine, reader);
    let is_gap = |it: &Message| matches!(it, Message::Gap { from: 0, .. });
    assert!(messages.iter().any(is_gap), "{messages:?}");
}

#[test]
fn exit_is_last_and_retained_until_acknowledged() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    machine.on_output(OUT, "last words".into());
    exit(&mut machine, 1);
    assert!(!machine.is_over(Duration::from_secs(60 * 60)));
    let (reader, attached) = join(&mut machine, attach(Lease::Read, OUT));
    assert!(attached.exit.is_some());
    let (writer, _) = join(&mut machine, attach(Lease::Write, OUT));
    send(&mut machine, writer, Message::ExitAck);
    assert!(!machine.exit_acknowledged(), "the exit was not sent yet");
    let messages = all(&mut machine, writer);
    assert_eq!(text(&messages, OUT), "last words");
    assert!(matches!(messages.last(), Some(Message::Exit(_))));
    send(&mut machine, reader, Message::ExitAck);
    assert!(!machine.exit_acknowledged(), "a reader cannot acknowledge");
    send(&mut machine, writer, Message::ExitAck);
    assert!(
        !machine.is_over(machine.now),
        "the exit was not sent to the reader yet"
    );
    assert!(matches!(
        all(&mut machine, reader).last(),
        Some(Message::Exit(_))
    ));
    assert!(machine.is_over(machine.now));
}

#[test]
fn unacknowledged_exit_is_retained_for_a_day() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    exit(&mut machine, 1);
    assert_eq!(machine.deadline(), Some(Duration::from_secs(86_401)));
    assert!(!machine.is_over(Duration::from_secs(86_400)));
    assert!(machine.is_over(Duration::from_secs(86_401)));
}

#[test]
fn silent_connection_times_out() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (client, _) = join(&mut machine, attach(Lease::Write, OUT));
    assert_eq!(machine.deadline(), Some(Duration::from_secs(10)));
    all(&mut machine, client);
    machine.tick(Duration::from_secs(10));
    assert!(matches!(
        all(&mut machine, client)[..],
        [Message::Ping { .. }]
    ));
    machine.tick(Duration::from_millis(13_999));
    assert!(!machine.is_closing(client));
    machine.tick(Duration::from_secs(14));
    assert!(machine.is_closing(client));
    assert_eq!(machine.deadline(), None);
}

#[test]
fn client_that_pings_is_not_pinged() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (client, _) = join(&mut machine, attach(Lease::Write, OUT));
    for nonce in 1..20 {
        let now = crate::wire::PING_AT_REST * nonce;
        machine.tick(now);
        let ping = Message::Ping {
            nonce: nonce.into(),
        };
        machine.on_frame(client, Frame::new(1, ping), now);
        let pings = all(&mut machine, client)
            .into_iter()
            .filter(|message| matches!(message, Message::Ping { .. }));
        assert_eq!(pings.count(), 0);
        assert_eq!(machine.deadline(), Some(now + Duration::from_secs(14)));
    }
    machine.tick(machine.deadline().unwrap());
    assert!(
        machine.is_closing(client),
        "it times out when its pings stop"
    );
}

#[test]
fn child_is_paused_for_a_disconnected_writer_only() {
    for detaches in [false, true] {
        let mut machine = machine(OUT, OverflowPolicy::Block, 4 * KIB);
        let (client, _) = join(&mut machine, attach(Lease::Write, OUT));
        if detaches {
            send(&mut machine, client, Message::Detach);
        }
        machine.on_closed(client);
        machine.on_output(OUT, Bytes::from(vec![b'x'; 5 * KIB]));
        assert_eq!(machine.is_paused(OUT), !detaches);
    }
}

#[test]
fn lagging_terminal_client_receives_gap_and_snapshot() {
    let tty = StreamId::TTY;
    let mut machine = machine(tty, OverflowPolicy::DropOldest, 4 * KIB);
    let (client, _) = join(&mut machine, attach(Lease::Read, tty));
    effects(&mut machine);
    for _ in 0..4 {
        machine.on_output(tty, Bytes::from(vec![b'a'; 4 * KIB]));
    }
    assert!(!machine.is_paused(tty));
    assert!(all(&mut machine, client).is_empty());
    let wanted = Effect::Snapshot {
        client,
        with_scrollback: false,
    };
    assert_eq!(effects(&mut machine), [wanted]);
    let at_offset = 14 * KIB as u64;
    let bytes = Bytes::from_static(b"screen");
    machine.on_snapshot(
        client,
        Some(ScreenSnapshot {
            at_offset,
            size: size(),
            bytes,
        }),
    );
    let messages = all(&mut machine, client);
    assert!(matches!(messages[0], Message::Gap { from: 0, to, .. } if to == at_offset));
    assert!(matches!(messages[1], Message::Snapshot { total: 6, .. }));
    assert!(matches!(
        messages[2],
        Message::SnapshotChunk { more: false, .. }
    ));
    assert_eq!(text(&messages, tty).len(), 2 * KIB);
}

#[test]
fn snapshot_attach_has_no_gap_and_the_clients_size() {
    let tty = StreamId::TTY;
    let mut machine = machine(tty, OverflowPolicy::DropOldest, 4 * KIB);
    machine.on_output(tty, "hello".into());
    let mut wanted = attach(Lease::Write, tty);
    wanted.mode = AttachMode::Snapshot;
    wanted.size = Some(WindowSize::new(50, 100));
    let (client, _) = join(&mut machine, wanted);
    let done = effects(&mut machine);
    let size = WindowSize::new(50, 100);
    assert_eq!(
        done[..2],
        [
            Effect::Resize(size),
            Effect::Snapshot {
                client,
                with_scrollback: true
            },
        ]
    );
    let bytes = Bytes::from_static(b"hello");
    machine.on_snapshot(
        client,
        Some(ScreenSnapshot {
            at_offset: 5,
            size,
            bytes,
        }),
    );
    let messages = all(&mut machine, client);
    assert!(messages.iter().all(|it| !matches!(it, Message::Gap { .. })));
    assert_eq!(text(&messages, tty), "");
}

#[test]
fn client_that_repeats_refused_requests_is_disconnected() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (reader, _) = join(&mut machine, attach(Lease::Read, OUT));
    let end = Message::InputEnd { offset: 0 };
    for second in 0..2 {
        let now = Duration::from_secs(second);
        for _ in 0..50 {
            machine.on_frame(reader, Frame::new(0, end.clone()), now);
            assert_eq!(code_of(&all(&mut machine, reader)), code::NO_LEASE);
        }
        assert!(!machine.is_closing(reader));
    }
    machine.on_frame(reader, Frame::new(0, end), Duration::from_secs(1));
    assert_eq!(code_of(&all(&mut machine, reader)), code::LIMIT);
    assert!(machine.is_closing(reader));
}

#[test]
fn clients_and_pings_are_limited() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    let (client, _) = join(&mut machine, attach(Lease::Read, OUT));
    for nonce in 0..20 {
        send(&mut machine, client, Message::Ping { nonce });
    }
    assert!(!machine.is_closing(client));
    send(&mut machine, client, Message::Ping { nonce: 20 });
    assert!(machine.is_closing(client));
    for _ in 0..MAX_CLIENTS {
        machine.connect(Duration::ZERO);
    }
    let one_more = machine.connect(Duration::ZERO);
    assert_eq!(code_of(&all(&mut machine, one_more)), code::LIMIT);
    for _ in 0..2 * MAX_REFUSED_CLIENTS {
        machine.connect(Duration::ZERO);
    }
    assert!(machine.clients.len() <= MAX_CLIENTS + MAX_REFUSED_CLIENTS + 1);
}

#[test]
fn degraded_feature_is_reported_to_later_clients() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    machine.degrade("journal", "no space is left");
    let (client, _) = join(&mut machine, attach(Lease::Read, OUT));
    assert!(
        matches!(&all(&mut machine, client)[..], [Message::Degraded { kind, .. }] if kind == "journal")
    );
}

#[test]
fn offsets_of_another_epoch_are_void() {
    let mut machine = machine(OUT, OverflowPolicy::Block, KIB);
    machine.on_output(OUT, "fresh".into());
    let mut old = attach(Lease::Write, OUT);
    (old.epoch, old.resume_generation) = (Some(Epoch(6)), Some(9));
    old.cursors.insert(OUT, 1_000);
    let (client, attached) = join(&mut machine, old.clone());
    assert_eq!((attached.epoch, attached.generation), (Epoch(7), 1));
    assert_eq!(text(&all(&mut machine, client), OUT), "fresh");
    old.epoch = Some(Epoch(7));
    old.resume_generation = None;
    let ahead = greeted(&mut machine);
    send(&mut machine, ahead, Message::Attach(old));
    assert_eq!(code_of(&all(&mut machine, ahead)), code::PROTOCOL);
}

#[test]
fn written_input_is_a_stream_beside_the_output() {
    let mut machine = machine(OUT, OverflowPolicy::Block, 4 * KIB);
    let (writer, _) = join(&mut machine, attach(Lease::Write, OUT));
    let written = |machine: &mut SessionMachine, offset, text: &'static str, outcome| {
        let bytes = Bytes::from_static(text.as_bytes());
        send_as(machine, writer, 1, Message::Input { offset, bytes });
        assert!(effects(machine).contains(&Effect::Write(text.into())));
        machine.on_written(outcome, Duration::ZERO);
    };
    machine.set_wall_time(1_000);
    written(&mut machine, 0, "one\n", Ok(()));
    machine.on_output(OUT, "answer\n".into());
    machine.set_wall_time(2_000);
    let detail = "the pipe broke".to_owned();
    written(
        &mut machine,
        4,
        "two\n",
        Err(InputRefusal::Failed { detail }),
    );
    written(&mut machine, 8, "three\n", Ok(()));
    assert_eq!(
        machine.end(StreamId::INPUT),
        10,
        "what was not written is not there"
    );
    let read = |offset| {
        machine
            .read_memory(StreamId::INPUT, offset, usize::MAX)
            .unwrap()
    };
    assert_eq!(read(0), ("one\n".into(), Arrival::at(1_000).beside(0)));
    assert_eq!(read(4), ("three\n".into(), Arrival::at(2_000).beside(7)));
    assert_eq!(
        (machine.input_place(3), machine.input_place(10)),
        (Some(0), None)
    );
}

/// A client that folds gets each input before the output that follows it, with times; another one gets
/// what it always got.
#[test]
fn client_with_arrivals_receives_one_order() {
    let mut machine = machine(OUT, OverflowPolicy::Block, 64 * KIB);
    let (writer, _) = join(&mut machine, attach(Lease::Write, OUT));
    let mut expected = Vec::new();
    let mut offset = 0;
    for number in 0..20_u64 {
        machine.set_wall_time(1_000 + number);
        if number % 3 == 0 {
            let bytes = Bytes::from(format!("input {number}\n"));
            expected.push((StreamId::INPUT, 1_000 + number, bytes.clone()));
            send_as(
                &mut machine,
                writer,
                1,
                Message::Input {
                    offset,
                    bytes: bytes.clone(),
                },
            );
            offset += bytes.len() as u64;
            effects(&mut machine);
            machine.on_written(Ok(()), Duration::ZERO);
        } else {
            let bytes = Bytes::from(format!("output {number}\n"));
            expected.push((OUT, 1_000 + number, bytes.clone()));
            machine.on_output(OUT, bytes);
        }
    }
    let client = machine.connect(machine.now);
    let hello = Hello {
        versions: (VERSION, VERSION),
        features: vec!["unknown".into(), ARRIVALS.into()],
    };
    send(&mut machine, client, Message::Hello(hello));
    let Some(Message::Welcome(welcome)) = machine.next_frame(client).map(|it| it.message) else {
        panic!("not greeted");
    };
    assert_eq!(welcome.features, [ARRIVALS]);
    let mut both = attach(Lease::Read, OUT);
    both.cursors.insert(StreamId::INPUT, 0);
    send(&mut machine, client, Message::Attach(both));
    let (mut received, mut times) = (Vec::new(), BTreeMap::new());
    for message in all(&mut machine, client) {
        match message {
            Message::Arrival { stream, at_ms, .. } => {
                times.insert(stream, at_ms.unwrap());
            }
            Message::Data { stream, bytes, .. } => received.push((stream, times[&stream], bytes)),
            _ => {}
        }
    }
    assert_eq!(received, expected);
    let (plain, _) = join(&mut machine, attach(Lease::Read, OUT));
    let messages = all(&mut machine, plain);
    let chunks = messages
        .iter()
        .filter(|it| matches!(it, Message::Data { .. }));
    assert_eq!(chunks.count(), 1, "output is not divided for it");
    assert!(
        !messages
            .iter()
            .any(|it| matches!(it, Message::Arrival { .. }))
    );
}
