mod input;
mod model;
mod pacing;
mod schedules;
mod version;

use crate::screen::Screen;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::connection::{ConnectionState, ReconnectFailed, ReconnectFailure};
use crate::{Containment, Signal};
use bowline_process::TerminationPolicy;
use bowline_process::{Drained, ExitStatus};
use bowline_wire::{
    Attached, Extent, Frame, GapReason, KillReport, SessionFacts, SessionKind, SessionState,
    StdioKind, code,
};

const OUT: StreamId = StreamId::STDOUT;
const ERR: StreamId = StreamId::STDERR;

fn joining() -> Joining {
    Joining {
        session: SessionId::random(),
        epoch: None,
        lease: Lease::Write,
        mode: AttachMode::Resume,
        cursors: [(OUT, Some(0)), (ERR, Some(0))].into(),
        size: None,
        window: 1000,
        connect_timeout: Duration::from_secs(60),
        reconnect_timeout: Duration::from_secs(600),
        client: "test".to_owned(),
    }
}

/// A machine and its clock. Sent messages are kept apart from other outputs.
struct Host {
    machine: Machine,
    now: Duration,
    connection: Connection,
    sent: Vec<Message>,
    /// When each connection was requested.
    attempts: Vec<Duration>,
}

impl Host {
    fn new(joining: Joining) -> Self {
        Self {
            machine: Machine::new(joining, 7),
            now: Duration::ZERO,
            connection: 0,
            sent: Vec::new(),
            attempts: Vec::new(),
        }
    }

    fn give(&mut self, input: Input) -> Vec<Output> {
        self.machine.handle(input, self.now);
        let mut outputs = Vec::new();
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Send(frame) => self.sent.push(frame.message),
                Output::Connect { connection, .. } => {
                    self.connection = connection;
                    self.attempts.push(self.now);
                    outputs.push(output);
                }
                output => outputs.push(output),
            }
        }
        outputs
    }

    fn hear(&mut self, message: Message) -> Vec<Output> {
        self.give(Input::Frame(self.connection, Frame::new(1, message)))
    }

    fn break_off(&mut self, failure: ReconnectFailure) -> Vec<Output> {
        let why = LinkError::new(failure, "test");
        self.give(Input::Broken(self.connection, why))
    }

    /// Advances the clock to the next deadline.
    fn pass(&mut self) -> Vec<Output> {
        self.now = self.machine.poll_timeout().expect("something is awaited");
        self.give(Input::Timeout)
    }

    /// Opens the requested connection.
    fn open(&mut self) -> Vec<Output> {
        let mut outputs = self.give(Input::Opened(self.connection));
        outputs.extend(self.hear(attached(1, 0, 0)));
        outputs
    }

    fn sent(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.sent)
    }
}

fn up(joining: Joining) -> Host {
    let mut host = Host::new(joining);
    host.give(Input::Start);
    host.open();
    host.sent();
    host
}

fn attached(generation: u64, input_next: u64, start: u64) -> Message {
    let extent = Extent {
        start,
        end: 1 << 40,
        ..Extent::default()
    };
    Message::Attached(Attached {
        epoch: Epoch(5),
        generation,
        streams: [(OUT, extent), (ERR, extent)].into(),
        input_next,
        exit: None,
        info: SessionFacts {
            kind: SessionKind::Dialogue,
            stdio: StdioKind::Pipes,
            pid: Some(1),
            size: None,
            containment: Containment::Group,
            state: SessionState::Running,
        },
    })
}

fn data(offset: u64, bytes: &'static str) -> Message {
    Message::Data {
        stream: OUT,
        offset,
        bytes: bytes.into(),
        replay: false,
    }
}

fn failed(outputs: &[Output]) -> Option<ReconnectFailure> {
    outputs.iter().find_map(|output| match output {
        Output::State(ConnectionState::Failed(ReconnectFailed { failure, .. })) => Some(*failure),
        _ => None,
    })
}

fn delivered(outputs: &[Output]) -> Vec<&Bytes> {
    let bytes = outputs.iter().filter_map(|output| match output {
        Output::Deliver { bytes, .. } => Some(bytes),
        _ => None,
    });
    bytes.collect()
}

