//! What is answered to what.

use super::*;
use crate::wire::{GapReason, Prompt, PromptMode};

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

fn exit(core: &mut Core, at: u64) {
    let now = Duration::from_secs(at);
    core.exited(ExitStatus::Code(3), false, Drained::Clean, now);
}

#[test]
fn nothing_is_served_before_hello_and_attach() {
    let mut core = core(OUT, Policy::Block, KIB);
    core.output(OUT, "secret".into());
    let client = core.connect(Duration::ZERO);
    say(&mut core, client, Message::Attach(attach(Lease::Read, OUT)));
    assert_eq!(code_of(&all(&mut core, client)), code::PROTOCOL);
    assert!(core.is_closing(client));
    let client = greeted(&mut core);
    say(&mut core, client, Message::Credit { stream: OUT, n: 1 });
    assert_eq!(code_of(&all(&mut core, client)), code::PROTOCOL);
}

#[test]
fn another_version_or_session_is_refused_by_name() {
    let mut core = core(OUT, Policy::Block, KIB);
    let client = core.connect(Duration::ZERO);
    let hello = Hello {
        versions: (VERSION + 1, VERSION + 2),
        features: Vec::new(),
    };
    say(&mut core, client, Message::Hello(hello));
    assert_eq!(code_of(&all(&mut core, client)), code::VERSION);
    let client = greeted(&mut core);
    let mut other = attach(Lease::Read, OUT);
    other.session = "00000000-0000-4000-8000-000000000002".parse().unwrap();
    say(&mut core, client, Message::Attach(other));
    assert_eq!(code_of(&all(&mut core, client)), code::UNKNOWN_SESSION);
}

#[test]
fn what_was_there_is_replayed_and_what_comes_is_live() {
    let mut core = core(OUT, Policy::Block, KIB);
    core.output(OUT, "old".into());
    let (client, attached) = join(&mut core, attach(Lease::Write, OUT));
    assert_eq!((attached.generation, attached.streams[&OUT].end), (1, 3));
    core.output(OUT, "new".into());
    let messages = all(&mut core, client);
    assert_eq!(text(&messages, OUT), "oldnew");
    let mut replays = messages.iter().filter_map(|message| match message {
        Message::Data { replay, .. } => Some(*replay),
        _ => None,
    });
    assert_eq!(replays.next(), Some(true));
}

/// What a client was sent of a terminal, each piece with whether it was a replay.
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
fn a_piece_is_a_replay_or_live_and_never_both() {
    let mut core = core(StreamId::TTY, Policy::DropOldest, KIB);
    core.output(StreamId::TTY, "old".into());
    let mut asks = attach(Lease::Read, StreamId::TTY);
    asks.credit = 5;
    let (client, _) = join(&mut core, asks);
    core.output(StreamId::TTY, "new".into());
    let messages = all(&mut core, client);
    assert_eq!(pieces(&messages), [(&b"old"[..], true), (b"ne", false)]);
}

#[test]
fn who_comes_back_answers_for_the_time_that_it_was_there() {
    let mut core = core(StreamId::TTY, Policy::DropOldest, KIB);
    let (client, attached) = join(&mut core, attach(Lease::Write, StreamId::TTY));
    core.output(StreamId::TTY, "seen".into());
    all(&mut core, client);
    core.output(StreamId::TTY, "lost".into());
    core.closed(client);
    core.output(StreamId::TTY, "alone".into());
    let mut back = attach(Lease::Write, StreamId::TTY);
    back.cursors.insert(StreamId::TTY, 4);
    back.resume_generation = Some(attached.generation);
    let (client, _) = join(&mut core, back.clone());
    core.output(StreamId::TTY, "live".into());
    let messages = all(&mut core, client);
    let wanted = [(&b"lost"[..], false), (b"alone", true), (b"live", false)];
    assert_eq!(pieces(&messages), wanted);
    // In place of a connection that is still there: nobody else has answered.
    core.output(StreamId::TTY, "more".into());
    back.cursors.insert(StreamId::TTY, 17);
    let (client, _) = join(&mut core, back);
    assert_eq!(pieces(&all(&mut core, client)), [(&b"more"[..], false)]);
    // Another host has answered nothing of it.
    let (client, _) = join(&mut core, attach(Lease::Write, StreamId::TTY));
    let messages = all(&mut core, client);
    assert!(pieces(&messages).iter().all(|(_, replay)| *replay));
}

