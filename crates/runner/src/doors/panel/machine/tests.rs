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

fn panel() -> Panel {
    Panel::new(&attached(), true, false)
}

fn steps(panel: &mut Panel) -> Vec<Step> {
    std::iter::from_fn(|| panel.step()).collect()
}

/// What is said, as JSON; everything else by its name.
fn told(panel: &mut Panel) -> Vec<Value> {
    let told = steps(panel).into_iter().map(|step| match step {
        Step::Say(text) => serde_json::from_str(&text).unwrap(),
        Step::Show(bytes, credit) => json!([String::from_utf8_lossy(&bytes), credit]),
        Step::Send(message) => json!(format!("{message:?}")),
        Step::Close(code, _) => json!(code),
    });
    told.collect()
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
fn a_replay_is_announced_and_comes_as_one_frame() {
    let mut panel = panel();
    panel.told(snapshot(5000, 10));
    panel.told(chunk(0, "01234", true));
    assert_eq!(
        told(&mut panel),
        [] as [Value; 0],
        "half a replay is not shown"
    );
    panel.told(chunk(5, "56789", false));
    panel.told(data(5000, "live"));
    assert_eq!(
        told(&mut panel),
        [
            json!({"type":"reattach-begin","offset":5000,"input_next":100,"cols":80,"rows":24}),
            json!(["\u{1b}[!p0123456789", 0]),
            json!(["live", 4]),
        ]
    );
}

#[test]
fn a_first_attach_has_nothing_to_replay() {
    let mut panel = panel();
    panel.told(snapshot(0, 3));
    panel.told(chunk(0, "abc", false));
    panel.told(data(0, "$ "));
    assert_eq!(told(&mut panel), [json!(["$ ", 2])]);
}

#[test]
fn a_return_is_announced_even_when_nothing_was_said() {
    let mut panel = Panel::new(&attached(), true, true);
    panel.told(snapshot(0, 0));
    let told = told(&mut panel);
    assert_eq!(told[0]["type"], "reattach-begin");
    assert_eq!(told[1], json!(["\u{1b}[!p", 0]));
}

#[test]
fn old_bytes_stand_in_for_a_screen() {
    let mut panel = Panel::new(&attached(), true, true);
    panel.told(data(10, "old"));
    panel.told(data(13, "new"));
    let told = told(&mut panel);
    assert_eq!(told[0]["type"], "reattach-begin");
    assert_eq!(told[1..], [json!(["\u{1b}[!pold", 3]), json!(["new", 3])]);
}

#[test]
fn codes_decide_what_becomes_of_the_session() {
    for (code, with_id, without) in [
        (Some(1000), Fate::Dispose, Fate::Dispose),
        (Some(4001), Fate::Dispose, Fate::Dispose),
        (Some(4404), Fate::Dispose, Fate::Dispose),
        (Some(1001), Fate::Detach, Fate::Dispose),
        (Some(1005), Fate::Detach, Fate::Dispose),
        (Some(1006), Fate::Detach, Fate::Dispose),
        (Some(4000), Fate::Detach, Fate::Dispose),
        (Some(4002), Fate::Detach, Fate::Dispose),
        (None, Fate::Detach, Fate::Dispose),
    ] {
        for (can_return, expected) in [(true, with_id), (false, without)] {
            let mut panel = Panel::new(&attached(), can_return, false);
            panel.closed(code);
            assert_eq!(panel.fate(), Some(expected), "{code:?} {can_return}");
        }
    }
}

#[test]
fn a_panel_that_was_superseded_decides_nothing() {
    let mut panel = panel();
    panel.told(Message::Fenced { generation: 8 });
    panel.closed(Some(4001));
    assert_eq!(panel.fate(), Some(Fate::Leave));
    let told = told(&mut panel);
    assert_eq!(told[0]["code"], "SUPERSEDED");
    assert_eq!(told[1], json!(4409));
}

#[test]
fn an_exit_is_told_and_acknowledged() {
    let mut panel = panel();
    panel.told(exit());
    assert_eq!(panel.fate(), Some(Fate::Leave));
    assert_eq!(
        told(&mut panel),
        [
            json!({"type":"exit","code":null,"signal":9,"oom":true}),
            json!("ExitAck"),
            json!(1000),
        ]
    );
}

#[test]
fn typed_bytes_have_offsets_and_a_window() {
    let mut panel = panel();
    panel.typed("ab".into());
    panel.typed(Bytes::new());
    panel.typed("c".into());
    let input = |offset, bytes: &'static str| {
        let bytes = bytes.into();
        Step::Send(Message::Input { offset, bytes })
    };
    assert_eq!(steps(&mut panel), [input(100, "ab"), input(102, "c")]);
    assert!(panel.takes_input());
    panel.typed(Bytes::from(vec![0; INPUT_WINDOW as usize]));
    assert!(!panel.takes_input());
    panel.told(Message::InputAck {
        offset: 104,
        ended: false,
    });
    assert!(panel.takes_input());
}