#[test]
fn attach_has_cursors_and_generation() {
    let mut host = Host::new(joining());
    host.give(Input::Start);
    host.open();
    let sent = host.sent();
    assert!(matches!(&sent[0], Message::Hello(hello) if hello.versions == (1, 1)));
    let Message::Attach(attach) = &sent[1] else {
        panic!("{sent:?}");
    };
    assert_eq!((attach.resume_generation, attach.credit), (None, 1000));
    host.hear(data(0, "abc"));

    host.break_off(ReconnectFailure::Lost);
    host.pass();
    let outputs = host.open();
    let state = ConnectionState::Reconnected { from: 3, gap: 0 };
    assert!(outputs.contains(&Output::State(state)), "{outputs:?}");
    let sent = host.sent();
    let attach = sent.iter().find_map(|message| match message {
        Message::Attach(attach) => Some(attach),
        _ => None,
    });
    let attach = attach.unwrap();
    assert_eq!(attach.cursors, [(OUT, 3), (ERR, 0)].into());
    assert_eq!(attach.resume_generation, Some(1));
    assert_eq!(attach.epoch, Some(Epoch(5)));
}

#[test]
fn old_connection_is_ignored() {
    let mut host = up(joining());
    let old = host.connection;
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    host.open();
    let frame = |message| Input::Frame(old, Frame::new(1, message));
    assert_eq!(host.give(frame(data(0, "old"))), []);
    assert_eq!(host.give(frame(Message::Fenced { generation: 9 })), []);
    let why = LinkError::lost("an old end");
    assert_eq!(host.give(Input::Broken(old, why)), []);
    assert_eq!(delivered(&host.hear(data(0, "new"))), ["new"]);
}

#[test]
fn hole_in_output_reconnects() {
    let mut host = up(joining());
    let outputs = host.hear(data(5, "late"));
    assert_eq!(outputs[0], Output::Disconnect);
    assert!(delivered(&outputs).is_empty());
    host.pass();
    host.open();
    assert_eq!(delivered(&host.hear(data(0, "early"))), ["early"]);
}

#[test]
fn window_shrinks_on_breaks_and_grows() {
    let mut large = joining();
    large.window = 1 << 20;
    let mut host = up(large);
    let mut asked = Vec::new();
    for _ in 0..6 {
        host.break_off(ReconnectFailure::Lost);
        host.pass();
        host.open();
        let sent = host.sent();
        asked.extend(sent.iter().find_map(|message| match message {
            Message::Attach(attach) => Some(attach.credit),
            _ => None,
        }));
    }
    let kilobytes = [256, 64, 16, 4, 1].map(|it| it << 10);
    assert_eq!(asked[..5], kilobytes);
    assert_eq!(asked[5..], [512]);
    let mut offset = 0;
    for _ in 0..100 {
        host.hear(Message::Data {
            stream: OUT,
            offset,
            bytes: vec![0; 2 << 10].into(),
            replay: false,
        });
        offset += 2 << 10;
        host.give(Input::Room(OUT, 1 << 20));
    }
    let granted = host.sent().iter().fold(512, |sum, message| match message {
        Message::Credit { stream: OUT, n } => sum + n,
        _ => sum,
    });
    let under_way = (granted - offset) >> 10;
    assert!((96..=128).contains(&under_way), "{under_way} KiB");
}

#[test]
fn silent_connection_is_pinged_then_dropped() {
    let mut host = up(joining());
    let begin = host.now;
    for ping in 1..=2 {
        assert_eq!(host.pass(), []);
        assert_eq!(host.now - begin, Duration::from_secs(5) * ping);
        assert!(matches!(host.sent()[..], [Message::Ping { .. }]));
    }
    let outputs = host.pass();
    assert_eq!(host.now - begin, Duration::from_secs(14));
    assert_eq!(outputs[0], Output::Disconnect);
}

#[test]
fn idle_connection_is_pinged_less_often() {
    let mut host = up(joining());
    let asked_after = |host: &mut Host| {
        let begin = host.now;
        assert_eq!(host.pass(), []);
        let sent = host.sent();
        let [Message::Ping { nonce }] = sent[..] else {
            panic!("{sent:?}");
        };
        host.hear(Message::Pong { nonce });
        host.now - begin
    };
    let pauses: Vec<u64> = (0..4).map(|_| asked_after(&mut host).as_secs()).collect();
    assert_eq!(pauses, [5, 5, 9, 9]);
    host.hear(data(0, "here I am"));
    let pauses: Vec<u64> = (0..3).map(|_| asked_after(&mut host).as_secs()).collect();
    assert_eq!(
        pauses,
        [9, 5, 9],
        "the pause that is under way is not cut short"
    );
}

