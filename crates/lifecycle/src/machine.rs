//! The session as a pure state machine: inputs in, outputs out, without clock, task or I/O.
//!
//! Each input changes the state once; then the driver drains the outputs and carries them out: it
//! writes lines, waits for the deadline and terminates the process. Time is an argument of each
//! input, as the time since the session began.

mod budget;
mod commands;
mod ending;
mod events;
mod follower;
mod history;
mod host_input;
mod input;
mod output;
mod own_lines;
mod permissions;
mod policy;
mod prompt_queue;
mod prompts;
mod protocol;
mod queue;
mod receipts;
#[cfg_attr(
    not(any(test, feature = "remote")),
    expect(dead_code, reason = "sessions at a runner")
)]
mod recovery;
mod replay;
mod requests;
mod signals;
mod usage_limit;
mod watchdog;

use std::collections::VecDeque;
use std::time::Duration;

use bowline_jsonl::Framer;
use bowline_reducer::dialect::DialectName;
use bowline_reducer::{HostEvent, Meta, Transcript};
use bowline_transport::ReconnectFailed;
use bowline_transport::journal::InputLines;
use bytes::Bytes;

pub(crate) use input::{Command, EndStage, Input, Limits, LinePurpose, Output, Reply, Ticket};
pub use receipts::ReceiptState;

use self::budget::BudgetState;
use self::follower::Follower;
use self::own_lines::LineEffects;
#[cfg(any(test, feature = "remote"))]
pub(crate) use self::policy::DecisionPath;
use self::policy::PolicyState;
use self::prompt_queue::PromptQueue;
pub(crate) use self::protocol::Opening;
use self::protocol::{Protocol, Signal};
use self::queue::QueueState;
use self::receipts::{ReceiptUpdate, Receipts};
use self::recovery::Recovery;
use self::replay::Replay;
use self::requests::Requests;
use self::usage_limit::UsageLimitState;
use crate::agent::{Capabilities, UnknownOption};
use crate::error::{DialogueError, HandshakeError};
use crate::events::{DialogueEventKind, FoldEvents};
use crate::permission::PermissionStore;
use crate::stderr::{HeadTail, StderrLines, StderrReport};
use crate::watchdog::Watchdog;

/// One dialogue session.
#[derive(Debug)]
pub(crate) struct Machine {
    limits: Limits,
    framer: Framer,
    transcript: Transcript,
    protocol: Box<dyn Protocol>,
    /// What the protocol has signalled and is not carried out.
    signals: Vec<Signal>,
    receipts: Receipts,
    requests: Requests,
    permissions: PermissionStore,
    policy: PolicyState,
    budget: BudgetState,
    usage_limit: UsageLimitState,
    prompts: PromptQueue,
    queue: QueueState,
    watchdog: Watchdog,
    /// Whether the agent's machine cannot be reached now.
    is_link_down: bool,
    /// When the connection was lost, while it is being restored.
    reconnecting_since: Option<Duration>,
    /// Why the connection was given up, if it was.
    connection_failure: Option<ReconnectFailed>,
    /// The agent's earlier output, while it is being folded.
    replay: Option<Replay>,
    /// The log of a session that is continued, while it is being folded.
    recovery: Option<Recovery>,
    /// What this host sends the driver of the session, if it is not this machine.
    follower: Option<Box<Follower>>,
    /// Lines of the input that the runner reports.
    input_lines: InputLines,
    /// What lines of this host lead to that are not folded.
    effects: LineEffects,
    /// Whether the runner reports what was written to the agent, and the end offset of the input that is
    /// part of the history.
    reported_input: Option<u64>,
    /// When what is being handled arrived, in milliseconds since 1970, if the runner has reported it.
    arrived_ms: Option<u64>,
    /// Why the watchdog terminated the agent, if it did.
    timeout_reason: Option<String>,
    stderr: HeadTail,
    stderr_lines: StderrLines,
    /// Whether there are subscribers.
    emits_events: bool,
    fold_events: FoldEvents,
    /// How far a requested end has come.
    end_stage: Option<EndStage>,
    /// When the input of an agent that was asked to exit and has not answered is closed.
    close_input_at: Option<Duration>,
    /// When an agent that was asked to exit is terminated.
    terminate_at: Option<Duration>,
    /// When an agent that closed its output is terminated.
    drain_until: Option<Duration>,
    output_is_closed: bool,
    /// Whether the agent has named its version, or begun a turn without doing so.
    is_version_known: bool,
    ended: bool,
    /// Whether the host requested the end and no turn was cut off by it.
    is_expected: bool,
    end_reason: String,
    /// Whether the agent has written a line of its protocol.
    has_event: bool,
    /// The option because of which the agent exited at once, or seems about to.
    unknown_option: Option<UnknownOption>,
    /// How the handshake ended, once it has.
    handshake: Option<Result<(), HandshakeError>>,
    outputs: VecDeque<Output>,
    now: Duration,
    /// End offset of the output so far.
    output_end: u64,
    /// Offset of the line that is being handled.
    line_at: u64,
    /// Offset of the line that ended the last turn.
    turn_ended_at: Option<u64>,
    /// Wall clock at the beginning, in milliseconds since 1970, for the times in the transcript.
    epoch_ms: u64,
}

