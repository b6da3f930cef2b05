//! Anything at any time: the machine holds what the design promises.

use bowline_transport::{ConnectionState, ReconnectFailed, ReconnectFailure, Vitals};
use proptest::prelude::*;

use super::*;

/// What may happen next.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    Send(u8),
    Answer(u8, bool),
    Interrupt,
    Pause,
    Unpause,
    CancelHeld,
    End,
    Terminate,
    Line(String),
    Torn(String),
    Gap(u16),
    Errors(String),
    Wait(u32),
    /// What the processes have used when they are looked at next; none when they are gone.
    Used(Option<u16>),
    Link(Link),
    Written(u8),
    Unwritten(u8),
    Unanswered(u8),
    OutputEnded,
}

/// How the link to the agent's machine stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Link {
    Up,
    Down,
    GivenUp,
}

impl Link {
    fn state(self) -> ConnectionState {
        match self {
            Self::Up => ConnectionState::Reconnected { from: 0, gap: 0 },
            Self::Down => ConnectionState::Reconnecting { attempt: 1 },
            Self::GivenUp => ConnectionState::Failed(ReconnectFailed {
                failure: ReconnectFailure::Gone,
                detail: "start another one".to_owned(),
            }),
        }
    }
}

fn line() -> impl Strategy<Value = String> {
    let id = 0..4_u8;
    prop_oneof![
        id.clone().prop_map(|n| format!(r#"{{"type":"user","message":{{"role":"user","content":"x"}},"isReplay":true,"uuid":"u{n}"}}"#)),
        (id.clone(), 0..4_usize).prop_map(|(n, at)| {
            let state = ["queued", "started", "cancelled", "completed"][at];
            format!(r#"{{"type":"command_lifecycle","command_uuid":"u{n}","state":"{state}","uuid":"l{n}{at}"}}"#)
        }),
        (id.clone(), id.clone()).prop_map(|(n, m)| format!(r#"{{"type":"system","subtype":"init","user_message_uuids":["u{n}","u{m}"],"session_id":"s","uuid":"i{n}{m}"}}"#)),
        id.clone().prop_map(|n| format!(r#"{{"type":"result","subtype":"success","origin":{{"kind":"task-notification"}},"uuid":"o{n}"}}"#)),
        id.clone().prop_map(|n| format!(r#"{{"type":"assistant","message":{{"id":"m{n}","content":[{{"type":"tool_use","id":"t{n}","name":"Bash","input":{{}}}}]}},"uuid":"a{n}"}}"#)),
        id.clone().prop_map(|n| format!(r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"ok"}}]}},"uuid":"r{n}"}}"#)),
        (id.clone(), id.clone()).prop_map(|(n, m)| format!(r#"{{"type":"assistant","parent_tool_use_id":"t{m}","message":{{"id":"s{n}","content":[{{"type":"text","text":"x"}}]}},"uuid":"s{n}{m}"}}"#)),
        (id.clone(), id.clone()).prop_map(|(n, m)| format!(r#"{{"type":"control_request","request_id":"q{n}","request":{{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t{m}","input":{{}}}}}}"#)),
        id.clone().prop_map(|n| format!(r#"{{"type":"control_cancel_request","request_id":"q{n}"}}"#)),
        id.clone().prop_map(|n| format!(r#"{{"type":"control_response","response":{{"subtype":"success","request_id":"bowline-{n}","response":{{}}}}}}"#)),
        id.clone().prop_map(|n| format!(r#"{{"type":"system","subtype":"task_started","task_id":"k{n}","description":"d","is_backgrounded":true,"uuid":"k{n}"}}"#)),
        id.clone().prop_map(|n| format!(r#"{{"type":"system","subtype":"task_notification","task_id":"k{n}","status":"completed","uuid":"n{n}"}}"#)),
        (id, any::<bool>()).prop_map(|(n, failed)| format!(r#"{{"type":"result","subtype":"success","is_error":{failed},"user_message_uuid":"u{n}","uuid":"c{n}"}}"#)),
        Just(r#"{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"}"#.to_owned()),
        Just("not JSON".to_owned()),
    ]
}

fn deed() -> impl Strategy<Value = Deed> {
    prop_oneof![
        2 => (0..6_u8).prop_map(Deed::Send),
        2 => (0..4_u8, any::<bool>()).prop_map(|(n, yes)| Deed::Answer(n, yes)),
        1 => Just(Deed::Interrupt),
        1 => Just(Deed::Pause),
        1 => Just(Deed::Unpause),
        1 => Just(Deed::CancelHeld),
        1 => Just(Deed::End),
        1 => Just(Deed::Terminate),
        12 => line().prop_map(Deed::Line),
        1 => line().prop_map(Deed::Torn),
        1 => (1..200_u16).prop_map(Deed::Gap),
        1 => "[a-z\n]{0,40}".prop_map(Deed::Errors),
        3 => (1..400_u32).prop_map(Deed::Wait),
        1 => any::<Option<u16>>().prop_map(Deed::Used),
        1 => prop_oneof![Just(Link::Up), Just(Link::Down), Just(Link::GivenUp)].prop_map(Deed::Link),
        1 => (0..6_u8).prop_map(Deed::Written),
        1 => (0..6_u8).prop_map(Deed::Unwritten),
        1 => (0..4_u8).prop_map(Deed::Unanswered),
        1 => Just(Deed::OutputEnded),
    ]
}

/// A world that knows what it has done.
pub(super) struct Trial {
    world: World,
    written: u64,
    tickets: Ticket,
    is_over: bool,
}

impl Trial {
    pub(super) fn new() -> Self {
        let mut world = World::new(Limits {
            watchdog: WatchdogConfiguration {
                permission: Some(Duration::from_secs(300)),
                ..WatchdogConfiguration::default()
            },
            initialize: true,
            ..LIMITS
        });
        world.vitals = Some(Vitals::default());
        Self {
            world,
            written: 0,
            tickets: 0,
            is_over: false,
        }
    }

    fn command(&mut self, command: Command) {
        self.tickets += 1;
        self.world.input(Input::Command(command, self.tickets));
    }

    fn output(&mut self, text: &str) {
        if !self.is_over {
            self.written += text.len() as u64;
            self.world.input(Input::Output(text.to_owned().into()));
        }
    }

    pub(super) fn run(&mut self, deed: Deed) {
        match deed {
            Deed::Send(n) => self.command(Command::Send(Prompt {
                uuid: Some(format!("u{n}")),
                ..Prompt::text("line\nbreak \u{2028}")
            })),
            Deed::Answer(n, yes) => self.command(Command::Answer {
                request_id: format!("q{n}"),
                answer: if yes {
                    Decision::allow()
                } else {
                    Decision::deny("no\n")
                }
                .into(),
                by: Some(format!("c{n}")),
            }),
            Deed::Interrupt => self.command(Command::Request(HostRequest::Interrupt {
                cancel_queued: true,
            })),
            Deed::Pause => self.command(Command::Pause),
            Deed::Unpause => self.command(Command::Unpause),
            Deed::CancelHeld => self.command(Command::CancelHeld),
            Deed::End => self.command(Command::End),
            Deed::Terminate => self.command(Command::Terminate),
            Deed::Line(line) => self.output(&format!("{line}\n")),
            Deed::Torn(line) => {
                let half = line.get(..line.len() / 2).unwrap_or_default().to_owned();
                self.output(&half);
            }
            Deed::Gap(bytes) if !self.is_over => {
                let (from, to) = (self.written, self.written + u64::from(bytes));
                self.written = to;
                self.world.input(Input::OutputGap { from, to });
            }
            Deed::Gap(_) => {}
            Deed::Errors(text) => self.world.input(Input::Errors(text.into())),
            Deed::Wait(seconds) => self.wait(Duration::from_secs(seconds.into())),
            Deed::Used(used) => {
                let used = used.map(u64::from);
                self.world.vitals = used.map(|used| Vitals {
                    cpu: Duration::from_millis(used),
                    io_bytes: used,
                    ..Vitals::default()
                });
            }
            Deed::Link(link) => self.world.input(Input::Connection(link.state())),
            Deed::Written(n) => self.world.input(Input::Written(format!("u{n}"))),
            Deed::Unwritten(n) => self.world.lose(Carried::Prompt(format!("u{n}"))),
            Deed::Unanswered(n) => self.world.lose(Carried::Answer(format!("q{n}"))),
            Deed::OutputEnded if !self.is_over => {
                self.is_over = true;
                self.world.input(Input::OutputEnded);
            }
            Deed::OutputEnded => {}
        }
    }

    /// Time passes, and no deadline is missed or comes twice without end.
    fn wait(&mut self, time: Duration) {
        let until = self.world.now + time;
        for _ in 0..10_000 {
            match self
                .world
                .machine
                .poll_timeout()
                .filter(|due| *due <= until)
            {
                Some(due) => {
                    self.world.now = self.world.now.max(due);
                    self.world.input(Input::Timeout);
                }
                None => {
                    self.world.now = until;
                    return;
                }
            }
        }
        panic!("a deadline that is kept comes again and again");
    }

    pub(super) fn check(&mut self) {
        let last = self.world.machine.last_activity();
        assert!(last.at <= self.world.now, "no sign of life is to come");
        for line in &self.world.lines {
            assert_eq!(line.matches('\n').count(), 1, "one line at a time: {line}");
            assert!(line.ends_with('\n'));
            serde_json::from_str::<serde_json::Value>(line).expect("every line is JSON");
        }
    }

    /// Every session ends, and nothing stays open.
    pub(super) fn end(&mut self) {
        self.world.exit(0);
        assert!(self.world.is_finished);
        assert_eq!(
            self.world.machine.poll_timeout(),
            None,
            "nothing is waited for"
        );
        let mut replies: Vec<_> = self
            .world
            .replies
            .iter()
            .map(|(ticket, _)| *ticket)
            .collect();
        replies.sort_unstable();
        let wanted: Vec<_> = (1..=self.tickets).collect();
        assert_eq!(replies, wanted, "every command has one answer");
        let mut last = std::collections::HashMap::new();
        for (uuid, state) in &self.world.receipts {
            let before = last.insert(uuid.clone(), *state);
            assert!(
                before < Some(*state),
                "receipts go forward: {before:?} {state:?}"
            );
            assert!(
                !before.is_some_and(ReceiptState::is_final),
                "an end is an end"
            );
        }
        assert!(last.values().all(|state| state.is_final()), "{last:?}");
        let mut open = std::collections::HashMap::new();
        for record in &self.world.permissions {
            open.insert(record.request_id.clone(), record.state);
        }
        assert!(open.values().all(|state| !state.is_open()), "{open:?}");
        let ends = self.world.told.iter();
        let ends = ends.filter(|it| matches!(it.kind, DialogueEventKind::SessionEnd { .. }));
        assert_eq!(ends.count(), 1);
        assert!(matches!(
            self.world.told.last().expect("an end").kind,
            DialogueEventKind::SessionEnd { .. }
        ));
        self.closed_transcript();
    }

    fn closed_transcript(&mut self) {
        let transcript = self.world.machine.transcript();
        assert!(transcript.has_ended());
        let open = transcript.open_work();
        assert!(!open.turn && open.calls == 0 && open.tasks == 0 && open.permissions == 0);
        assert!(
            transcript
                .main()
                .tool_calls()
                .iter()
                .all(|it| !it.state().is_open())
        );
        assert!(transcript.tasks().all(|task| !task.state().is_open()));
        assert_eq!(transcript.pending_permissions().len(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_every_session_ends_and_nothing_stays_open(
        deeds in prop::collection::vec(deed(), 0..60),
    ) {
        let mut trial = Trial::new();
        for deed in deeds {
            trial.run(deed);
            trial.check();
        }
        trial.end();
    }

    #[test]
    fn an_agent_that_says_nothing_more_is_ended_or_waits_for_somebody(
        deeds in prop::collection::vec(deed(), 0..40),
    ) {
        let mut trial = Trial::new();
        for deed in deeds {
            trial.run(deed);
        }
        // Who cannot be heard is waited for, and so is nobody who can.
        trial.run(Deed::Link(Link::Up));
        trial.run(Deed::Used(Some(0)));
        trial.wait(Duration::from_secs(24 * 3600));
        let phase = trial.world.machine.phase();
        let waits = matches!(
            phase,
            crate::watchdog::WorkPhase::Idle
        );
        prop_assert!(trial.world.terminations > 0 || waits, "left alone in phase {phase}");
        trial.end();
    }
}
