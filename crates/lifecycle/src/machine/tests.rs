//! The state machine with a simulated clock.
//!
//! | test | criterion |
//! |---|---|
//! | `events::each_block_becomes_an_event` | every content block has its own event type |
//! | `events::parse_error_does_not_stop_parsing` | a malformed line does not stop parsing |
//! | `events::unknown_lines_are_counted_without_event` | unknown lines are ignored and counted |
//! | `events::line_over_one_megabyte_is_complete` | a line over 1 MiB is parsed completely |
//! | `events::subagent_events_have_call_path` | sub-agents nest at any depth |
//! | `events::subagents_end_with_process` | nothing stays open after its process |
//! | `events::session_end_is_last_event` | the stream ends with the end of the session |
//! | `watchdog::fixed_timeout_checks_and_terminates` | a check every 10 s, termination after the timeout |
//! | `watchdog::timeout_is_announced_before_termination` | the timeout is an event before the kill |
//! | `watchdog::only_valid_lines_count_as_activity` | activity is a valid line |
//! | `watchdog::waiting_for_permission_is_not_silence` | no timeout while the user is asked |
//! | `watchdog::failed_reconnect_is_reported` | a failed reconnect is in the transcript, with its reason |

mod budget;
mod dialects;
mod events;
mod exhaustive;
mod permissions;
mod policy;
mod prompts;
mod property;
mod queue;
mod replay;
mod usage_limit;
mod watchdog;

use bowline_jsonl::{Decision, HostRequest, Prompt};
use bowline_transport::{Drained, Exit, ExitStatus, ResourceUsage, TerminationPolicy};

use super::*;
use crate::budget::{LimitAnswer, LimitKind};
use crate::control::{ControlEntry, ControlLine};
use crate::events::PendingEvent;
use crate::exit_policy::ExitPolicy;
use crate::permission::{PermissionAnswer, PermissionRecord, RequestState};
use crate::watchdog::WatchdogPolicy;

const LIMITS: Limits = Limits {
    max_line: 1 << 20,
    window: None,
    stderr_bytes: 64,
    control_timeout: Duration::from_secs(60),
    end_grace: Duration::from_secs(30),
    exit: ExitPolicy::LONG,
    termination: TERMINATION,
    initialize: false,
    watchdog: NO_WATCHDOG,
};

const TERMINATION: TerminationPolicy = TerminationPolicy {
    eof_grace: Duration::from_secs(2),
    interrupt: None,
    term_grace: Duration::from_secs(2),
    kill: Duration::from_secs(2),
};

const NO_WATCHDOG: WatchdogPolicy = WatchdogPolicy {
    check_interval: Duration::from_secs(10),
    probe: None,
    permission_timeout: None,
    limits: crate::watchdog::PhaseLimits {
        starting: None,
        model: None,
        tool: None,
        background: None,
        post_result: None,
        draining: Some(Duration::from_secs(5)),
    },
};

/// An entry of a session's log.
#[derive(Clone, Debug)]
enum LogEntry {
    Output(Bytes),
    Written(Bytes),
    Intent(Command),
}

/// Gives a machine the log of its session, as a daemon does after its start.
fn recover(machine: &mut Machine, log: &[LogEntry]) {
    for entry in log {
        match entry.clone() {
            LogEntry::Output(bytes) => machine.recover_output(Input::Output(bytes)),
            LogEntry::Written(line) => machine.recover_input(&line),
            LogEntry::Intent(command) => drop(machine.recover_command(command)),
        }
    }
}

/// A machine with a simulated clock, and its outputs so far.
struct Fixture {
    machine: Machine,
    /// What the log of the session would have.
    log: Vec<LogEntry>,
    now: Duration,
    lines: Vec<String>,
    /// What the last line was for.
    purpose: LinePurpose,
    replies: Vec<(Ticket, Result<Reply, DialogueError>)>,
    receipts: Vec<(String, ReceiptState)>,
    events: Vec<PendingEvent>,
    permissions: Vec<std::sync::Arc<PermissionRecord>>,
    /// Paths to resolve, by the id of their request.
    resolutions: Vec<(String, Vec<String>)>,
    /// Lines for the control stream.
    decisions: Vec<ControlLine>,
    /// Answers about limits that several sessions share.
    shared_limits: Vec<(LimitKind, LimitAnswer, Option<String>)>,
    /// The resource usage that the next measurement returns.
    usage: Option<ResourceUsage>,
    measurements: usize,
    terminations: usize,
    /// How the agent was last terminated.
    termination: Option<TerminationPolicy>,
    closed_input: bool,
    is_finished: bool,
}

