//! Delivers the outputs of the state machine to the session's handles.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::connection::{ConnectionState, ReconnectFailed, ReconnectFailure};
use crate::connection_states::StateHistory;
use crate::remote::machine::{Output, Ticket, WriteFailure};
use crate::remote::terminal::{Done, Logs, SessionUpdates};
use crate::screen::Screen;
use bowline_process::Containment;
use bowline_process::ReservedBytes;
use bowline_process::TerminationReport;
use bowline_process::WriteError;
use bowline_process::{Drained, Exit, ExitStatus};
use bowline_wire::{Attached, ExitNotice, InputRefusal, KillReport, PromptStatus, StreamId};

/// Resolves to the result of the first attach.
pub(in crate::remote) type Joined = oneshot::Receiver<Result<Attached, ReconnectFailed>>;

pub(in crate::remote) struct Notifications {
    joined: Option<oneshot::Sender<Result<Attached, ReconnectFailed>>>,
    attached: Option<Attached>,
    exit: watch::Sender<Option<Exit>>,
    report: watch::Sender<Option<TerminationReport>>,
    state: watch::Sender<ConnectionState>,
    states: watch::Sender<StateHistory>,
    screen: watch::Sender<Option<Screen>>,
    writes: HashMap<Ticket, (Option<ReservedBytes>, Done)>,
    prompts: HashMap<Ticket, oneshot::Sender<PromptStatus>>,
    last_ticket: Ticket,
    /// A kill report whose exit has not arrived yet.
    killed: Option<(Option<KillReport>, Duration)>,
}

impl Notifications {
    pub(in crate::remote) fn new() -> (Self, SessionUpdates, Joined) {
        let (joined, is_joined) = oneshot::channel();
        let (exit, exit_updates) = watch::channel(None);
        let (report, report_updates) = watch::channel(None);
        let (state, state_updates) = watch::channel(ConnectionState::Connected);
        let (states, all_states) = watch::channel(StateHistory::default());
        let (screen, screen_updates) = watch::channel(None);
        let notifications = Self {
            joined: Some(joined),
            attached: None,
            exit,
            report,
            state,
            states,
            screen,
            writes: HashMap::new(),
            prompts: HashMap::new(),
            last_ticket: 0,
            killed: None,
        };
        let updates = SessionUpdates {
            exit: exit_updates,
            report: report_updates,
            state: state_updates,
            states: all_states,
            screen: screen_updates,
        };
        (notifications, updates, is_joined)
    }

    /// Registers a pending write and returns its ticket.
    pub(super) fn ticket(&mut self, reserved: Option<ReservedBytes>, done: Done) -> Ticket {
        self.last_ticket += 1;
        self.writes.insert(self.last_ticket, (reserved, done));
        self.last_ticket
    }

    /// Registers a pending prompt and returns its ticket.
    pub(super) fn prompt_ticket(&mut self, answer: oneshot::Sender<PromptStatus>) -> Ticket {
        self.last_ticket += 1;
        self.prompts.insert(self.last_ticket, answer);
        self.last_ticket
    }

    pub(super) fn handle(&mut self, output: Output, logs: &Logs) {
        match output {
            Output::Attached(attached) => self.attached(*attached, logs),
            Output::Begin(stream, offset) => logs.of(stream).begin_at(offset),
            Output::Gap { stream, to, .. } => logs.of(stream).skip_to(to),
            Output::Screen(screen) => drop(self.screen.send_replace(Some(screen))),
            Output::End(stream) => logs.of(stream).close(),
            Output::Written(ticket, outcome) => self.written(ticket, outcome),
            // A requested termination does not wait for slow readers.
            Output::Hurry => logs.drop_oldest(),
            Output::Prompted(ticket, status) => {
                let answer = self.prompts.remove(&ticket);
                // The caller may have stopped waiting.
                let _ = answer.map(|answer| answer.send(status));
            }
            Output::State(state) => self.state(state),
            Output::Exited(notice) => self.exited(notice.as_ref(), logs),
            Output::Killed(report, took) => {
                self.killed = Some((report, took));
                self.report();
            }
            _ => {}
        }
    }