#[test]
fn credit_is_the_same_for_replay_and_live_and_never_overdrawn() {
    let mut core = core(OUT, Policy::DropOldest, 64 * KIB);
    core.output(OUT, Bytes::from(vec![b'a'; 100]));
    let mut wanted = attach(Lease::Read, OUT);
    wanted.credit = 40;
    let (client, _) = join(&mut core, wanted);
    assert_eq!(text(&all(&mut core, client), OUT).len(), 40);
    say(&mut core, client, Message::Credit { stream: OUT, n: 7 });
    assert_eq!(text(&all(&mut core, client), OUT).len(), 7);
    assert!(all(&mut core, client).is_empty());
}

#[test]
fn behind_the_log_there_is_a_gap_with_both_its_ends() {
    let mut core = core(OUT, Policy::DropOldest, 4 * KIB);
    let (client, _) = join(&mut core, attach(Lease::Read, OUT));
    for _ in 0..4 {
        core.output(OUT, Bytes::from(vec![b'a'; 4 * KIB]));
    }
    let messages = all(&mut core, client);
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
fn the_journal_fills_what_the_ring_has_lost() {
    let mut core = core(OUT, Policy::Block, 4 * KIB);
    for round in 1..=4 {
        core.output(OUT, Bytes::from(vec![b'a'; 4 * KIB]));
        core.archived(OUT, 0..round * 4 * KIB as u64, true);
    }
    assert!(!core.is_held(OUT));
    let (client, attached) = join(&mut core, attach(Lease::Read, OUT));
    assert_eq!(attached.streams[&OUT].start, 0);
    let mut got = 0;
    while got < 16 * KIB {
        got += text(&all(&mut core, client), OUT).len();
        for effect in effects(&mut core) {
            if let Effect::ReadBack {
                client,
                stream,
                offset,
                max,
            } = effect
            {
                assert_eq!(offset, got as u64);
                let bytes = Bytes::from(vec![b'a'; max.min(1_000)]);
                core.read_back(client, stream, offset, ReadBack::Bytes(bytes));
            }
        }
    }
    assert_eq!(got, 16 * KIB);
}

#[test]
fn a_journal_that_fails_after_all_is_a_gap_and_not_a_wait() {
    let mut core = core(OUT, Policy::DropOldest, 4 * KIB);
    for _ in 0..3 {
        core.output(OUT, Bytes::from(vec![b'a'; 4 * KIB]));
    }
    core.archived(OUT, 0..12 * KIB as u64, true);
    let (client, _) = join(&mut core, attach(Lease::Read, OUT));
    assert!(all(&mut core, client).is_empty());
    core.read_back(client, OUT, 0, ReadBack::Lost);
    let messages = all(&mut core, client);
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
fn seed_002_stale_close_cannot_touch_a_new_attach() {
    let mut core = core(OUT, Policy::Block, KIB);
    let (old, _) = join(&mut core, attach(Lease::Write, OUT));
    let (new, attached) = join(&mut core, attach(Lease::Write, OUT));
    assert_eq!(attached.generation, 2);
    let fenced = all(&mut core, old);
    assert_eq!(fenced.last(), Some(&Message::Fenced { generation: 2 }));
    let typed = |bytes: &'static str| Message::Input {
        offset: 0,
        bytes: bytes.into(),
    };
    say_as(&mut core, old, 1, typed("stale"));
    say_as(&mut core, old, 2, typed("forged"));
    core.closed(old);
    say_as(&mut core, new, 2, typed("fresh"));
    core.output(OUT, "alive".into());
    let writes: Vec<_> = effects(&mut core)
        .into_iter()
        .filter(|effect| !matches!(effect, Effect::Joined { .. }))
        .collect();
    assert_eq!(writes, [Effect::Write("fresh".into())]);
    assert_eq!(text(&all(&mut core, new), OUT), "alive");
}

#[test]
fn a_writer_that_comes_back_keeps_its_generation_and_its_input() {
    let mut core = core(OUT, Policy::Block, KIB);
    let (old, _) = join(&mut core, attach(Lease::Write, OUT));
    let bytes = Bytes::from_static(b"one");
    say_as(&mut core, old, 1, Message::Input { offset: 0, bytes });
    let mut again = attach(Lease::Write, OUT);
    (again.epoch, again.resume_generation) = (Some(Epoch(7)), Some(1));
    let (new, attached) = join(&mut core, again.clone());
    assert_eq!((attached.generation, attached.input_next), (1, 3));
    core.closed(old);
    let bytes = Bytes::from_static(b"onetwo");
    say_as(&mut core, new, 1, Message::Input { offset: 0, bytes });
    let mut typed = Vec::new();
    while let Some(effect) = core.next_effect() {
        if let Effect::Write(bytes) = effect {
            typed.extend_from_slice(&bytes);
            core.written(Ok(()), Duration::ZERO);
        }
    }
    assert_eq!(typed, b"onetwo");
    let ack = Message::InputAck {
        offset: 6,
        ended: false,
    };
    assert!(all(&mut core, new).contains(&ack));
    join(&mut core, attach(Lease::Write, OUT));
    let late = greeted(&mut core);
    say(&mut core, late, Message::Attach(again));
    assert_eq!(all(&mut core, late), [Message::Fenced { generation: 2 }]);
    assert!(core.is_closing(late));
}

#[test]
fn leases_allow_what_they_say() {
    let mut core = core(OUT, Policy::Block, KIB);
    let (reader, _) = join(&mut core, attach(Lease::Read, OUT));
    let (appender, _) = join(&mut core, attach(Lease::Append, OUT));
    let bytes = Bytes::from_static(b"x");
    let prompt = |id: &str| {
        let (id, bytes) = (id.to_owned(), "hi".into());
        Message::Prompt(Prompt {
            id,
            bytes,
            mode: PromptMode::Line,
        })
    };
    say(&mut core, reader, prompt("p"));
    assert_eq!(code_of(&all(&mut core, reader)), code::NO_LEASE);
    say(&mut core, appender, Message::Input { offset: 0, bytes });
    assert_eq!(code_of(&all(&mut core, appender)), code::NO_LEASE);
    say(&mut core, appender, prompt("p"));
    say(&mut core, appender, prompt("p"));
    let prompts = effects(&mut core);
    let written = prompts.iter().filter(|it| matches!(it, Effect::Write(_)));
    assert_eq!(written.count(), 1);
    core.written(Ok(()), Duration::ZERO);
    let state = |state| Message::PromptState {
        id: "p".into(),
        state,
    };
    let told = [
        PromptStatus::Queued,
        PromptStatus::Queued,
        PromptStatus::Written,
    ]
    .map(state);
    assert_eq!(all(&mut core, appender), told);
    say(&mut core, appender, prompt("p"));
    let again = Message::PromptState {
        id: "p".into(),
        state: PromptStatus::Written,
    };
    assert_eq!(all(&mut core, appender), [again]);
    assert_eq!(effects(&mut core), []);
}

#[test]
fn signals_and_kills_are_done_once_and_answered_each_time() {
    let mut core = core(OUT, Policy::Block, KIB);
    let (client, _) = join(&mut core, attach(Lease::Append, OUT));
    effects(&mut core);
    let signal = || Message::Signal {
        id: "s".into(),
        signal: Signal::Interrupt,
    };
    let kill = || Message::Kill {
        id: "k".into(),
        ladder: Ladder::AT_ONCE,
    };
    for message in [signal(), signal(), kill(), kill()] {
        say(&mut core, client, message);
    }
    let once = [
        Effect::Signal(Signal::Interrupt),
        Effect::Kill(Ladder::AT_ONCE),
    ];
    assert_eq!(effects(&mut core), once);
    let report = KillReport {
        killed: vec![1],
        survivors: Vec::new(),
        level: bowline_transport::Containment::Group,
        took: Duration::ZERO,
    };
    core.killed(report.clone());
    let killed = Message::Killed {
        id: "k".into(),
        report,
    };
    assert_eq!(all(&mut core, client), std::slice::from_ref(&killed));
    say(&mut core, client, kill());
    assert_eq!(all(&mut core, client), [killed]);
}

#[test]
fn the_exit_comes_last_and_is_kept_until_it_is_acknowledged() {
    let mut core = core(OUT, Policy::Block, KIB);
    core.output(OUT, "last words".into());
    exit(&mut core, 1);
    assert!(!core.is_over(Duration::from_secs(60 * 60)));
    let (reader, attached) = join(&mut core, attach(Lease::Read, OUT));
    assert!(attached.exit.is_some());
    let (writer, _) = join(&mut core, attach(Lease::Write, OUT));
    say(&mut core, writer, Message::ExitAck);
    assert!(!core.exit_is_acknowledged(), "it was not told yet");
    let messages = all(&mut core, writer);
    assert_eq!(text(&messages, OUT), "last words");
    assert!(matches!(messages.last(), Some(Message::Exit(_))));
    say(&mut core, reader, Message::ExitAck);
    assert!(!core.exit_is_acknowledged(), "a reader has no say");
    say(&mut core, writer, Message::ExitAck);
    assert!(!core.is_over(core.now), "the reader was not told yet");
    assert!(matches!(
        all(&mut core, reader).last(),
        Some(Message::Exit(_))
    ));
    assert!(core.is_over(core.now));
}

#[test]
fn an_exit_that_nobody_wants_is_kept_for_a_day() {
    let mut core = core(OUT, Policy::Block, KIB);
    exit(&mut core, 1);
    assert_eq!(core.deadline(), Some(Duration::from_secs(86_401)));
    assert!(!core.is_over(Duration::from_secs(86_400)));
    assert!(core.is_over(Duration::from_secs(86_401)));
}

#[test]
fn seed_002_a_silent_connection_is_noticed() {
    let mut core = core(OUT, Policy::Block, KIB);
    let (client, _) = join(&mut core, attach(Lease::Write, OUT));
    assert_eq!(core.deadline(), Some(Duration::from_secs(10)));
    all(&mut core, client);
    core.tick(Duration::from_secs(10));
    assert!(matches!(all(&mut core, client)[..], [Message::Ping { .. }]));
    core.tick(Duration::from_millis(13_999));
    assert!(!core.is_closing(client));
    core.tick(Duration::from_secs(14));
    assert!(core.is_closing(client));
    assert_eq!(core.deadline(), None);
}

#[test]
fn who_asks_by_itself_is_not_asked() {
    let mut core = core(OUT, Policy::Block, KIB);
    let (client, _) = join(&mut core, attach(Lease::Write, OUT));
    for nonce in 1..20 {
        let now = crate::wire::PING_AT_REST * nonce;
        core.tick(now);
        let ping = Message::Ping {
            nonce: nonce.into(),
        };
        core.frame(client, Frame::new(1, ping), now);
        let pings = all(&mut core, client)
            .into_iter()
            .filter(|said| matches!(said, Message::Ping { .. }));
        assert_eq!(pings.count(), 0);
        assert_eq!(core.deadline(), Some(now + Duration::from_secs(14)));
    }
    core.tick(core.deadline().unwrap());
    assert!(core.is_closing(client), "its silence says enough");
}

#[test]
fn a_cut_writer_is_waited_for_and_one_that_left_is_not() {
    for detaches in [false, true] {
        let mut core = core(OUT, Policy::Block, 4 * KIB);
        let (client, _) = join(&mut core, attach(Lease::Write, OUT));
        if detaches {
            say(&mut core, client, Message::Detach);
        }
        core.closed(client);
        core.output(OUT, Bytes::from(vec![b'x'; 5 * KIB]));
        assert_eq!(core.is_held(OUT), !detaches);
    }
}

#[test]
fn a_terminal_client_behind_gets_the_gap_and_then_the_screen() {
    let tty = StreamId::TTY;
    let mut core = core(tty, Policy::DropOldest, 4 * KIB);
    let (client, _) = join(&mut core, attach(Lease::Read, tty));
    effects(&mut core);
    for _ in 0..4 {
        core.output(tty, Bytes::from(vec![b'a'; 4 * KIB]));
    }
    assert!(!core.is_held(tty));
    assert!(all(&mut core, client).is_empty());
    assert_eq!(effects(&mut core), [Effect::Snapshot { client }]);
    let at_offset = 14 * KIB as u64;
    let bytes = Bytes::from_static(b"screen");
    core.snapshot(
        client,
        Some(Screen {
            at_offset,
            size: size(),
            bytes,
        }),
    );
    let messages = all(&mut core, client);
    assert!(matches!(messages[0], Message::Gap { from: 0, to, .. } if to == at_offset));
    assert!(matches!(messages[1], Message::Snapshot { total: 6, .. }));
    assert!(matches!(
        messages[2],
        Message::SnapshotChunk { more: false, .. }
    ));
    assert_eq!(text(&messages, tty).len(), 2 * KIB);
}

#[test]
fn an_attach_by_screen_has_no_gap_and_the_size_changes_after() {
    let tty = StreamId::TTY;
    let mut core = core(tty, Policy::DropOldest, 4 * KIB);
    core.output(tty, "hello".into());
    let mut wanted = attach(Lease::Write, tty);
    wanted.mode = AttachMode::Snapshot;
    wanted.size = Some(WindowSize::new(50, 100));
    let (client, _) = join(&mut core, wanted);
    let done = effects(&mut core);
    let size = WindowSize::new(50, 100);
    assert_eq!(
        done[..2],
        [Effect::Snapshot { client }, Effect::Resize(size)]
    );
    let bytes = Bytes::from_static(b"hello");
    core.snapshot(
        client,
        Some(Screen {
            at_offset: 5,
            size,
            bytes,
        }),
    );
    let messages = all(&mut core, client);
    assert!(messages.iter().all(|it| !matches!(it, Message::Gap { .. })));
    assert_eq!(text(&messages, tty), "");
}

#[test]
fn clients_and_their_floods_are_bounded() {
    let mut core = core(OUT, Policy::Block, KIB);
    let (client, _) = join(&mut core, attach(Lease::Read, OUT));
    for nonce in 0..20 {
        say(&mut core, client, Message::Ping { nonce });
    }
    assert!(!core.is_closing(client));
    say(&mut core, client, Message::Ping { nonce: 20 });
    assert!(core.is_closing(client));
    for _ in 0..CLIENTS {
        core.connect(Duration::ZERO);
    }
    let one_more = core.connect(Duration::ZERO);
    assert_eq!(code_of(&all(&mut core, one_more)), code::LIMIT);
    for _ in 0..2 * REFUSED_CLIENTS {
        core.connect(Duration::ZERO);
    }
    assert!(core.clients.len() <= CLIENTS + REFUSED_CLIENTS + 1);
}

#[test]
fn what_is_worse_is_told_to_those_who_come_later_too() {
    let mut core = core(OUT, Policy::Block, KIB);
    core.degrade("journal", "no space is left");
    let (client, _) = join(&mut core, attach(Lease::Read, OUT));
    assert!(
        matches!(&all(&mut core, client)[..], [Message::Degraded { kind, .. }] if kind == "journal")
    );
}

#[test]
fn cursors_of_another_child_are_void() {
    let mut core = core(OUT, Policy::Block, KIB);
    core.output(OUT, "fresh".into());
    let mut old = attach(Lease::Write, OUT);
    (old.epoch, old.resume_generation) = (Some(Epoch(6)), Some(9));
    old.cursors.insert(OUT, 1_000);
    let (client, attached) = join(&mut core, old.clone());
    assert_eq!((attached.epoch, attached.generation), (Epoch(7), 1));
    assert_eq!(text(&all(&mut core, client), OUT), "fresh");
    old.epoch = Some(Epoch(7));
    old.resume_generation = None;
    let ahead = greeted(&mut core);
    say(&mut core, ahead, Message::Attach(old));
    assert_eq!(code_of(&all(&mut core, ahead)), code::PROTOCOL);
}