impl Fixture {
    fn new(limits: Limits) -> Self {
        Self::of(Machine::new(limits, 0))
    }

    fn of(machine: Machine) -> Self {
        let mut fixture = Self {
            machine,
            log: Vec::new(),
            now: Duration::ZERO,
            lines: Vec::new(),
            purpose: LinePurpose::Other,
            replies: Vec::new(),
            receipts: Vec::new(),
            events: Vec::new(),
            permissions: Vec::new(),
            resolutions: Vec::new(),
            decisions: Vec::new(),
            shared_limits: Vec::new(),
            usage: None,
            measurements: 0,
            terminations: 0,
            termination: None,
            closed_input: false,
            is_finished: false,
        };
        fixture.machine.set_emits_events(true);
        fixture.drain();
        fixture
    }

    fn input(&mut self, input: Input) {
        match &input {
            Input::Output(bytes) => self.log.push(LogEntry::Output(bytes.clone())),
            Input::Command(command, _) => self.log.push(LogEntry::Intent(command.clone())),
            _ => {}
        }
        self.machine.handle_input(input, self.now);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Write { line, purpose } => {
                    self.purpose = purpose;
                    self.log.push(LogEntry::Written(line.clone()));
                    self.lines
                        .push(String::from_utf8(line.to_vec()).expect("lines are UTF-8"));
                }
                Output::Reply { ticket, reply } => self.replies.push((ticket, reply)),
                Output::Receipt { uuid, state } => self.receipts.push((uuid, state)),
                Output::Event(event) => self.events.push(event),
                Output::Permission(record) => self.permissions.push(record),
                Output::ResolvePaths { request_id, paths } => {
                    self.resolutions.push((request_id, paths));
                }
                Output::Decision(line) => self.decisions.push(line),
                Output::SharedLimit { limit, answer, by } => {
                    self.shared_limits.push((limit, answer, by));
                }
                Output::TurnEnded => {}
                Output::MeasureUsage => {
                    self.measurements += 1;
                    self.machine
                        .handle_input(Input::Usage(self.usage), self.now);
                }
                Output::CloseInput => self.closed_input = true,
                Output::Terminate(policy) => {
                    self.terminations += 1;
                    self.termination = Some(policy);
                }
                Output::Finished => self.is_finished = true,
            }
        }
    }

    fn agent(&mut self, line: &str) {
        self.input(Input::Output(format!("{line}\n").into()));
    }

    fn send(&mut self, uuid: &str) {
        let prompt = Prompt {
            uuid: Some(uuid.to_owned()),
            ..Prompt::text("hello")
        };
        self.input(Input::Command(Command::Send(prompt), 1));
    }

    fn exit(&mut self, code: i32) {
        let status = ExitStatus::Code(code);
        let exit = Exit {
            status,
            oom: false,
            drained: Drained::Clean,
            output_end: 0,
            errors_end: 0,
        };
        self.input(Input::Exited(exit));
    }

    /// Fails the write of the last line.
    fn fail_write(&mut self, purpose: LinePurpose) {
        let line = self.lines.last().cloned().unwrap_or_default().into();
        self.input(Input::WriteFailed { line, purpose });
    }

    /// Advances to the next deadline.
    fn step(&mut self) -> Duration {
        self.now = self.machine.poll_timeout().expect("a deadline");
        self.input(Input::Timeout);
        self.now
    }

    fn states(&self, uuid: &str) -> Vec<ReceiptState> {
        self.receipts
            .iter()
            .filter(|(id, _)| id == uuid)
            .map(|(_, state)| *state)
            .collect()
    }

    fn json(&mut self) -> serde_json::Value {
        serde_json::from_str(&self.machine.transcript().to_json()).expect("JSON")
    }

    fn errors(&mut self) -> Vec<String> {
        let json = self.json();
        let entries = json["entries"].as_array().expect("entries").iter();
        let errors = entries.filter(|entry| entry["kind"] == "error");
        errors
            .map(|it| {
                let text = |name: &str| it[name].as_str().unwrap_or_default();
                format!("{}: {}", text("error"), text("text"))
            })
            .collect()
    }
}