#[test]
fn connection_is_probed_after_suspension() {
    let mut host = up(joining());
    host.now += Duration::from_secs(3600);
    assert_eq!(host.give(Input::Timeout), []);
    assert!(matches!(host.sent()[..], [Message::Ping { .. }]));
    let woke = host.now;
    assert_eq!(host.hear(data(0, "still here")).len(), 1);

    host.now += Duration::from_secs(3600);
    host.give(Input::Timeout);
    let outputs = host.pass();
    assert_eq!(outputs[0], Output::Disconnect);
    assert_eq!(host.now, woke + Duration::from_secs(3600 + 3));
    // A suspend in the middle of a wait ends the wait.
    host.now += Duration::from_secs(3600);
    let outputs = host.give(Input::Woke);
    assert!(matches!(outputs[..], [Output::Connect { .. }]));
}

#[test]
fn network_change_restarts_pending_connection() {
    let mut host = up(joining());
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    let hanging = host.connection;
    assert!(matches!(
        host.give(Input::Woke)[..],
        [Output::Connect { .. }]
    ));
    assert!(host.connection > hanging);
    host.give(Input::Opened(hanging));
    assert_eq!(host.sent(), []);
    assert!(matches!(host.open()[..], [Output::Attached(_), ..]));
}

#[test]
fn refused_token_is_replaced_once() {
    let mut host = up(joining());
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    let outputs = host.break_off(ReconnectFailure::Auth);
    assert!(
        matches!(
            outputs.last(),
            Some(Output::Connect {
                is_refused: true,
                ..
            })
        ),
        "{outputs:?}"
    );
    let outputs = host.break_off(ReconnectFailure::Auth);
    assert_eq!(failed(&outputs), Some(ReconnectFailure::Auth));
    assert_eq!(host.machine.poll_timeout(), None);

    let outputs = host.give(Input::Retry);
    assert!(matches!(
        outputs.last(),
        Some(Output::Connect {
            is_refused: true,
            ..
        })
    ));
    let outputs = host.open();
    let state = ConnectionState::Reconnected { from: 0, gap: 0 };
    assert!(outputs.contains(&Output::State(state)));
}

#[test]
fn error_codes_map_to_failures() {
    let cases = [
        (code::UNKNOWN_SESSION, ReconnectFailure::Gone, true),
        (code::EXPIRED, ReconnectFailure::Expired, true),
        (code::VERSION, ReconnectFailure::Version, true),
        (code::LIMIT, ReconnectFailure::Lost, false),
    ];
    for (code, failure, is_final) in cases {
        let mut host = up(joining());
        host.break_off(ReconnectFailure::Lost);
        host.pass();
        host.give(Input::Opened(host.connection));
        let outputs = host.hear(Message::Error {
            code: code.to_owned(),
            retryable: false,
            after_ms: None,
            detail: String::new(),
        });
        assert_eq!(failed(&outputs), Some(failure), "{code}");
        assert_eq!(outputs.contains(&Output::Exited(None)), is_final, "{code}");
        assert_eq!(outputs.contains(&Output::Over), is_final, "{code}");
    }
}

#[test]
fn lost_link_fails_and_can_be_retried() {
    let mut host = up(joining());
    let begin = host.now;
    let mut outputs = host.break_off(ReconnectFailure::Lost);
    let mut attempts = Vec::new();
    while failed(&outputs).is_none() {
        let attempt = outputs.iter().find_map(|output| match output {
            Output::State(ConnectionState::Reconnecting { attempt }) => Some(*attempt),
            _ => None,
        });
        attempts.extend(attempt);
        host.pass();
        outputs = host.break_off(ReconnectFailure::Lost);
    }
    assert_eq!(failed(&outputs), Some(ReconnectFailure::Lost));
    assert_eq!(attempts, Vec::from_iter(1..=attempts.len() as u32));
    let took = host.now - begin;
    assert!(
        took >= Duration::from_secs(600) && took < Duration::from_secs(606),
        "{took:?}"
    );
    assert!(attempts.len() > 150, "{}", attempts.len());
    host.give(Input::Retry);
    host.open();
    assert_eq!(delivered(&host.hear(data(0, "back"))), ["back"]);
}