impl Machine {
    /// Creates the machine of Claude Code.
    #[cfg(test)]
    pub(crate) fn new(limits: Limits, epoch_ms: u64) -> Self {
        let opening = Opening::default();
        Self::speaking(DialectName::Claude, opening, limits, epoch_ms)
    }

    /// Creates the machine of an agent that speaks a dialect, and begins the handshake.
    #[cfg(test)]
    pub(crate) fn speaking(
        dialect: DialectName,
        opening: Opening,
        limits: Limits,
        epoch_ms: u64,
    ) -> Self {
        let is_resumed = opening.is_resumed;
        let mut machine = Self::silent(dialect, opening, limits, epoch_ms);
        if !is_resumed {
            machine.begin();
        }
        machine
    }

    /// Creates the machine of a session whose log is folded first.
    #[cfg(any(test, feature = "remote"))]
    pub(crate) fn recovering(dialect: DialectName, opening: Opening, limits: Limits) -> Self {
        let mut machine = Self::silent(dialect, opening, limits, 0);
        machine.recovery = Some(Recovery::default());
        machine.begin();
        machine
    }

    /// Creates a machine that has written nothing. An agent that was just started needs
    /// [`begin`](Self::begin).
    pub(crate) fn silent(
        dialect: DialectName,
        opening: Opening,
        limits: Limits,
        epoch_ms: u64,
    ) -> Self {
        let protocol = protocol::of(dialect, opening);
        let has_handshake = protocol.folds_input();
        let mut machine = Self {
            framer: Framer::new(limits.max_line),
            transcript: match limits.window {
                Some(window) => Transcript::with_dialect_and_window(dialect, window),
                None => Transcript::with_dialect(dialect),
            },
            handshake: (!has_handshake).then_some(Ok(())),
            protocol,
            signals: Vec::new(),
            receipts: Receipts::default(),
            requests: Requests::default(),
            permissions: PermissionStore::default(),
            policy: PolicyState::default(),
            budget: BudgetState::default(),
            usage_limit: UsageLimitState::default(),
            prompts: PromptQueue::default(),
            queue: QueueState::default(),
            watchdog: Watchdog::new(limits.watchdog),
            is_link_down: false,
            reconnecting_since: None,
            connection_failure: None,
            replay: None,
            recovery: None,
            follower: None,
            input_lines: InputLines::default(),
            effects: LineEffects::default(),
            reported_input: None,
            arrived_ms: None,
            timeout_reason: None,
            stderr: HeadTail::new(limits.stderr_bytes),
            stderr_lines: StderrLines::default(),
            emits_events: false,
            fold_events: FoldEvents::default(),
            end_stage: None,
            close_input_at: None,
            terminate_at: None,
            drain_until: None,
            output_is_closed: false,
            is_version_known: false,
            ended: false,
            is_expected: false,
            end_reason: String::new(),
            has_event: false,
            unknown_option: None,
            outputs: VecDeque::new(),
            now: Duration::ZERO,
            output_end: 0,
            line_at: 0,
            turn_ended_at: None,
            epoch_ms,
            limits,
        };
        machine.update_watchdog();
        machine
    }

    /// Begins the handshake with a new agent, before the first input.
    pub(crate) fn begin(&mut self) {
        if self.limits.initialize || self.protocol.folds_input() {
            self.speak(|protocol, link| protocol.begin(link));
        }
        self.update_watchdog();
    }

    /// Handles one input that arrived at the runner at a time, in milliseconds since 1970. Unknown, it is
    /// that of this host.
    pub(crate) fn handle_arrived(&mut self, input: Input, now: Duration, at_ms: Option<u64>) {
        self.arrived_ms = at_ms;
        self.handle_input(input, now);
        self.arrived_ms = None;
    }

    /// Returns the offset past the output that was folded.
    pub(crate) const fn output_end(&self) -> u64 {
        self.output_end
    }

    /// Returns the number of bytes of the line of output that is not complete.
    pub(crate) fn open_line(&self) -> u64 {
        self.output_end.saturating_sub(self.framer.resume_offset())
    }