/// A host of a session that a daemon drives, and what feeds it a line of the control stream.
fn follower() -> (Fixture, impl FnMut(&mut Fixture, &str, ControlEntry)) {
    let mut machine = Machine::silent(DialectName::Claude, Opening::default(), LIMITS, 0);
    machine.follow_driver("page", "p", 0);
    let mut offset = 0;
    let control = move |follower: &mut Fixture, id: &str, entry| {
        let id = id.to_owned();
        let client = None;
        let line = ControlLine { id, client, entry };
        let bytes: Bytes = format!("{}\n", line.encode().expect("a line")).into();
        let from = offset;
        offset += bytes.len() as u64;
        follower.input(Input::Control(bowline_transport::Piece::Bytes {
            offset: from,
            bytes,
        }));
    };
    (Fixture::of(machine), control)
}

#[test]
fn receipt_follows_prompt() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    assert!(fixture.lines[0].contains(r#""uuid":"u1""#));
    fixture.input(Input::Written("u1".into()));
    fixture
        .agent(r#"{"type":"command_lifecycle","command_uuid":"u1","state":"queued","uuid":"a"}"#);
    fixture
        .agent(r#"{"type":"command_lifecycle","command_uuid":"u1","state":"started","uuid":"b"}"#);
    fixture.agent(r#"{"type":"user","message":{"role":"user","content":"hello"},"isReplay":true,"uuid":"u1"}"#);
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    use ReceiptState::{Accepted, Answered, Started, Written};
    assert_eq!(fixture.states("u1"), [Accepted, Written, Started, Answered]);
}

/// The session continues: at a runner, another host may have taken over for a while.
#[test]
fn undelivered_prompt_is_unknown() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u2");
    fixture.fail_write(LinePurpose::Prompt("u1".into()));
    fixture.fail_write(LinePurpose::Other);
    use ReceiptState::{Accepted, Unknown};
    assert_eq!(fixture.states("u1"), [Accepted, Unknown]);
    assert_eq!(fixture.states("u2"), [Accepted]);
    // A later result does not change a final state.
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    assert_eq!(fixture.states("u1"), [Accepted, Unknown]);
}

#[test]
fn prompts_of_one_turn_are_merged() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u2");
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u2","user_message_uuids":["u1","u2"],"uuid":"c"}"#);
    assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Merged));
    assert_eq!(fixture.states("u2").last(), Some(&ReceiptState::Answered));
}

#[test]
fn result_of_unasked_turn_answers_no_prompt() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.agent(
        r#"{"type":"result","subtype":"success","origin":{"kind":"task-notification"},"uuid":"c"}"#,
    );
    assert_eq!(fixture.states("u1"), [ReceiptState::Accepted]);
}

#[test]
fn result_without_prompts_answers_oldest() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u2");
    for (uuid, result) in [("u1", "a"), ("u2", "b")] {
        fixture.agent(&format!(
            r#"{{"type":"result","subtype":"success","uuid":"{result}"}}"#
        ));
        assert_eq!(fixture.states(uuid).last(), Some(&ReceiptState::Answered));
    }
}

#[test]
fn duplicate_uuid_is_refused() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.send("u1");
    let (_, second) = fixture.replies.last().expect("a reply");
    assert_eq!(
        second,
        &Err(DialogueError::DuplicateUuid { uuid: "u1".into() })
    );
    assert_eq!(fixture.lines.len(), 1);
}

const ASK: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","tool_use_id":"t1","input":{"command":"ls"}}}"#;

fn answer(fixture: &mut Fixture, decision: Decision) -> Result<Reply, DialogueError> {
    let command = Command::AnswerPermission {
        request_id: "r1".into(),
        answer: decision.into(),
        by: None,
        how: None,
    };
    fixture.input(Input::Command(command, 9));
    fixture.replies.pop().expect("a reply").1
}