#[test]
fn refused_input_is_told() {
    let mut panel = panel();
    panel.typed("x".into());
    steps(&mut panel);
    panel.told(Message::InputRefused {
        from: 100,
        to: 101,
        reason: InputRefusal::Ended,
    });
    let told = told(&mut panel);
    assert_eq!(
        (&told[0]["type"], &told[0]["code"]),
        (&json!("error"), &json!("INPUT_REFUSED"))
    );
}

#[test]
fn text_frames_are_understood_or_complained_about() {
    let now = Instant::now();
    let size = Message::Resize {
        seq: 1,
        size: WindowSize::new(40, 100),
    };
    let resized = json!(format!("{size:?}"));
    let error = |code: &str, told: &Value| told["type"] == "error" && told["code"] == code;
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
        let mut panel = panel();
        panel.hear(text, now);
        let told = told(&mut panel);
        match check {
            None => assert_eq!(told, std::slice::from_ref(&resized), "{text}"),
            Some(code) => assert!(error(code, &told[0]), "{text}: {told:?}"),
        }
    }
    for text in [
        r#"{"type":"pong"}"#,
        r#"{"type":"keepalive"}"#,
        r#"{"type":"start"}"#,
    ] {
        let mut panel = panel();
        panel.hear(text, now);
        assert_eq!(told(&mut panel), [] as [Value; 0], "{text}");
    }
}

#[test]
fn a_ping_is_answered_with_what_it_brought() {
    let mut panel = panel();
    panel.hear(r#"{"type":"ping","ts":1719.5}"#, Instant::now());
    panel.hear(r#"{"type":"ping"}"#, Instant::now());
    assert_eq!(
        told(&mut panel),
        [json!({"type":"pong","ts":1719.5}), json!({"type":"pong"})]
    );
    panel.ask();
    assert_eq!(told(&mut panel), [json!({"type":"ping"})]);
}

#[test]
fn a_flood_of_pings_is_put_out() {
    let (mut panel, now) = (panel(), Instant::now());
    for _ in 0..PINGS {
        panel.hear(r#"{"type":"ping"}"#, now);
    }
    assert_eq!(panel.fate(), None);
    panel.hear(r#"{"type":"ping"}"#, now);
    assert_eq!(panel.fate(), Some(Fate::Detach));
    assert_eq!(told(&mut panel).last(), Some(&json!(1008)));
    let mut calm = self::panel();
    for second in 0..100_u64 {
        calm.hear(
            r#"{"type":"ping"}"#,
            now + Duration::from_millis(50 * second),
        );
    }
    assert_eq!(calm.fate(), None);
}

#[test]
fn the_end_of_the_runner_ends_only_what_cannot_be_found_again() {
    for (can_return, fate) in [(true, Fate::Leave), (false, Fate::Dispose)] {
        let mut panel = Panel::new(&attached(), can_return, false);
        panel.away();
        assert_eq!(panel.fate(), Some(fate));
        assert_eq!(told(&mut panel), [json!(1001)]);
    }
}

#[test]
fn a_session_out_of_reach_waits_for_a_panel_that_can_come_back() {
    for (can_return, fate) in [(true, Fate::Strand), (false, Fate::Leave)] {
        let mut panel = Panel::new(&attached(), can_return, false);
        panel.lost_session("no answer");
        assert_eq!(panel.fate(), Some(fate));
        assert_eq!(told(&mut panel)[0]["code"], "SESSION_LOST");
    }
}

#[test]
fn a_replay_beyond_all_measure_is_not_begun() {
    let mut panel = panel();
    panel.told(snapshot(1, LARGEST_REPLAY + 1));
    assert_eq!(panel.fate(), Some(Fate::Leave));
}