#[test]
fn exit_follows_output_and_is_acknowledged_on_detach() {
    let mut host = up(joining());
    let exit = ExitNotice {
        status: ExitStatus::Code(3),
        oom: false,
        drained: Drained::Clean,
        ends: [(OUT, 4), (ERR, 0)].into(),
    };
    assert_eq!(host.hear(Message::Exit(exit.clone())), []);
    let outputs = host.hear(data(0, "last"));
    let gap = [
        Output::Deliver {
            stream: OUT,
            arrival: bowline_journal::Arrival::default(),
            bytes: "last".into(),
            is_replay: false,
        },
        Output::End(OUT),
        Output::End(ERR),
        Output::Exited(Some(exit)),
    ];
    assert_eq!(outputs, gap);
    assert_eq!(host.sent(), []);
    host.give(Input::Detach);
    let sent = host.sent();
    let [Message::ExitAck, Message::Ping { nonce }] = sent[..] else {
        panic!("{sent:?}");
    };
    // The owner has not received it: it is sent again.
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    host.open();
    let sent = host.sent();
    assert!(sent.contains(&Message::ExitAck), "{sent:?}");
    let nonce = nonce + 2;
    assert_eq!(
        host.hear(Message::Pong { nonce }).last(),
        Some(&Output::Over)
    );
}

#[test]
fn exit_is_acknowledged_after_detach_while_down() {
    let mut host = up(joining());
    host.hear(Message::Exit(ExitNotice {
        status: ExitStatus::Code(0),
        oom: false,
        drained: Drained::Clean,
        ends: [(OUT, 0), (ERR, 0)].into(),
    }));
    host.break_off(ReconnectFailure::Lost);
    assert_eq!(host.give(Input::Detach), []);
    host.pass();
    host.open();
    let sent = host.sent();
    assert!(sent.contains(&Message::ExitAck), "{sent:?}");
    // An owner that cannot be reached is not tried for ever.
    while !host
        .break_off(ReconnectFailure::Lost)
        .contains(&Output::Over)
    {
        host.pass();
    }
    assert!(host.now < Duration::from_secs(60), "{:?}", host.now);
}

#[test]
fn detach_keeps_session_running() {
    let mut host = up(joining());
    let outputs = host.give(Input::Detach);
    assert_eq!(host.sent(), [Message::Detach]);
    assert_eq!(outputs, [Output::Disconnect, Output::Over]);
}

#[test]
fn kill_is_repeated_until_reported() {
    let mut host = up(joining());
    host.break_off(ReconnectFailure::Lost);
    host.give(Input::Kill(TerminationPolicy::default()));
    host.pass();
    host.open();
    let sent = host.sent();
    let kill = |message: &Message| matches!(message, Message::Kill { .. });
    assert_eq!(sent.iter().filter(|it| kill(it)).count(), 1, "{sent:?}");
    let report = KillReport {
        killed: vec![1],
        survivors: Vec::new(),
        level: Containment::Group,
        took: Duration::ZERO,
    };
    let id = "x".to_owned();
    assert_eq!(host.hear(Message::Killed { id, report }), [Output::Hurry]);
    host.sent();
    let outputs = host.hear(Message::Exit(ExitNotice {
        status: ExitStatus::Signal(9),
        oom: false,
        drained: Drained::Clean,
        ends: [(OUT, 0), (ERR, 0)].into(),
    }));
    assert!(matches!(outputs.last(), Some(Output::Exited(Some(_)))));
    let sent = host.sent();
    let [Message::ExitAck, Message::Ping { nonce }] = sent[..] else {
        panic!("{sent:?}");
    };
    let outputs = host.hear(Message::Pong { nonce });
    let [Output::Disconnect, Output::Killed(Some(_), _), Output::Over] = outputs[..] else {
        panic!("{outputs:?}");
    };
}

#[test]
fn kill_over_failed_link_ends_session_locally() {
    let mut host = up(joining());
    host.break_off(ReconnectFailure::Auth);
    host.break_off(ReconnectFailure::Auth);
    let outputs = host.give(Input::Kill(TerminationPolicy::AT_ONCE));
    assert!(outputs.contains(&Output::Exited(None)), "{outputs:?}");
    assert!(
        outputs
            .iter()
            .any(|it| matches!(it, Output::Killed(None, _)))
    );
    assert_eq!(outputs.last(), Some(&Output::Over));
}

#[test]
fn signal_is_repeated_until_pong() {
    let mut host = up(joining());
    host.give(Input::Signal(Signal::Interrupt));
    let sent = host.sent();
    let [Message::Signal { id, .. }] = &sent[..] else {
        panic!("{sent:?}");
    };
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    host.open();
    let again = host.sent();
    let signal = Message::Signal {
        id: id.clone(),
        signal: Signal::Interrupt,
    };
    assert!(again.contains(&signal), "{again:?}");
    let Some(Message::Ping { nonce }) = again.last() else {
        panic!("{again:?}");
    };
    host.hear(Message::Pong { nonce: *nonce });
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    host.open();
    assert!(!host.sent().contains(&signal));
}

