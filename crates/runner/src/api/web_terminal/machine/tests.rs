use std::collections::BTreeMap;
use std::time::Duration;

use bowline_transport::wire::{
    Epoch, ExitNotice, SessionFacts, SessionKind, SessionState, StdioKind,
};
use bowline_transport::{Containment, Drained, ExitStatus};
use serde_json::{Value, json};

use super::*;

fn attached() -> Attached {
    Attached {
        epoch: Epoch(1),
        generation: 7,
        streams: BTreeMap::new(),
        input_next: 100,
        exit: None,
        info: SessionFacts {
            kind: SessionKind::Terminal,
            stdio: StdioKind::Pty,
            pid: Some(1),
            size: Some(WindowSize::new(24, 80)),
            containment: Containment::Group,
            state: SessionState::Running,
        },
    }
}

fn terminal() -> WebTerminal {
    WebTerminal::new(&attached(), true, false)
}

fn actions(terminal: &mut WebTerminal) -> Vec<Action> {
    std::iter::from_fn(|| terminal.next_action()).collect()
}

/// Returns the actions as JSON: text messages as they are, bytes with their credit, messages to the
/// shim by their debug text, and close codes.
fn sent(terminal: &mut WebTerminal) -> Vec<Value> {
    let sent = actions(terminal).into_iter().map(|action| match action {
        Action::SendText(text) => serde_json::from_str(&text).unwrap(),
        Action::SendBytes(bytes, credit) => json!([String::from_utf8_lossy(&bytes), credit]),
        Action::SendToShim(message) => json!(format!("{message:?}")),
        Action::Close(code, _) => json!(code),
    });
    sent.collect()
}

fn snapshot(at_offset: u64, total: u64) -> Message {
    Message::Snapshot {
        at_offset,
        size: WindowSize::new(24, 80),
        hash: 0,
        total,
    }
}

fn chunk(offset: u64, bytes: &'static str, more: bool) -> Message {
    Message::SnapshotChunk {
        offset,
        bytes: bytes.into(),
        more,
    }
}

fn data(offset: u64, bytes: &'static str) -> Message {
    Message::Data {
        stream: StreamId::TTY,
        offset,
        bytes: bytes.into(),
        replay: false,
    }
}

fn exit() -> Message {
    Message::Exit(ExitNotice {
        status: ExitStatus::Signal(9),
        oom: true,
        drained: Drained::Clean,
        ends: BTreeMap::new(),
    })
}

#[test]
fn replay_is_announced_and_sent_as_one_message() {
    let mut terminal = terminal();
    terminal.on_shim_message(snapshot(5000, 10));
    terminal.on_shim_message(chunk(0, "01234", true));
    assert_eq!(
        sent(&mut terminal),
        [] as [Value; 0],
        "a partial replay is not sent"
    );
    terminal.on_shim_message(chunk(5, "56789", false));
    terminal.on_shim_message(data(5000, "live"));
    assert_eq!(
        sent(&mut terminal),
        [
            json!({"type":"reattach-begin","offset":5000,"input_next":100,"cols":80,"rows":24,
                "scrollback_at":"5000-80x24"}),
            json!(["\u{1b}[!p0123456789", 0]),
            json!(["live", 4]),
        ]
    );
}

#[test]
fn first_attach_has_no_replay() {
    let mut terminal = terminal();
    terminal.on_shim_message(snapshot(0, 3));
    terminal.on_shim_message(chunk(0, "abc", false));
    terminal.on_shim_message(data(0, "$ "));
    assert_eq!(sent(&mut terminal), [json!(["$ ", 2])]);
}

#[test]
fn reconnect_without_output_is_announced() {
    let mut terminal = WebTerminal::new(&attached(), true, true);
    terminal.on_shim_message(snapshot(0, 0));
    let sent = sent(&mut terminal);
    assert_eq!(sent[0]["type"], "reattach-begin");
    assert_eq!(sent[1], json!(["\u{1b}[!p", 0]));
}

#[test]
fn oldest_bytes_replace_missing_snapshot() {
    let mut terminal = WebTerminal::new(&attached(), true, true);
    terminal.on_shim_message(data(10, "old"));
    terminal.on_shim_message(data(13, "new"));
    let sent = sent(&mut terminal);
    assert_eq!(sent[0]["type"], "reattach-begin");
    assert_eq!(sent[1..], [json!(["\u{1b}[!pold", 3]), json!(["new", 3])]);
}

