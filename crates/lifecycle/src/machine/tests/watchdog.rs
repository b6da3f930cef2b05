//! The watchdog with a simulated clock.

use super::*;
use crate::watchdog::{PhaseLimits, ProbeAnswer, Silence, SilenceLimit, WorkPhase};

const MINUTE: Duration = Duration::from_secs(60);

fn watched(watchdog: WatchdogPolicy) -> Fixture {
    let mut fixture = Fixture::new(Limits { watchdog, ..LIMITS });
    fixture.agent(r#"{"type":"keep_alive"}"#);
    fixture
}

const TOOL: &str = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"uuid":"a"}"#;

impl Fixture {
    /// Advances to `until`, and handles every deadline on the way.
    fn pass(&mut self, until: Duration) {
        while let Some(due) = self.machine.poll_timeout().filter(|due| *due <= until) {
            assert!(due >= self.now, "a deadline in the past");
            self.now = due;
            self.input(Input::Timeout);
        }
        self.now = until;
    }

    fn silences(&self) -> Vec<&Silence> {
        let events = self.events.iter();
        let silences = events.filter_map(|event| match &event.kind {
            DialogueEventKind::SessionTimeout(silence) => Some(silence),
            _ => None,
        });
        silences.collect()
    }

    pub(super) fn count(&self, wanted: fn(&DialogueEventKind) -> bool) -> usize {
        self.events
            .iter()
            .filter(|event| wanted(&event.kind))
            .count()
    }
}

#[test]
fn fixed_timeout_checks_and_terminates() {
    let mut fixture = watched(WatchdogPolicy::fixed_timeout(MINUTE));
    fixture.send("u1");
    assert_eq!(
        fixture.machine.poll_timeout(),
        Some(Duration::from_secs(10))
    );
    fixture.pass(MINUTE - Duration::from_secs(1));
    assert_eq!(fixture.terminations, 0);
    fixture.pass(MINUTE + Duration::from_secs(10));
    assert_eq!(fixture.terminations, 1);
    assert_eq!(fixture.silences()[0].phase, WorkPhase::Model);
    assert_eq!(fixture.silences()[0].silent_for, MINUTE);
    assert_eq!(
        fixture.machine.poll_timeout(),
        None,
        "it is terminated once"
    );
    fixture.exit(143);
    let wanted =
        "exit code 143 by the watchdog, silent for 60 s in phase model, last activity was the host";
    assert_eq!(fixture.machine.end_summary(), (false, wanted.into()));
}

#[test]
fn timeout_is_announced_before_termination() {
    let mut fixture = watched(WatchdogPolicy::fixed_timeout(MINUTE));
    fixture.send("u1");
    // Without the fixture, to see the order of the outputs.
    fixture.now = MINUTE;
    for due in 1..=6 {
        fixture
            .machine
            .handle_input(Input::Timeout, Duration::from_secs(due * 10));
    }
    let outputs: Vec<_> = std::iter::from_fn(|| fixture.machine.poll_output()).collect();
    let at = |wanted: fn(&Output) -> bool| outputs.iter().position(wanted);
    let announced = at(
        |it| matches!(it, Output::Event(event) if matches!(event.kind, DialogueEventKind::SessionTimeout(_))),
    );
    let killed = at(|it| matches!(it, Output::Terminate(_)));
    assert!(announced.is_some() && announced < killed, "{outputs:?}");
    assert_eq!(
        fixture.errors(),
        ["session_timeout: silent for 60 s in phase model, last activity was the host"]
    );
}