    fn attached(&mut self, attached: Attached, logs: &Logs) {
        if !attached.streams.contains_key(&StreamId::STDERR) {
            logs.errors.close();
        }
        if !attached.streams.contains_key(&StreamId::INPUT) {
            logs.end_input();
        }
        if !attached.streams.contains_key(&StreamId::CONTROL) {
            logs.end_control();
        }
        self.attached = Some(attached);
    }

    fn written(&mut self, ticket: Ticket, outcome: Result<(), WriteFailure>) {
        if let Some((reserved, done)) = self.writes.remove(&ticket) {
            drop(reserved);
            // The caller may have stopped waiting.
            let _ = done.send(outcome.map_err(why));
        }
    }

    fn state(&mut self, state: ConnectionState) {
        if let Some(joined) = self.joined.take() {
            let attached = self.attached.clone();
            let answer = match (&state, attached) {
                (ConnectionState::Failed(failed), _) => Err(failed.clone()),
                (_, Some(attached)) => Ok(attached),
                (_, None) => return self.joined = Some(joined),
            };
            // The caller may have stopped waiting.
            let _ = joined.send(answer);
        }
        self.states.send_modify(|states| states.push(state.clone()));
        self.state.send_replace(state);
    }

    fn exited(&mut self, notice: Option<&ExitNotice>, logs: &Logs) {
        let exit = Exit {
            status: notice.map_or(ExitStatus::Unknown, |it| it.status),
            oom: notice.is_some_and(|it| it.oom),
            drained: notice.map_or(Drained::Timeout, |it| it.drained),
            output_end: logs.output.end(),
            errors_end: logs.errors.end(),
        };
        self.exit.send_replace(Some(exit));
        self.report();
    }

    /// Publishes the termination report once both the kill report and the exit are known.
    fn report(&mut self) {
        let exit = *self.exit.borrow();
        if let Some((exit, (report, took))) = exit.zip(self.killed.take_if(|_| exit.is_some())) {
            let facts = self.attached.as_ref().map(|attached| &attached.info);
            let pid = facts.and_then(|facts| facts.pid);
            let level = facts.map_or(Containment::Group, |facts| facts.containment);
            let known = report.is_some() || exit.status != ExitStatus::Unknown;
            let report = report.unwrap_or_else(|| KillReport {
                killed: Vec::new(),
                // Without any information, the child is assumed to be alive.
                survivors: if known {
                    Vec::new()
                } else {
                    pid.into_iter().collect()
                },
                level,
                took,
            });
            let mut outcome = TerminationReport::untouched(report.level, exit);
            outcome.killed = report.killed;
            outcome.survivors = report.survivors;
            outcome.took = took;
            self.report.send_replace(Some(outcome));
        }
    }

    /// Reports that the task has ended without a result: the link has failed, and the exit of the child
    /// is unknown.
    pub(super) fn abandon(&mut self, logs: &Logs) {
        let failed = ReconnectFailed {
            failure: ReconnectFailure::Lost,
            detail: "the task of the connection has ended; attach to the session again".to_owned(),
        };
        self.state(ConnectionState::Failed(failed));
        if self.exit.borrow().is_none() {
            self.exited(None, logs);
        }
        self.finish(logs);
    }

    /// Closes the logs and fails pending writes, as for a child that has ended.
    pub(super) fn finish(&mut self, logs: &Logs) {
        logs.close();
        self.writes.clear();
        self.prompts.clear();
        if self.exit.borrow().is_some() && self.report.borrow().is_none() {
            self.killed.get_or_insert((None, Duration::ZERO));
            self.report();
        }
    }
}

/// Converts the reason into the error that a local session returns.
fn why(unwritten: WriteFailure) -> WriteError {
    match unwritten {
        WriteFailure::Unconfirmed => WriteError::Unconfirmed,
        WriteFailure::Refused(InputRefusal::Ended) => WriteError::Ended,
        WriteFailure::Refused(InputRefusal::Closed) => WriteError::Closed,
        WriteFailure::Refused(InputRefusal::LineTooLong { length, limit }) => {
            WriteError::LineTooLong { length, limit }
        }
        WriteFailure::Refused(InputRefusal::NoEndOfInput) => WriteError::NoEndOfInput,
        WriteFailure::Refused(InputRefusal::Failed { detail }) => {
            WriteError::Io(io::Error::other(detail))
        }
    }
}