#[test]
fn first_permission_answer_wins() {
    let mut fixture = Fixture::new(LIMITS);
    assert!(matches!(
        answer(&mut fixture, Decision::allow()),
        Err(DialogueError::NoSuchRequest { .. })
    ));
    fixture.agent(ASK);
    assert_eq!(fixture.json()["status"]["phase"], "awaiting_permission");
    assert_eq!(answer(&mut fixture, Decision::allow()), Ok(Reply::Done));
    assert!(
        fixture.lines[0].contains(r#""updatedInput":{"command":"ls"}"#),
        "{}",
        fixture.lines[0]
    );
    assert!(matches!(
        answer(&mut fixture, Decision::deny("no")),
        Err(DialogueError::TooLate { .. })
    ));
    assert_eq!(fixture.lines.len(), 1);
}

#[test]
fn closed_permission_accepts_no_answer() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    fixture.agent(r#"{"type":"control_cancel_request","request_id":"r1"}"#);
    assert!(matches!(
        answer(&mut fixture, Decision::allow()),
        Err(DialogueError::TooLate { .. })
    ));
    fixture.agent(&ASK.replace("r1", "r2"));
    fixture.exit(0);
    assert_eq!(fixture.json()["permissions"][1]["state"], "orphaned");
    assert_eq!(
        answer(&mut fixture, Decision::allow()),
        Err(DialogueError::Ended)
    );
}

#[test]
fn malformed_answer_leaves_request_open() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(ASK);
    for bad in ["{", "[]", "7"] {
        let decision = Decision::Allow {
            updated_input: Some(bad.into()),
            updated_permissions: None,
        };
        assert!(
            matches!(
                answer(&mut fixture, decision),
                Err(DialogueError::NotJson { .. })
            ),
            "{bad}"
        );
    }
    let spread = "{\n  \"command\": \"pwd\"\n}".to_owned();
    let decision = Decision::Allow {
        updated_input: Some(spread),
        updated_permissions: None,
    };
    assert_eq!(answer(&mut fixture, decision), Ok(Reply::Done));
    assert_eq!(fixture.lines[0].matches('\n').count(), 1);
    assert!(fixture.lines[0].contains(r#""updatedInput":{"command":"pwd"}"#));
}

#[test]
fn unsupported_agent_requests_are_refused() {
    let mut fixture = Fixture::new(LIMITS);
    for (request, wanted) in [
        (
            r#"{"subtype":"mcp_message","server_name":"x"}"#,
            "no MCP server x",
        ),
        (r#"{"subtype":"something_new"}"#, "unsupported_request"),
        (
            r#"{"subtype":"hook_callback","callback_id":"h"}"#,
            r#""response":{}"#,
        ),
    ] {
        fixture.agent(&format!(
            r#"{{"type":"control_request","request_id":"q","request":{request}}}"#
        ));
        let line = fixture.lines.pop().expect("an answer");
        assert!(
            line.contains(wanted) && line.contains(r#""request_id":"q""#),
            "{line}"
        );
    }
    fixture.agent(r#"{"type":"control_request","request_id":"q","request":{"subtype":"request_user_dialog"}}"#);
    assert_eq!(fixture.lines, Vec::<String>::new());
}

fn request(fixture: &mut Fixture, ticket: Ticket) {
    let request = HostRequest::SetModel { model: None };
    fixture.input(Input::Command(Command::Request(request), ticket));
}

#[test]
fn requests_complete_fail_or_time_out() {
    let mut fixture = Fixture::new(LIMITS);
    for ticket in 1..=4 {
        request(&mut fixture, ticket);
    }
    // Out of order, and mixed with an echo of the host's own answer.
    fixture
        .agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}"#);
    fixture.agent(r#"{"type":"control_response","response":{"subtype":"error","request_id":"bowline-2","error":"no","error_code":"c"}}"#);
    fixture.agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"bowline-1","response":{"model":"m"}}}"#);
    assert_eq!(
        fixture.replies[1],
        (1, Ok(Reply::Response(r#"{"model":"m"}"#.into())))
    );
    assert!(
        matches!(&fixture.replies[0], (2, Err(DialogueError::Refused { code: Some(c), .. })) if c == "c")
    );
    assert_eq!(fixture.step(), LIMITS.control_timeout);
    assert!(matches!(
        fixture.replies[2],
        (3, Err(DialogueError::NoAnswer { seconds: 60, .. }))
    ));
    assert_eq!(fixture.replies.len(), 4);
    request(&mut fixture, 5);
    fixture.exit(0);
    assert_eq!(fixture.replies[4], (5, Err(DialogueError::Ended)));
    assert_eq!(fixture.machine.poll_timeout(), None);
}

#[test]
fn unexpected_exit_is_in_transcript() {
    for code in [0, 1] {
        let mut fixture = Fixture::new(LIMITS);
        fixture.send("u1");
        fixture.input(Input::Stderr("warning\nout of cheese\n".into()));
        fixture.agent(r#"{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]},"uuid":"a"}"#);
        fixture.exit(code);
        assert_eq!(
            fixture.errors(),
            [format!(
                "unexpected_exit: the process ended unexpectedly: exit code {code}: out of cheese"
            )]
        );
        assert_eq!(fixture.json()["tool_calls"]["t"]["state"], "lost");
        assert_eq!(fixture.states("u1").last(), Some(&ReceiptState::Unknown));
        assert!(fixture.is_finished);
        assert!(!fixture.machine.end_summary().0);
    }
}

#[test]
fn end_waits_for_open_turn() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    assert_eq!(fixture.lines.len(), 1, "the prompt is not answered yet");
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","uuid":"c"}"#);
    assert!(fixture.lines[1].contains("end_session"));
    fixture.exit(0);
    assert_eq!(fixture.errors(), Vec::<String>::new());
    assert_eq!(fixture.machine.end_summary(), (true, "exit code 0".into()));
}

#[test]
fn exit_during_awaited_turn_is_unexpected() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    fixture.exit(3);
    assert_eq!(fixture.errors().len(), 1);
    assert!(!fixture.machine.end_summary().0);
}

#[test]
fn terminated_session_accepts_no_prompt() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(Command::Terminate, 1));
    fixture.send("u1");
    assert_eq!(
        fixture.replies.last().map(|it| &it.1),
        Some(&Err(DialogueError::Ended))
    );
    assert_eq!(fixture.lines, Vec::<String>::new());
}

#[test]
fn refused_end_request_closes_input() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(Command::End, 2));
    fixture.agent(r#"{"type":"control_response","response":{"subtype":"error","request_id":"bowline-1","error":"unsupported"}}"#);
    assert!(fixture.closed_input);
}

#[test]
fn unanswered_end_request_closes_input() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Command(Command::End, 2));
    assert!(!fixture.closed_input);
    assert_eq!(fixture.step(), Duration::from_secs(2));
    assert!(fixture.closed_input);
    assert_eq!(fixture.terminations, 0);
}