#[test]
fn close_code_determines_disposition() {
    for (code, with_id, without) in [
        (Some(1000), Disposition::Terminate, Disposition::Terminate),
        (Some(4001), Disposition::Terminate, Disposition::Terminate),
        (Some(4404), Disposition::Terminate, Disposition::Terminate),
        (Some(1001), Disposition::Detach, Disposition::Terminate),
        (Some(1005), Disposition::Detach, Disposition::Terminate),
        (Some(1006), Disposition::Detach, Disposition::Terminate),
        (Some(4000), Disposition::Detach, Disposition::Terminate),
        (Some(4002), Disposition::Detach, Disposition::Terminate),
        (None, Disposition::Detach, Disposition::Terminate),
    ] {
        for (can_reconnect, expected) in [(true, with_id), (false, without)] {
            let mut terminal = WebTerminal::new(&attached(), can_reconnect, false);
            terminal.closed(code);
            assert_eq!(
                terminal.disposition(),
                Some(expected),
                "{code:?} {can_reconnect}"
            );
        }
    }
}

#[test]
fn terminal_that_may_not_end_its_session_leaves_it() {
    for code in [Some(1000), Some(4001), Some(4404), Some(1006), None] {
        for (departure, expected) in [
            (Departure::Detaches, Disposition::Detach),
            (Departure::Keeps, Disposition::Keep),
        ] {
            let terminal = WebTerminal::new(&attached(), true, false);
            let mut terminal = terminal.with_departure(departure);
            terminal.closed(code);
            assert_eq!(terminal.disposition(), Some(expected), "{code:?}");
        }
    }
}

#[test]
fn superseded_terminal_keeps_session() {
    let mut terminal = terminal();
    terminal.on_shim_message(Message::Fenced { generation: 8 });
    terminal.closed(Some(4001));
    assert_eq!(terminal.disposition(), Some(Disposition::Keep));
    let sent = sent(&mut terminal);
    assert_eq!(sent[0]["code"], "SUPERSEDED");
    assert_eq!(sent[1], json!(4409));
}

#[test]
fn exit_is_reported_and_acknowledged() {
    let mut terminal = terminal();
    terminal.on_shim_message(exit());
    assert_eq!(terminal.disposition(), Some(Disposition::Keep));
    assert_eq!(
        sent(&mut terminal),
        [
            json!({"type":"exit","code":null,"signal":9,"oom":true}),
            json!("ExitAck"),
            json!(1000),
        ]
    );
}

#[test]
fn input_has_offsets_and_a_window() {
    let mut terminal = terminal();
    terminal.input("ab".into());
    terminal.input(Bytes::new());
    terminal.input("c".into());
    let input = |offset, bytes: &'static str| {
        let bytes = bytes.into();
        Action::SendToShim(Message::Input { offset, bytes })
    };
    assert_eq!(actions(&mut terminal), [input(100, "ab"), input(102, "c")]);
    assert!(terminal.accepts_input());
    terminal.input(Bytes::from(vec![0; INPUT_WINDOW as usize]));
    assert!(!terminal.accepts_input());
    terminal.on_shim_message(Message::InputAck {
        offset: 104,
        ended: false,
    });
    assert!(terminal.accepts_input());
}

#[test]
fn refused_input_is_reported() {
    let mut terminal = terminal();
    terminal.input("x".into());
    actions(&mut terminal);
    terminal.on_shim_message(Message::InputRefused {
        from: 100,
        to: 101,
        reason: InputRefusal::Ended,
    });
    let sent = sent(&mut terminal);
    assert_eq!(
        (&sent[0]["type"], &sent[0]["code"]),
        (&json!("error"), &json!("INPUT_REFUSED"))
    );
}

