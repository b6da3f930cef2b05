//! The watchdog, under a clock of our own.

use super::*;
use crate::watchdog::{PhaseLimits, ProbeAnswer, Silence, SilenceLimit, WorkPhase};

const MINUTE: Duration = Duration::from_secs(60);

fn watched(watchdog: WatchdogConfiguration) -> World {
    let mut world = World::new(Limits { watchdog, ..LIMITS });
    world.agent(r#"{"type":"keep_alive"}"#);
    world
}

const TOOL: &str = r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"uuid":"a"}"#;

impl World {
    /// Lets time pass, with every deadline kept, until `until` or until nothing is due any more.
    fn pass(&mut self, until: Duration) {
        while let Some(due) = self.machine.poll_timeout().filter(|due| *due <= until) {
            assert!(due >= self.now, "time goes on");
            self.now = due;
            self.input(Input::Timeout);
        }
        self.now = until;
    }

    fn silences(&self) -> Vec<&Silence> {
        let told = self.told.iter();
        let silences = told.filter_map(|told| match &told.kind {
            DialogueEventKind::SessionTimeout(silence) => Some(silence),
            _ => None,
        });
        silences.collect()
    }

    fn told_of(&self, wanted: fn(&DialogueEventKind) -> bool) -> usize {
        self.told.iter().filter(|told| wanted(&told.kind)).count()
    }
}

#[test]
fn seed_001_an_idle_session_is_checked_each_ten_seconds_and_killed_after_its_timeout() {
    let mut world = watched(WatchdogConfiguration::seed_001(MINUTE));
    world.send("u1");
    assert_eq!(world.machine.poll_timeout(), Some(Duration::from_secs(10)));
    world.pass(MINUTE - Duration::from_secs(1));
    assert_eq!(world.terminations, 0);
    world.pass(MINUTE + Duration::from_secs(10));
    assert_eq!(world.terminations, 1);
    assert_eq!(world.silences()[0].phase, WorkPhase::Model);
    assert_eq!(world.silences()[0].silent_for, MINUTE);
    assert_eq!(world.machine.poll_timeout(), None, "it is killed once");
    world.exit(143);
    let wanted = "exit code 143 by the watchdog, silent for 60 s in phase model, last was the host";
    assert_eq!(world.machine.ending(), (false, wanted.into()));
}

#[test]
fn seed_001_the_timeout_is_announced_before_the_kill() {
    let mut world = watched(WatchdogConfiguration::seed_001(MINUTE));
    world.send("u1");
    // Outputs are taken one by one, so that their order shows.
    world.now = MINUTE;
    for due in 1..=6 {
        world
            .machine
            .handle_input(Input::Timeout, Duration::from_secs(due * 10));
    }
    let outputs: Vec<_> = std::iter::from_fn(|| world.machine.poll_output()).collect();
    let at = |wanted: fn(&Output) -> bool| outputs.iter().position(wanted);
    let told = at(
        |it| matches!(it, Output::Told(told) if matches!(told.kind, DialogueEventKind::SessionTimeout(_))),
    );
    let killed = at(|it| matches!(it, Output::Terminate));
    assert!(told.is_some() && told < killed, "{outputs:?}");
    assert_eq!(
        world.errors(),
        ["session_timeout: silent for 60 s in phase model, last was the host"]
    );
}