#[test]
fn slow_end_becomes_termination() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    assert_eq!(fixture.step(), LIMITS.end_grace);
    assert_eq!(fixture.terminations, 1);
    fixture.exit(143);
    assert_eq!(fixture.errors(), Vec::<String>::new());
}

const SHORT: Limits = Limits {
    exit: ExitPolicy::SHORT,
    ..LIMITS
};

/// The agent answers that it will exit, or does not answer; it ignores the end of its input and SIGTERM.
#[test]
fn finished_agent_that_does_not_exit_is_killed_within_five_seconds() {
    for answers in [false, true] {
        let mut fixture = Fixture::new(SHORT);
        fixture.input(Input::Command(Command::End, 2));
        if answers {
            fixture.agent(r#"{"type":"control_response","response":{"subtype":"success","request_id":"bowline-1","response":{}}}"#);
        } else {
            assert_eq!(fixture.step(), Duration::from_secs(1));
        }
        assert_eq!((fixture.closed_input, fixture.terminations), (!answers, 0));
        let terminated = fixture.step();
        let policy = fixture.termination.expect("a termination");
        let graces = policy.eof_grace + policy.interrupt.unwrap_or_default() + policy.term_grace;
        assert_eq!(
            (terminated, graces),
            (Duration::from_secs(3), Duration::from_secs(1))
        );
        fixture.exit(137);
        assert!(fixture.machine.end_summary().0, "the end is expected");
        assert_eq!(fixture.errors(), Vec::<String>::new());
    }
}

#[test]
fn exit_policy_begins_after_the_turn() {
    let mut fixture = Fixture::new(SHORT);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    fixture.now = Duration::from_secs(20);
    fixture.agent(r#"{"type":"result","subtype":"success","user_message_uuid":"u1","user_message_uuids":["u1"],"uuid":"c"}"#);
    assert_eq!(fixture.step(), Duration::from_secs(21));
    assert!(fixture.closed_input);
    assert_eq!(fixture.step(), Duration::from_secs(23));
    assert_eq!(fixture.terminations, 1);
}

#[test]
fn turn_that_is_cut_off_is_terminated_by_the_whole_policy() {
    let mut fixture = Fixture::new(SHORT);
    fixture.send("u1");
    fixture.input(Input::Command(Command::End, 2));
    assert_eq!(fixture.step(), LIMITS.end_grace);
    assert_eq!(fixture.termination, Some(TERMINATION));
}

#[test]
fn terminate_is_idempotent_and_expected() {
    let mut fixture = Fixture::new(LIMITS);
    for ticket in 1..=3 {
        fixture.input(Input::Command(Command::Terminate, ticket));
    }
    assert_eq!(fixture.terminations, 1);
    fixture.exit(1);
    fixture.exit(1);
    fixture.input(Input::Command(Command::Terminate, 4));
    assert_eq!(fixture.replies.len(), 4);
    assert!(fixture.machine.end_summary().0);
    assert_eq!(fixture.errors(), Vec::<String>::new());
}

#[test]
fn agent_without_output_is_terminated() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::OutputEnded);
    assert_eq!(Some(fixture.step()), LIMITS.watchdog.limits.draining);
    assert_eq!(fixture.terminations, 1);
    fixture.exit(143);
    let wanted = "unexpected_exit: the process ended unexpectedly: exit code 143 after it had \
                  closed its output and did not exit";
    assert_eq!(fixture.errors(), [wanted]);
}