#[test]
fn invalid_text_message_is_an_error() {
    let now = Instant::now();
    let size = Message::Resize {
        seq: 1,
        size: WindowSize::new(40, 100),
    };
    let resized = json!(format!("{size:?}"));
    let error = |code: &str, message: &Value| message["type"] == "error" && message["code"] == code;
    for (text, check) in [
        (r#"{"type":"resize","cols":100,"rows":40}"#, None),
        (r#"{"type":"start","cols":100,"rows":40}"#, None),
        (r#"{"type":"resize","cols":0,"rows":40}"#, Some("BAD_SIZE")),
        (
            r#"{"type":"resize","cols":80,"rows":1001}"#,
            Some("BAD_SIZE"),
        ),
        (
            r#"{"type":"resize","cols":-1,"rows":40}"#,
            Some("UNKNOWN_FRAME"),
        ),
        (r#"{"type":"tabSwitch"}"#, Some("UNKNOWN_FRAME")),
        ("not json", Some("UNKNOWN_FRAME")),
        ("", Some("UNKNOWN_FRAME")),
    ] {
        let mut terminal = terminal();
        terminal.on_text(text, now);
        let sent = sent(&mut terminal);
        match check {
            None => assert_eq!(sent, std::slice::from_ref(&resized), "{text}"),
            Some(code) => assert!(error(code, &sent[0]), "{text}: {sent:?}"),
        }
    }
    for text in [
        r#"{"type":"pong"}"#,
        r#"{"type":"keepalive"}"#,
        r#"{"type":"start"}"#,
    ] {
        let mut terminal = terminal();
        terminal.on_text(text, now);
        assert_eq!(sent(&mut terminal), [] as [Value; 0], "{text}");
    }
}

#[test]
fn pong_echoes_timestamp() {
    let mut terminal = terminal();
    terminal.on_text(r#"{"type":"ping","ts":1719.5}"#, Instant::now());
    terminal.on_text(r#"{"type":"ping"}"#, Instant::now());
    assert_eq!(
        sent(&mut terminal),
        [json!({"type":"pong","ts":1719.5}), json!({"type":"pong"})]
    );
    terminal.ping();
    assert_eq!(sent(&mut terminal), [json!({"type":"ping"})]);
}

#[test]
fn ping_flood_closes_connection() {
    let (mut terminal, now) = (terminal(), Instant::now());
    for _ in 0..MAX_REPLIES_PER_SECOND {
        terminal.on_text(r#"{"type":"ping"}"#, now);
    }
    assert_eq!(terminal.disposition(), None);
    terminal.on_text(r#"{"type":"ping"}"#, now);
    assert_eq!(terminal.disposition(), Some(Disposition::Detach));
    assert_eq!(sent(&mut terminal).last(), Some(&json!(1008)));
    let mut calm = self::terminal();
    for second in 0..100_u64 {
        calm.on_text(
            r#"{"type":"ping"}"#,
            now + Duration::from_millis(50 * second),
        );
    }
    assert_eq!(calm.disposition(), None);
}

#[test]
fn flood_of_invalid_messages_closes_connection() {
    let now = Instant::now();
    let unknown = format!(r#"{{"type":"{}"}}"#, "x".repeat(1 << 20));
    let long = format!(r#"{{"type":"ping","ts":"{}"}}"#, "x".repeat(1 << 20));
    for text in [r#"{"type":"resize","cols":0,"rows":0}"#, &unknown, &long] {
        let mut terminal = terminal();
        let flood = 10 * MAX_REPLIES_PER_SECOND;
        let count = (0..flood).take_while(|_| {
            terminal.on_text(text, now);
            terminal.disposition().is_none()
        });
        assert_eq!(count.count(), MAX_REPLIES_PER_SECOND as usize);
        let sent = sent(&mut terminal);
        assert_eq!(sent.last(), Some(&json!(1008)));
        let size = sent.iter().map(|it| it.to_string().len()).sum::<usize>();
        assert!(size < 16 << 10, "{size} bytes");
    }
}

#[test]
fn shutdown_terminates_only_sessions_without_id() {
    for (can_reconnect, disposition) in [(true, Disposition::Keep), (false, Disposition::Terminate)]
    {
        let mut terminal = WebTerminal::new(&attached(), can_reconnect, false);
        terminal.shutdown();
        assert_eq!(terminal.disposition(), Some(disposition));
        assert_eq!(sent(&mut terminal), [json!(1001)]);
    }
}

#[test]
fn unreachable_session_waits_for_reconnect() {
    for (can_reconnect, disposition) in [
        (true, Disposition::DetachUnreachable),
        (false, Disposition::Keep),
    ] {
        let mut terminal = WebTerminal::new(&attached(), can_reconnect, false);
        terminal.link_lost("no answer");
        assert_eq!(terminal.disposition(), Some(disposition));
        assert_eq!(sent(&mut terminal)[0]["code"], "SESSION_LOST");
    }
}

#[test]
fn oversized_replay_is_refused() {
    let mut terminal = terminal();
    terminal.on_shim_message(snapshot(1, MAX_REPLAY + 1));
    assert_eq!(terminal.disposition(), Some(Disposition::Keep));
}

#[test]
fn watching_terminal_changes_nothing() {
    let mut terminal = WebTerminal::watching(&attached());
    let now = Instant::now();
    terminal.on_shim_message(snapshot(5000, 3));
    terminal.on_shim_message(chunk(0, "abc", false));
    assert_eq!(sent(&mut terminal)[0]["read_only"], true);
    terminal.on_input(Bytes::from_static(b"rm"), now);
    terminal.on_text(r#"{"type":"resize","cols":10,"rows":5}"#, now);
    terminal.on_text(r#"{"type":"start","cols":10,"rows":5}"#, now);
    let refused = sent(&mut terminal);
    assert_eq!(refused.len(), 3, "nothing reaches the session");
    assert!(refused.iter().all(|it| it["code"] == "READ_ONLY"));
    terminal.on_shim_message(exit());
    let ended = sent(&mut terminal);
    assert_eq!(ended.len(), 2, "the exit is not acknowledged: {ended:?}");
    assert_eq!(ended[0]["type"], "exit");
    for code in [None, Some(close::ENDED), Some(close::RESTART)] {
        let mut terminal = WebTerminal::watching(&attached());
        terminal.closed(code);
        assert_eq!(terminal.disposition(), Some(Disposition::Keep));
    }
}
