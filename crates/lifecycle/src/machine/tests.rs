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
mod ending;
mod events;
mod exhaustive;
mod permissions;
mod policy;
mod prompts;
mod property;
mod queue;
mod receipts;
mod refused_option;
mod replay;
mod requests;
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

fn request(fixture: &mut Fixture, ticket: Ticket) {
    let request = HostRequest::SetModel { model: None };
    fixture.input(Input::Command(Command::Request(request), ticket));
}