#[test]
fn missing_initialize_response_is_reported() {
    let mut fixture = Fixture::new(Limits {
        initialize: true,
        ..LIMITS
    });
    assert!(fixture.lines[0].contains("initialize"));
    fixture.step();
    let wanted = "session_timeout: the agent did not answer `initialize` within 60 s";
    assert_eq!(fixture.errors(), [wanted]);
    assert_eq!(fixture.terminations, 0, "it may just be slow");
}

#[test]
fn cut_lines_and_gaps_are_in_transcript() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Output("{\"type\":\"assis".into()));
    fixture.input(Input::OutputGap { from: 14, to: 60 });
    fixture.agent("tant\"}");
    fixture.input(Input::Output("{\"type\":\"us".into()));
    fixture.input(Input::Command(Command::Terminate, 1));
    fixture.exit(143);
    let errors = fixture.errors();
    let kinds: Vec<_> = errors
        .iter()
        .filter_map(|it| it.split(':').next())
        .collect();
    assert_eq!(
        kinds,
        ["truncated", "gap", "parse", "truncated"],
        "{errors:?}"
    );
    assert_eq!(fixture.json()["stats"]["truncated"], true);
}

#[test]
fn refused_option_is_reason_of_end() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Stderr(
        "error: unknown option '--effort=high'\n".into(),
    ));
    fixture.exit(1);
    let option = fixture.machine.unknown_option().expect("a refused option");
    assert_eq!(option.option, "--effort");
    let wanted = "exit code 1: the agent does not know --effort; update it to 2.1.100 or later, \
                  or omit the option";
    assert_eq!(fixture.machine.end_summary(), (false, wanted.to_owned()));
}

/// Standard error is part of a terminal's output, where other text may come before.
#[test]
fn refused_option_is_found_in_output_of_terminal() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.input(Input::Output(
        "warning: low disk\r\nerror: unknown option '--eff".into(),
    ));
    fixture.input(Input::Output("ort=high'\r\n(Did you mean --x?)\r\n".into()));
    fixture.exit(1);
    let option = fixture.machine.unknown_option().expect("a refused option");
    assert_eq!(option.option, "--effort");
    let (is_expected, reason) = fixture.machine.end_summary();
    assert!(
        !is_expected && reason.ends_with(&option.to_string()),
        "{reason}"
    );
}

#[test]
fn tool_output_on_terminal_is_no_refused_option() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(r#"{"type":"system","subtype":"init","uuid":"a"}"#);
    fixture.agent("error: unknown option '--effort'");
    fixture.exit(1);
    assert_eq!(fixture.machine.unknown_option(), None);
}

#[test]
fn agent_with_output_has_refused_no_option() {
    let mut fixture = Fixture::new(LIMITS);
    fixture.agent(r#"{"type":"system","subtype":"init","uuid":"a"}"#);
    fixture.input(Input::Stderr("error: unknown option '--effort'\n".into()));
    fixture.exit(1);
    assert_eq!(fixture.machine.unknown_option(), None);
}