#[test]
fn fenced_host_waits_for_retry() {
    let mut host = up(joining());
    host.give(Input::Write("mine".into(), 1));
    host.sent();
    assert_eq!(failed(&host.hear(Message::Fenced { generation: 1 })), None);
    let outputs = host.hear(Message::Fenced { generation: 2 });
    assert_eq!(failed(&outputs), Some(ReconnectFailure::Fenced));
    host.give(Input::Write("more".into(), 2));
    assert_eq!(host.sent(), []);
    host.give(Input::Retry);
    host.give(Input::Opened(host.connection));
    let outputs = host.hear(attached(3, 90, 0));
    let doubt = Output::Written(1, Err(WriteFailure::Unconfirmed));
    assert!(outputs.contains(&doubt), "{outputs:?}");
    let typed = Message::Input {
        offset: 90,
        bytes: "more".into(),
    };
    let sent = host.sent();
    let Message::Attach(attach) = &sent[1] else {
        panic!("{sent:?}");
    };
    assert_eq!(attach.resume_generation, None);
    assert_eq!(sent.last(), Some(&typed));
}

#[test]
fn other_epoch_is_not_resumed() {
    let mut host = up(joining());
    host.hear(data(0, "abc"));
    host.break_off(ReconnectFailure::Lost);
    host.pass();
    host.give(Input::Opened(host.connection));
    let Message::Attached(mut other) = attached(1, 0, 0) else {
        unreachable!()
    };
    other.epoch = Epoch(6);
    let outputs = host.hear(Message::Attached(other));
    assert_eq!(failed(&outputs), Some(ReconnectFailure::Gone));
}

/// Returns a host attached to a terminal.
fn at_a_terminal() -> Host {
    let mut joining = joining();
    joining.cursors = [(StreamId::TTY, None)].into();
    joining.mode = AttachMode::Snapshot;
    let mut host = Host::new(joining);
    host.give(Input::Start);
    host.give(Input::Opened(host.connection));
    let Message::Attached(mut owner) = attached(1, 0, 0) else {
        unreachable!()
    };
    owner.streams = [(StreamId::TTY, Extent::default())].into();
    host.hear(Message::Attached(owner));
    host
}

fn screen(offset: u64, text: &'static [u8]) -> Screen {
    Screen {
        offset,
        size: WindowSize::default(),
        bytes: Bytes::from_static(text),
    }
}

fn head(screen: &Screen) -> Message {
    Message::Snapshot {
        at_offset: screen.offset,
        size: screen.size,
        hash: crc32c::crc32c(&screen.bytes),
        total: screen.bytes.len() as u64,
    }
}

fn chunk(offset: u64, bytes: Bytes) -> Message {
    Message::SnapshotChunk {
        offset,
        bytes,
        more: offset == 0,
    }
}

#[test]
fn screen_replaces_missing_output() {
    let mut host = at_a_terminal();
    let screen = screen(70, b"\x1bcscreen");
    host.hear(head(&screen));
    assert_eq!(host.hear(chunk(0, screen.bytes.slice(..3))), []);
    let outputs = host.hear(chunk(3, screen.bytes.slice(3..)));
    let begin = Output::Begin(StreamId::TTY, 70);
    assert_eq!(outputs, [Output::Screen(screen), begin]);
    let outputs = host.hear(chunk(11, Bytes::new()));
    assert_eq!(outputs[0], Output::Disconnect);
}

#[test]
fn gap_is_reported_after_its_screen() {
    let mut host = at_a_terminal();
    let first = screen(70, b"first");
    host.hear(head(&first));
    host.hear(chunk(0, first.bytes.clone()));
    let gap = |from, to| Message::Gap {
        stream: StreamId::TTY,
        from,
        to,
        reason: GapReason::Overflow,
    };
    assert_eq!(host.hear(gap(70, 90)), []);
    let second = screen(90, b"second");
    assert_eq!(host.hear(head(&second)), []);
    let reported = |from, to| Output::Gap {
        stream: StreamId::TTY,
        from,
        to,
    };
    let outputs = host.hear(chunk(0, second.bytes.clone()));
    assert_eq!(outputs, [Output::Screen(second), reported(70, 90)]);
    // An owner without a screen sends other output instead.
    assert_eq!(host.hear(gap(90, 95)), []);
    assert_eq!(host.hear(Message::Pong { nonce: 0 }), [reported(90, 95)]);
    // After a cut in between, it is sent on reconnect.
    host.hear(gap(95, 99));
    let outputs = host.break_off(ReconnectFailure::Lost);
    assert!(!outputs.contains(&reported(95, 99)), "{outputs:?}");
}