#[test]
fn only_valid_lines_count_as_activity() {
    let mut fixture = watched(WatchdogPolicy::fixed_timeout(MINUTE));
    fixture.send("u1");
    for minute in 1..=10_u32 {
        fixture.pass(MINUTE * minute - Duration::from_secs(5));
        fixture.agent(r#"{"type":"stream_event","event":{"type":"ping"}}"#);
    }
    assert_eq!(fixture.terminations, 0);
    for second in 1..=70_u64 {
        fixture.pass(MINUTE * 10 + Duration::from_secs(second));
        fixture.agent("no event at all");
    }
    assert_eq!(fixture.terminations, 1);
}

#[test]
fn waiting_for_permission_is_not_silence() {
    let mut fixture = watched(WatchdogPolicy::fixed_timeout(MINUTE));
    fixture.send("u1");
    fixture.agent(TOOL);
    fixture.agent(ASK);
    assert_eq!(fixture.machine.poll_timeout(), None, "no check is due");
    fixture.pass(MINUTE * 600);
    assert_eq!(answer(&mut fixture, Decision::allow()), Ok(Reply::Done));
    // The limit of the tool counts from the answer.
    fixture.pass(MINUTE * 601 - Duration::from_secs(1));
    assert_eq!(fixture.terminations, 0);
    fixture.pass(MINUTE * 602);
    assert_eq!(fixture.terminations, 1);
    assert_eq!(fixture.silences()[0].phase, WorkPhase::Tool);
    assert_eq!(fixture.silences()[0].open_tools, ["Bash"]);
}

#[test]
fn idle_session_has_no_deadline() {
    let mut fixture = watched(WatchdogPolicy::fixed_timeout(MINUTE));
    assert_eq!(fixture.machine.poll_timeout(), None);
    fixture.send("u1");
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert_eq!(fixture.machine.poll_timeout(), None, "it is idle again");
}

#[test]
fn suspension_is_not_silence() {
    let mut fixture = watched(WatchdogPolicy::fixed_timeout(MINUTE));
    fixture.send("u1");
    fixture.pass(Duration::from_secs(30));
    // The machine was suspended: the next check is hours late.
    fixture.now = MINUTE * 500;
    fixture.input(Input::Timeout);
    assert_eq!(fixture.terminations, 0);
    // The remaining thirty seconds count from the resume.
    fixture.pass(MINUTE * 500 + Duration::from_secs(15));
    assert_eq!(fixture.terminations, 0);
    fixture.pass(MINUTE * 501);
    assert_eq!(fixture.terminations, 1);
    assert!(fixture.silences()[0].silent_for <= MINUTE + Duration::from_secs(10));
}

/// A policy with inquiries and simple limits.
fn with_inquiry() -> WatchdogPolicy {
    let limit = Some(SilenceLimit {
        silence: MINUTE,
        max_silence: None,
    });
    WatchdogPolicy {
        probe: Some(Duration::from_secs(20)),
        limits: PhaseLimits {
            starting: limit,
            model: limit,
            tool: limit,
            background: limit,
            post_result: limit,
            draining: None,
        },
        ..WatchdogPolicy::default()
    }
}

fn used(cpu_ms: u64, io_bytes: u64) -> Option<ResourceUsage> {
    Some(ResourceUsage {
        processes: 2,
        cpu: Duration::from_millis(cpu_ms),
        io_bytes,
    })
}

#[test]
fn inquiry_terminates_dead_agent() {
    let mut fixture = watched(with_inquiry());
    fixture.send("u1");
    fixture.agent(TOOL);
    fixture.usage = used(1_000, 5_000);
    fixture.pass(MINUTE);
    assert!(
        fixture
            .lines
            .last()
            .expect("a probe")
            .contains("get_binary_version")
    );
    assert_eq!((fixture.measurements, fixture.terminations), (1, 0));
    fixture.pass(MINUTE + Duration::from_secs(20));
    assert_eq!((fixture.measurements, fixture.terminations), (2, 1));
    let silence = fixture.silences()[0];
    assert_eq!(silence.phase, WorkPhase::Tool);
    assert_eq!(silence.probe, ProbeAnswer::Unanswered);
    assert_eq!(
        (silence.cpu, silence.io_bytes),
        (Some(Duration::ZERO), Some(0))
    );
    assert_eq!(
        silence.to_string(),
        "silent for 80 s in phase tool, last activity was a line, it did not answer a probe, 0 ms \
         of CPU time and 0 bytes of I/O meanwhile, open tools: Bash"
    );
}

#[test]
fn any_sign_of_life_prevents_termination() {
    type Sign = fn(&mut Fixture);
    let signs: [(&str, Sign); 4] = [
        ("an answer", |fixture| {
            fixture.agent(r#"{"type":"control_response","response":{"subtype":"error","request_id":"bowline-1000000001","error":"what?"}}"#);
        }),
        ("work", |fixture| fixture.usage = used(2_000, 0)),
        ("bytes", |fixture| fixture.usage = used(0, 100_000)),
        ("a process", |fixture| {
            fixture.usage = Some(ResourceUsage {
                processes: 3,
                ..used(0, 0).expect("a number")
            });
        }),
    ];
    for (what, sign) in signs {
        let mut fixture = watched(with_inquiry());
        fixture.send("u1");
        fixture.usage = used(0, 0);
        fixture.pass(MINUTE);
        sign(&mut fixture);
        fixture.pass(MINUTE + Duration::from_secs(20));
        assert_eq!(fixture.terminations, 0, "{what}");
        assert_eq!(
            fixture.count(|kind| matches!(kind, DialogueEventKind::StillAlive(_))),
            1,
            "{what}"
        );
        // The next inquiry finds no sign of life.
        fixture.pass(MINUTE * 3);
        assert_eq!(
            fixture.count(|kind| matches!(kind, DialogueEventKind::Inquiry(_))),
            2
        );
        assert_eq!(fixture.terminations, 1, "{what}");
    }
}

/// The next check of an inquiry is many limits away, which is not a suspension.
#[test]
fn limit_below_inquiry_is_decided() {
    let mut configuration = with_inquiry();
    configuration.limits.model = Some(SilenceLimit {
        silence: Duration::from_secs(3),
        max_silence: None,
    });
    let mut fixture = watched(configuration);
    fixture.send("u1");
    fixture.usage = used(0, 0);
    fixture.pass(MINUTE);
    assert_eq!(
        fixture.count(|kind| matches!(kind, DialogueEventKind::Inquiry(_))),
        1
    );
    assert_eq!(fixture.terminations, 1);
    // 3 s of silence, 20 s of inquiry, and the next check.
    assert_eq!(fixture.silences()[0].silent_for, Duration::from_secs(25));
}

#[test]
fn suspension_restarts_inquiry() {
    let mut fixture = watched(with_inquiry());
    fixture.send("u1");
    fixture.usage = used(0, 0);
    fixture.pass(MINUTE);
    fixture.now = MINUTE * 500;
    fixture.input(Input::Timeout);
    fixture.pass(MINUTE * 500 + Duration::from_secs(19));
    assert_eq!(fixture.terminations, 0);
    fixture.pass(MINUTE * 502);
    assert_eq!(fixture.terminations, 1);
}

#[test]
fn line_ends_inquiry() {
    let mut fixture = watched(with_inquiry());
    fixture.send("u1");
    fixture.pass(MINUTE + Duration::from_secs(5));
    fixture.agent(r#"{"type":"stream_event","event":{"type":"ping"}}"#);
    fixture.pass(MINUTE * 2);
    assert_eq!(fixture.terminations, 0);
}

#[test]
fn maximum_silence_terminates_busy_agent() {
    let mut configuration = with_inquiry();
    configuration.limits.model = Some(SilenceLimit {
        silence: MINUTE,
        max_silence: Some(MINUTE * 10),
    });
    let mut fixture = watched(configuration);
    fixture.send("u1");
    for second in 1..=620_u64 {
        fixture.usage = used(second * 1_000, second);
        fixture.pass(Duration::from_secs(second));
    }
    assert_eq!(fixture.terminations, 1);
    assert_eq!(fixture.silences()[0].silent_for.as_secs() / 10, 60);
}

#[test]
fn every_phase_has_its_own_limit() {
    let only = |set: fn(&mut PhaseLimits, Option<SilenceLimit>)| {
        let mut configuration = WatchdogPolicy::fixed_timeout(MINUTE);
        configuration.limits = PhaseLimits::default();
        let limit = configuration.limits.model.or(Some(SilenceLimit {
            silence: MINUTE,
            max_silence: None,
        }));
        set(&mut configuration.limits, limit);
        Fixture::new(Limits {
            watchdog: configuration,
            ..LIMITS
        })
    };
    let init = r#"{"type":"keep_alive"}"#;
    let task = r#"{"type":"system","subtype":"task_started","task_id":"k","description":"d","task_type":"local_bash","is_backgrounded":true,"uuid":"k1"}"#;
    let done = r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#;
    let mut starting = only(|limits, limit| limits.starting = limit);
    starting.send("u1");
    let mut model = only(|limits, limit| limits.model = limit);
    model.send("u1");
    model.agent(init);
    let mut tool = only(|limits, limit| limits.tool = limit);
    tool.send("u1");
    tool.agent(TOOL);
    let mut background = only(|limits, limit| limits.background = limit);
    background.send("u1");
    background.agent(task);
    background.agent(done);
    let mut post_result = only(|limits, limit| limits.post_result = limit);
    post_result.machine.limits.end_grace = MINUTE * 100;
    post_result.agent(init);
    post_result.input(Input::Command(Command::End, 1));
    let fixtures = [
        (WorkPhase::Starting, starting),
        (WorkPhase::Model, model),
        (WorkPhase::Tool, tool),
        (WorkPhase::Background, background),
        (WorkPhase::PostResult, post_result),
    ];
    for (phase, mut fixture) in fixtures {
        assert_eq!(fixture.machine.phase(), phase);
        fixture.pass(MINUTE + Duration::from_secs(10));
        assert_eq!(fixture.terminations, 1, "{phase}");
        assert_eq!(fixture.silences()[0].phase, phase);
    }
}

#[test]
fn draining_timeout_is_announced() {
    let mut fixture = watched(WatchdogPolicy::default());
    fixture.input(Input::OutputEnded);
    fixture.pass(Duration::from_secs(5));
    assert_eq!(fixture.terminations, 1);
    assert_eq!(fixture.silences()[0].phase, WorkPhase::Draining);
}

#[test]
fn expired_permission_is_denied() {
    let mut fixture = watched(WatchdogPolicy {
        permission_timeout: Some(MINUTE),
        ..WatchdogPolicy::disabled()
    });
    fixture.send("u1");
    fixture.agent(TOOL);
    fixture.agent(ASK);
    fixture.pass(MINUTE);
    let line = fixture.lines.last().expect("an answer");
    assert!(
        line.contains(r#""behavior":"deny""#) && line.contains("in time"),
        "{line}"
    );
    assert_eq!(
        fixture.permissions.last().expect("a record").state,
        RequestState::Expired
    );
    assert!(matches!(
        answer(&mut fixture, Decision::allow()),
        Err(DialogueError::TooLate { state, .. }) if state == "expired"
    ));
    assert_eq!(fixture.terminations, 0);
}

/// The host has denied the request: the next phase has its whole limit.
#[test]
fn maximum_silence_restarts_after_expiry() {
    let limit = Some(SilenceLimit {
        silence: MINUTE,
        max_silence: Some(MINUTE * 10),
    });
    let mut configuration = WatchdogPolicy {
        permission_timeout: Some(MINUTE * 20),
        ..with_inquiry()
    };
    configuration.limits.model = limit;
    configuration.limits.tool = limit;
    let mut fixture = watched(configuration);
    fixture.send("u1");
    fixture.agent(TOOL);
    fixture.agent(ASK);
    for second in 1..=29 * 60 {
        fixture.usage = used(second * 1_000, second);
        fixture.pass(Duration::from_secs(second));
    }
    assert_eq!(
        fixture.permissions.last().expect("a record").state,
        RequestState::Expired
    );
    assert_eq!(fixture.terminations, 0);
    fixture.pass(MINUTE * 31);
    assert_eq!(fixture.terminations, 1);
}

#[test]
fn failed_reconnect_is_reported() {
    use bowline_transport::{ConnectionState, ReconnectFailed, ReconnectFailure};
    let mut fixture = watched(WatchdogPolicy::fixed_timeout(MINUTE));
    fixture.send("u1");
    fixture.input(Input::Connection(ConnectionState::Reconnecting {
        attempt: 1,
    }));
    // An agent that cannot be reached is not silent.
    fixture.pass(MINUTE * 10);
    assert_eq!(
        (fixture.terminations, fixture.machine.poll_timeout()),
        (0, None)
    );
    let failed = ReconnectFailed {
        failure: ReconnectFailure::Gone,
        detail: "start or resume one".into(),
    };
    assert!(!failed.failure.can_retry() && ReconnectFailure::Lost.can_retry());
    fixture.input(Input::Connection(ConnectionState::Failed(failed)));
    assert_eq!(
        fixture.errors(),
        ["reconnect_failed: the session is gone; start or resume one"]
    );
    let reason = |fixture: &Fixture| fixture.machine.transcript().status().reason.into_owned();
    assert_eq!(
        reason(&fixture),
        "disconnected: the session is gone; start or resume one"
    );
    assert_eq!(
        fixture.count(|kind| matches!(kind, DialogueEventKind::Connection(_))),
        2
    );
    // The watchdog continues with the connection.
    fixture.input(Input::Connection(ConnectionState::Reconnected {
        from: 0,
        gap: 0,
    }));
    assert!(!reason(&fixture).contains("disconnected"));
    fixture.pass(MINUTE * 12);
    assert_eq!(fixture.terminations, 1);
}

/// A host may set every duration to its maximum.
#[test]
fn maximum_durations_do_not_overflow() {
    let limit = Some(SilenceLimit {
        silence: MINUTE,
        max_silence: Some(Duration::MAX),
    });
    let watchdog = WatchdogPolicy {
        check_interval: Duration::MAX,
        probe: Some(Duration::MAX),
        permission_timeout: Some(Duration::MAX),
        limits: PhaseLimits {
            starting: limit,
            model: limit,
            tool: limit,
            background: limit,
            post_result: limit,
            draining: Some(Duration::MAX),
        },
    };
    let mut fixture = Fixture::new(Limits {
        watchdog,
        control_timeout: Duration::MAX,
        end_grace: Duration::MAX,
        exit: ExitPolicy {
            answer: Duration::MAX,
            exit: Duration::MAX,
            term: Duration::MAX,
        },
        initialize: true,
        ..LIMITS
    });
    fixture.now = Duration::from_secs(1);
    fixture.usage = used(0, 0);
    fixture.send("u1");
    request(&mut fixture, 5);
    fixture.pass(MINUTE * 2);
    assert_eq!(
        fixture.count(|kind| matches!(kind, DialogueEventKind::Inquiry(_))),
        1
    );
    fixture.agent(TOOL);
    fixture.agent(ASK);
    fixture.input(Input::Command(Command::End, 6));
    fixture.input(Input::Connection(
        bowline_transport::ConnectionState::Reconnecting { attempt: 1 },
    ));
    fixture.pass(MINUTE * 10);
    fixture.input(Input::Connection(
        bowline_transport::ConnectionState::Reconnected { from: 0, gap: 0 },
    ));
    fixture.input(Input::OutputEnded);
    fixture.pass(MINUTE * 1_000);
    assert_eq!(fixture.terminations, 0);
    fixture.exit(0);
    assert!(fixture.is_finished);
}

#[test]
fn inquiry_and_timeout_are_reported_without_subscribers() {
    let mut fixture = watched(with_inquiry());
    fixture.machine.set_emits_events(false);
    fixture.send("u1");
    fixture.pass(MINUTE * 2);
    assert_eq!(fixture.terminations, 1);
    let inquiries = fixture.count(|kind| matches!(kind, DialogueEventKind::Inquiry(_)));
    assert_eq!((inquiries, fixture.silences().len()), (1, 1));
}