    /// Handles one input. The caller drains the outputs before the next one.
    pub(crate) fn handle_input(&mut self, input: Input, now: Duration) {
        self.now = now;
        match input {
            Input::Output(bytes) => self.output(bytes),
            Input::OutputGap { from, to } => self.gap(from, to),
            Input::HostLines(bytes) => self.host_input(&bytes),
            Input::HostGap { to } => self.host_input_gap(to),
            Input::Control(piece) => self.control(&piece),
            Input::OutputEnded => self.output_ended(),
            Input::Stderr(bytes) => self.stderr_bytes(&bytes),
            Input::StderrGap(bytes) => self.stderr.skip(bytes),
            Input::Written(uuid) => {
                let update = self.receipts.advance(&uuid, ReceiptState::Written);
                self.receipt_updates(update);
            }
            Input::WriteFailed { line, purpose } => self.write_failed(line, &purpose),
            Input::Exited(exit) => self.exited(&exit),
            Input::PathsResolved {
                request_id,
                resolved,
            } => self.paths_resolved(&request_id, resolved),
            Input::Usage(usage) => self.usage(usage),
            Input::Connection(state) => self.connection(state),
            Input::SharedBudget(state) => self.shared_budget(&state),
            Input::Command(command, ticket) => self.command(command, ticket),
            Input::Timeout => self.timeout(),
        }
        self.settle();
        self.update_watchdog();
    }

    /// Returns the next effect to carry out.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns when [`Input::Timeout`] is due.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        let of_agent = if self.ended {
            [None; 7]
        } else {
            [
                self.close_input_at,
                self.terminate_at,
                self.drain_until,
                self.watchdog.deadline(),
                self.permission_deadline(),
                self.budget_deadline(),
                self.usage_limit_deadline(),
            ]
        };
        let intents = self.follower.as_ref().and_then(|it| it.deadline());
        let of_requests = self.requests.deadline().into_iter().chain(intents).min();
        let of_requests = of_requests.filter(|_| self.reconnecting_since.is_none());
        of_agent.into_iter().chain([of_requests]).flatten().min()
    }

    pub(crate) const fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    pub(crate) const fn transcript_mut(&mut self) -> &mut Transcript {
        &mut self.transcript
    }

    /// Returns how the handshake with the agent ended, once it has.
    pub(crate) fn handshake(&self) -> Option<Result<(), HandshakeError>> {
        self.handshake.clone()
    }

    /// Returns what the session can do.
    pub(crate) fn capabilities(&self) -> Capabilities {
        self.protocol.capabilities()
    }

    /// Returns whether the end was expected, and a description of it.
    pub(crate) fn end_summary(&self) -> (bool, String) {
        (self.is_expected, self.end_reason.clone())
    }

    pub(crate) fn unknown_option(&self) -> Option<UnknownOption> {
        self.unknown_option.clone()
    }

    pub(crate) fn stderr(&self) -> StderrReport {
        self.stderr.report()
    }

    fn meta(&self) -> Meta {
        let since = u64::try_from(self.now.as_millis()).unwrap_or(u64::MAX);
        Meta {
            at_ms: self.arrived_ms.unwrap_or(self.epoch_ms + since),
        }
    }

    /// Folds an event of the host into the transcript.
    fn host(&mut self, event: HostEvent<'_>) {
        let meta = self.meta();
        self.transcript.apply_host(event, meta);
    }

    fn write(&mut self, line: impl Into<Bytes>, purpose: LinePurpose) {
        let line = line.into();
        if self.follower.is_some() {
            // The driver of the session writes it.
            return;
        }
        if let Some(recovery) = &mut self.recovery {
            return recovery.keep(line, purpose);
        }
        self.fold_own_line(&line, &purpose);
        self.outputs.push_back(Output::Write { line, purpose });
    }

    /// Handles a line that was not written completely. It may have arrived all the same, and the
    /// session may continue.
    fn write_failed(&mut self, line: Bytes, purpose: &LinePurpose) {
        self.fold_unreported(&line);
        match purpose {
            LinePurpose::Prompt(uuid) => self.prompt_undelivered(uuid),
            LinePurpose::PermissionAnswer(id) => {
                self.permissions.keep_undelivered(id, line);
                self.policy_answer_undelivered(id);
            }
            LinePurpose::Denial(id) => self.denial_undelivered(id),
            LinePurpose::Intent(id) => self.intent_lost(id),
            LinePurpose::Request(_) | LinePurpose::Other => {}
        }
    }

    fn reply(&mut self, ticket: Ticket, reply: Result<Reply, DialogueError>) {
        self.outputs.push_back(Output::Reply { ticket, reply });
    }

    fn receipt_updates(&mut self, updates: impl IntoIterator<Item = ReceiptUpdate>) {
        for (uuid, state) in updates {
            self.outputs.push_back(Output::Receipt {
                uuid: uuid.clone(),
                state,
            });
            self.emit(DialogueEventKind::Receipt { uuid, state });
        }
    }
}

#[cfg(test)]
mod tests;
