//! Random inputs in any order: the invariants of the state machine.

use bowline_transport::{ConnectionState, ReconnectFailed, ReconnectFailure, ResourceUsage};
use proptest::prelude::*;

use super::*;

/// One input, or a change of the environment.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Send(u8),
    Answer(u8, bool),
    Interrupt,
    Pause,
    Unpause,
    CancelQueued,
    End,
    Terminate,
    Line(String),
    Torn(String),
    Gap(u16),
    Errors(String),
    Wait(u32),
    /// The resource usage of the next measurement; none if the processes have exited.
    Used(Option<u16>),
    Link(LinkState),
    Written(u8),
    Unwritten(u8),
    Unanswered(u8),
    OutputEnded,
}

/// The connection to the agent's machine.
#[derive(Clone, Copy, Debug)]
pub(super) enum LinkState {
    Up,
    Down,
    Failed,
}

impl LinkState {
    fn state(self) -> ConnectionState {
        match self {
            Self::Up => ConnectionState::Reconnected { from: 0, gap: 0 },
            Self::Down => ConnectionState::Reconnecting { attempt: 1 },
            Self::Failed => ConnectionState::Failed(ReconnectFailed {
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

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        2 => (0..6_u8).prop_map(Action::Send),
        2 => (0..4_u8, any::<bool>()).prop_map(|(n, yes)| Action::Answer(n, yes)),
        1 => Just(Action::Interrupt),
        1 => Just(Action::Pause),
        1 => Just(Action::Unpause),
        1 => Just(Action::CancelQueued),
        1 => Just(Action::End),
        1 => Just(Action::Terminate),
        12 => line().prop_map(Action::Line),
        1 => line().prop_map(Action::Torn),
        1 => (1..200_u16).prop_map(Action::Gap),
        1 => "[a-z\n]{0,40}".prop_map(Action::Errors),
        3 => (1..400_u32).prop_map(Action::Wait),
        1 => any::<Option<u16>>().prop_map(Action::Used),
        1 => prop_oneof![Just(LinkState::Up), Just(LinkState::Down), Just(LinkState::Failed)].prop_map(Action::Link),
        1 => (0..6_u8).prop_map(Action::Written),
        1 => (0..6_u8).prop_map(Action::Unwritten),
        1 => (0..4_u8).prop_map(Action::Unanswered),
        1 => Just(Action::OutputEnded),
    ]
}

/// A fixture with the state that the invariants refer to.
pub(super) struct Model {
    fixture: Fixture,
    written: u64,
    tickets: Ticket,
    is_over: bool,
}

impl Model {
    pub(super) fn new() -> Self {
        let mut fixture = Fixture::new(Limits {
            watchdog: WatchdogPolicy {
                permission_timeout: Some(Duration::from_secs(300)),
                ..WatchdogPolicy::default()
            },
            initialize: true,
            ..LIMITS
        });
        fixture.usage = Some(ResourceUsage::default());
        Self {
            fixture,
            written: 0,
            tickets: 0,
            is_over: false,
        }
    }

    fn command(&mut self, command: Command) {
        self.tickets += 1;
        self.fixture.input(Input::Command(command, self.tickets));
    }

    fn output(&mut self, text: &str) {
        if !self.is_over {
            self.written += text.len() as u64;
            self.fixture.input(Input::Output(text.to_owned().into()));
        }
    }

    pub(super) fn run(&mut self, action: Action) {
        match action {
            Action::Send(n) => self.command(Command::Send(Prompt {
                uuid: Some(format!("u{n}")),
                ..Prompt::text("line\nbreak \u{2028}")
            })),
            Action::Answer(n, yes) => self.command(Command::AnswerPermission {
                request_id: format!("q{n}"),
                answer: if yes {
                    Decision::allow()
                } else {
                    Decision::deny("no\n")
                }
                .into(),
                by: Some(format!("c{n}")),
                how: None,
            }),
            Action::Interrupt => self.command(Command::Request(HostRequest::Interrupt {
                cancel_queued: true,
            })),
            Action::Pause => self.command(Command::Pause),
            Action::Unpause => self.command(Command::Unpause),
            Action::CancelQueued => self.command(Command::CancelQueued),
            Action::End => self.command(Command::End),
            Action::Terminate => self.command(Command::Terminate),
            Action::Line(line) => self.output(&format!("{line}\n")),
            Action::Torn(line) => {
                let half = line.get(..line.len() / 2).unwrap_or_default().to_owned();
                self.output(&half);
            }
            Action::Gap(bytes) if !self.is_over => {
                let (from, to) = (self.written, self.written + u64::from(bytes));
                self.written = to;
                self.fixture.input(Input::OutputGap { from, to });
            }
            Action::Gap(_) => {}
            Action::Errors(text) => self.fixture.input(Input::Stderr(text.into())),
            Action::Wait(seconds) => self.wait(Duration::from_secs(seconds.into())),
            Action::Used(used) => {
                let used = used.map(u64::from);
                self.fixture.usage = used.map(|used| ResourceUsage {
                    cpu: Duration::from_millis(used),
                    io_bytes: used,
                    ..ResourceUsage::default()
                });
            }
            Action::Link(link) => self.fixture.input(Input::Connection(link.state())),
            Action::Written(n) => self.fixture.input(Input::Written(format!("u{n}"))),
            Action::Unwritten(n) => self
                .fixture
                .fail_write(LinePurpose::Prompt(format!("u{n}"))),
            Action::Unanswered(n) => self
                .fixture
                .fail_write(LinePurpose::PermissionAnswer(format!("q{n}"))),
            Action::OutputEnded if !self.is_over => {
                self.is_over = true;
                self.fixture.input(Input::OutputEnded);
            }
            Action::OutputEnded => {}
        }
    }

    /// Advances the clock, and handles every deadline on the way.
    fn wait(&mut self, time: Duration) {
        let until = self.fixture.now + time;
        for _ in 0..10_000 {
            match self
                .fixture
                .machine
                .poll_timeout()
                .filter(|due| *due <= until)
            {
                Some(due) => {
                    self.fixture.now = self.fixture.now.max(due);
                    self.fixture.input(Input::Timeout);
                }
                None => {
                    self.fixture.now = until;
                    return;
                }
            }
        }
        panic!("a handled deadline is due again and again");
    }

    pub(super) fn check(&mut self) {
        let last = self.fixture.machine.last_activity();
        assert!(last.at <= self.fixture.now, "activity in the future");
        for line in &self.fixture.lines {
            assert_eq!(line.matches('\n').count(), 1, "one line at a time: {line}");
            assert!(line.ends_with('\n'));
            serde_json::from_str::<serde_json::Value>(line).expect("every line is JSON");
        }
    }

    /// Ends the session, and checks that nothing stays open.
    pub(super) fn end(&mut self) {
        self.fixture.exit(0);
        assert!(self.fixture.is_finished);
        assert_eq!(
            self.fixture.machine.poll_timeout(),
            None,
            "a deadline after the end"
        );
        let mut replies: Vec<_> = self
            .fixture
            .replies
            .iter()
            .map(|(ticket, _)| *ticket)
            .collect();
        replies.sort_unstable();
        let wanted: Vec<_> = (1..=self.tickets).collect();
        assert_eq!(replies, wanted, "every command has one reply");
        let mut last = std::collections::HashMap::new();
        for (uuid, state) in &self.fixture.receipts {
            let before = last.insert(uuid.clone(), *state);
            assert!(
                before < Some(*state),
                "a receipt moved back: {before:?} {state:?}"
            );
            assert!(
                !before.is_some_and(ReceiptState::is_final),
                "a final receipt changed"
            );
        }
        assert!(last.values().all(|state| state.is_final()), "{last:?}");
        let mut open = std::collections::HashMap::new();
        for record in &self.fixture.permissions {
            open.insert(record.request_id.clone(), record.state);
        }
        assert!(open.values().all(|state| !state.is_open()), "{open:?}");
        let ends = self.fixture.events.iter();
        let ends = ends.filter(|it| matches!(it.kind, DialogueEventKind::SessionEnd { .. }));
        assert_eq!(ends.count(), 1);
        assert!(matches!(
            self.fixture.events.last().expect("an end").kind,
            DialogueEventKind::SessionEnd { .. }
        ));
        self.closed_transcript();
    }

    fn closed_transcript(&mut self) {
        let transcript = self.fixture.machine.transcript();
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
    fn any_actions_end_with_nothing_open(
        actions in prop::collection::vec(action(), 0..60),
    ) {
        let mut model = Model::new();
        for action in actions {
            model.run(action);
            model.check();
        }
        model.end();
    }

    #[test]
    fn silent_agent_is_terminated_or_idle(
        actions in prop::collection::vec(action(), 0..40),
    ) {
        let mut model = Model::new();
        for action in actions {
            model.run(action);
        }
        // Without a connection the session waits.
        model.run(Action::Link(LinkState::Up));
        model.run(Action::Used(Some(0)));
        model.wait(Duration::from_secs(24 * 3600));
        let phase = model.fixture.machine.phase();
        let waits = matches!(
            phase,
            crate::watchdog::WorkPhase::Idle
        );
        prop_assert!(model.fixture.terminations > 0 || waits, "not supervised in phase {phase}");
        model.end();
    }
}