#[test]
fn seed_001_each_valid_event_is_activity_and_a_bad_line_is_none() {
    let mut world = watched(WatchdogConfiguration::seed_001(MINUTE));
    world.send("u1");
    for minute in 1..=10_u32 {
        world.pass(MINUTE * minute - Duration::from_secs(5));
        world.agent(r#"{"type":"stream_event","event":{"type":"ping"}}"#);
    }
    assert_eq!(world.terminations, 0);
    for second in 1..=70_u64 {
        world.pass(MINUTE * 10 + Duration::from_secs(second));
        world.agent("no event at all");
    }
    assert_eq!(world.terminations, 1);
}

#[test]
fn seed_001_a_person_who_is_asked_is_not_silence() {
    let mut world = watched(WatchdogConfiguration::seed_001(MINUTE));
    world.send("u1");
    world.agent(TOOL);
    world.agent(ASK);
    assert_eq!(world.machine.poll_timeout(), None, "nobody looks");
    world.pass(MINUTE * 600);
    assert_eq!(answer(&mut world, Decision::allow()), Ok(Reply::Done));
    // The tool has the whole of its time from the answer on.
    world.pass(MINUTE * 601 - Duration::from_secs(1));
    assert_eq!(world.terminations, 0);
    world.pass(MINUTE * 602);
    assert_eq!(world.terminations, 1);
    assert_eq!(world.silences()[0].phase, WorkPhase::Tool);
    assert_eq!(world.silences()[0].open_tools, ["Bash"]);
}

#[test]
fn a_session_that_was_asked_nothing_is_not_watched() {
    let mut world = watched(WatchdogConfiguration::seed_001(MINUTE));
    assert_eq!(world.machine.poll_timeout(), None);
    world.send("u1");
    world.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert_eq!(
        world.machine.poll_timeout(),
        None,
        "it waits for its host again"
    );
}

#[test]
fn a_machine_that_slept_has_not_been_silent() {
    let mut world = watched(WatchdogConfiguration::seed_001(MINUTE));
    world.send("u1");
    world.pass(Duration::from_secs(30));
    // The lid was closed over night: the next look comes hours late.
    world.now = MINUTE * 500;
    world.input(Input::Timeout);
    assert_eq!(world.terminations, 0);
    // Thirty seconds of silence are left, and they count from the waking on.
    world.pass(MINUTE * 500 + Duration::from_secs(15));
    assert_eq!(world.terminations, 0);
    world.pass(MINUTE * 501);
    assert_eq!(world.terminations, 1);
    assert!(world.silences()[0].silent_for <= MINUTE + Duration::from_secs(10));
}

/// Limits that are easy to count with.
fn inquiring() -> WatchdogConfiguration {
    let limit = Some(SilenceLimit {
        silence: MINUTE,
        at_most: None,
    });
    WatchdogConfiguration {
        inquiry: Some(Duration::from_secs(20)),
        limits: PhaseLimits {
            starting: limit,
            model: limit,
            tool: limit,
            background: limit,
            post_result: limit,
            draining: None,
        },
        ..WatchdogConfiguration::default()
    }
}

fn used(cpu_ms: u64, io_bytes: u64) -> Option<Vitals> {
    Some(Vitals {
        processes: 2,
        cpu: Duration::from_millis(cpu_ms),
        io_bytes,
    })
}

#[test]
fn silence_starts_an_inquiry_and_kills_who_shows_no_life() {
    let mut world = watched(inquiring());
    world.send("u1");
    world.agent(TOOL);
    world.vitals = used(1_000, 5_000);
    world.pass(MINUTE);
    assert!(
        world
            .lines
            .last()
            .expect("a question")
            .contains("get_binary_version")
    );
    assert_eq!((world.looks, world.terminations), (1, 0));
    world.pass(MINUTE + Duration::from_secs(20));
    assert_eq!((world.looks, world.terminations), (2, 1));
    let silence = world.silences()[0];
    assert_eq!(silence.phase, WorkPhase::Tool);
    assert_eq!(silence.probe, ProbeAnswer::Unanswered);
    assert_eq!(
        (silence.cpu, silence.io_bytes),
        (Some(Duration::ZERO), Some(0))
    );
    assert_eq!(
        silence.to_string(),
        "silent for 80 s in phase tool, last was a line, no answer to a question, 0 ms of \
         processor time and 0 bytes moved meanwhile, open tools: Bash"
    );
}

#[test]
fn any_sign_of_life_saves_a_silent_agent() {
    type Sign = fn(&mut World);
    let signs: [(&str, Sign); 4] = [
        ("an answer", |world| {
            world.agent(r#"{"type":"control_response","response":{"subtype":"error","request_id":"bowline-1","error":"what?"}}"#);
        }),
        ("work", |world| world.vitals = used(2_000, 0)),
        ("bytes", |world| world.vitals = used(0, 100_000)),
        ("a process", |world| {
            world.vitals = Some(Vitals {
                processes: 3,
                ..used(0, 0).expect("a number")
            });
        }),
    ];
    for (what, sign) in signs {
        let mut world = watched(inquiring());
        world.send("u1");
        world.vitals = used(0, 0);
        world.pass(MINUTE);
        sign(&mut world);
        world.pass(MINUTE + Duration::from_secs(20));
        assert_eq!(world.terminations, 0, "{what}");
        assert_eq!(
            world.told_of(|kind| matches!(kind, DialogueEventKind::StillAlive(_))),
            1,
            "{what}"
        );
        // The next silence starts the next inquiry, and this one finds nobody.
        world.pass(MINUTE * 3);
        assert_eq!(
            world.told_of(|kind| matches!(kind, DialogueEventKind::Inquiry(_))),
            2
        );
        assert_eq!(world.terminations, 1, "{what}");
    }
}

/// The planned look of an inquiry is many such limits away, and no sleep for that.
#[test]
fn a_limit_far_below_the_inquiry_is_decided_too() {
    let mut configuration = inquiring();
    configuration.limits.model = Some(SilenceLimit {
        silence: Duration::from_secs(3),
        at_most: None,
    });
    let mut world = watched(configuration);
    world.send("u1");
    world.vitals = used(0, 0);
    world.pass(MINUTE);
    assert_eq!(
        world.told_of(|kind| matches!(kind, DialogueEventKind::Inquiry(_))),
        1
    );
    assert_eq!(world.terminations, 1);
    // 3 s of silence, 20 s of inquiry, and the look behind that.
    assert_eq!(world.silences()[0].silent_for, Duration::from_secs(25));
}

#[test]
fn a_machine_that_slept_in_an_inquiry_begins_it_again() {
    let mut world = watched(inquiring());
    world.send("u1");
    world.vitals = used(0, 0);
    world.pass(MINUTE);
    world.now = MINUTE * 500;
    world.input(Input::Timeout);
    world.pass(MINUTE * 500 + Duration::from_secs(19));
    assert_eq!(world.terminations, 0);
    world.pass(MINUTE * 502);
    assert_eq!(world.terminations, 1);
}

#[test]
fn a_line_ends_an_inquiry() {
    let mut world = watched(inquiring());
    world.send("u1");
    world.pass(MINUTE + Duration::from_secs(5));
    world.agent(r#"{"type":"stream_event","event":{"type":"ping"}}"#);
    world.pass(MINUTE * 2);
    assert_eq!(world.terminations, 0);
}

#[test]
fn a_limit_on_the_whole_kills_who_lives_and_says_nothing() {
    let mut configuration = inquiring();
    configuration.limits.model = Some(SilenceLimit {
        silence: MINUTE,
        at_most: Some(MINUTE * 10),
    });
    let mut world = watched(configuration);
    world.send("u1");
    for second in 1..=620_u64 {
        world.vitals = used(second * 1_000, second);
        world.pass(Duration::from_secs(second));
    }
    assert_eq!(world.terminations, 1);
    assert_eq!(world.silences()[0].silent_for.as_secs() / 10, 60);
}

#[test]
fn every_phase_has_its_own_deadline() {
    let only = |set: fn(&mut PhaseLimits, Option<SilenceLimit>)| {
        let mut configuration = WatchdogConfiguration::seed_001(MINUTE);
        configuration.limits = PhaseLimits::default();
        let limit = configuration.limits.model.or(Some(SilenceLimit {
            silence: MINUTE,
            at_most: None,
        }));
        set(&mut configuration.limits, limit);
        World::new(Limits {
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
    let worlds = [
        (WorkPhase::Starting, starting),
        (WorkPhase::Model, model),
        (WorkPhase::Tool, tool),
        (WorkPhase::Background, background),
        (WorkPhase::PostResult, post_result),
    ];
    for (phase, mut world) in worlds {
        assert_eq!(world.machine.phase(), phase);
        world.pass(MINUTE + Duration::from_secs(10));
        assert_eq!(world.terminations, 1, "{phase}");
        assert_eq!(world.silences()[0].phase, phase);
    }
}

#[test]
fn an_agent_that_drains_too_long_is_announced_too() {
    let mut world = watched(WatchdogConfiguration::default());
    world.input(Input::OutputEnded);
    world.pass(Duration::from_secs(5));
    assert_eq!(world.terminations, 1);
    assert_eq!(world.silences()[0].phase, WorkPhase::Draining);
}

#[test]
fn a_permission_that_nobody_answers_can_expire_and_kills_nobody() {
    let mut world = watched(WatchdogConfiguration {
        permission: Some(MINUTE),
        ..WatchdogConfiguration::never()
    });
    world.send("u1");
    world.agent(TOOL);
    world.agent(ASK);
    world.pass(MINUTE);
    let line = world.lines.last().expect("an answer");
    assert!(
        line.contains(r#""behavior":"deny""#) && line.contains("in time"),
        "{line}"
    );
    assert_eq!(
        world.permissions.last().expect("a record").state,
        RequestState::Expired
    );
    assert!(matches!(
        answer(&mut world, Decision::allow()),
        Err(DialogueError::TooLate {
            state: "expired",
            ..
        })
    ));
    assert_eq!(world.terminations, 0);
}

/// The host has answered by itself: what comes next gets the whole of its time.
#[test]
fn a_limit_on_the_whole_counts_from_the_denial_of_a_permission_that_expired() {
    let limit = Some(SilenceLimit {
        silence: MINUTE,
        at_most: Some(MINUTE * 10),
    });
    let mut configuration = WatchdogConfiguration {
        permission: Some(MINUTE * 20),
        ..inquiring()
    };
    configuration.limits.model = limit;
    configuration.limits.tool = limit;
    let mut world = watched(configuration);
    world.send("u1");
    world.agent(TOOL);
    world.agent(ASK);
    for second in 1..=29 * 60 {
        world.vitals = used(second * 1_000, second);
        world.pass(Duration::from_secs(second));
    }
    assert_eq!(
        world.permissions.last().expect("a record").state,
        RequestState::Expired
    );
    assert_eq!(world.terminations, 0);
    world.pass(MINUTE * 31);
    assert_eq!(world.terminations, 1);
}

#[test]
fn seed_000_a_reconnect_that_is_impossible_is_told_and_in_the_transcript() {
    use bowline_transport::{ConnectionState, ReconnectFailed, ReconnectFailure};
    let mut world = watched(WatchdogConfiguration::seed_001(MINUTE));
    world.send("u1");
    world.input(Input::Connection(ConnectionState::Reconnecting {
        attempt: 1,
    }));
    // Who cannot be heard is not silent.
    world.pass(MINUTE * 10);
    assert_eq!(
        (world.terminations, world.machine.poll_timeout()),
        (0, None)
    );
    let failed = ReconnectFailed {
        failure: ReconnectFailure::Gone,
        detail: "start or resume one".into(),
    };
    assert!(!failed.failure.can_retry() && ReconnectFailure::Lost.can_retry());
    world.input(Input::Connection(ConnectionState::Failed(failed)));
    assert_eq!(
        world.errors(),
        ["reconnect_failed: reconnect: the session is gone, start or resume one"]
    );
    assert_eq!(
        world.told_of(|kind| matches!(kind, DialogueEventKind::Connection(_))),
        2
    );
    // With the link the watch begins anew.
    world.input(Input::Connection(ConnectionState::Reconnected {
        from: 0,
        gap: 0,
    }));
    world.pass(MINUTE * 12);
    assert_eq!(world.terminations, 1);
}

/// A host may set every time as long as it likes.
#[test]
fn times_without_end_are_kept_and_overflow_nothing() {
    let limit = Some(SilenceLimit {
        silence: MINUTE,
        at_most: Some(Duration::MAX),
    });
    let watchdog = WatchdogConfiguration {
        check: Duration::MAX,
        inquiry: Some(Duration::MAX),
        permission: Some(Duration::MAX),
        limits: PhaseLimits {
            starting: limit,
            model: limit,
            tool: limit,
            background: limit,
            post_result: limit,
            draining: Some(Duration::MAX),
        },
    };
    let mut world = World::new(Limits {
        watchdog,
        control_timeout: Duration::MAX,
        end_grace: Duration::MAX,
        initialize: true,
        ..LIMITS
    });
    world.now = Duration::from_secs(1);
    world.vitals = used(0, 0);
    world.send("u1");
    request(&mut world, 5);
    world.pass(MINUTE * 2);
    assert_eq!(
        world.told_of(|kind| matches!(kind, DialogueEventKind::Inquiry(_))),
        1
    );
    world.agent(TOOL);
    world.agent(ASK);
    world.input(Input::Command(Command::End, 6));
    world.input(Input::Connection(
        bowline_transport::ConnectionState::Reconnecting { attempt: 1 },
    ));
    world.pass(MINUTE * 10);
    world.input(Input::Connection(
        bowline_transport::ConnectionState::Reconnected { from: 0, gap: 0 },
    ));
    world.input(Input::OutputEnded);
    world.pass(MINUTE * 1_000);
    assert_eq!(world.terminations, 0);
    world.exit(0);
    assert!(world.is_finished);
}
