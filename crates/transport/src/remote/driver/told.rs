//! What the machine tells, handed to those who wait for it.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::connection::{ConnectionState, ReconnectFailed};
use crate::remote::machine::{Output, Ticket, Unwritten};
use crate::remote::terminal::{Done, Logs, News};
use crate::screen::Screen;
use bowline_process::Containment;
use bowline_process::ReservedBytes;
use bowline_process::TerminationReport;
use bowline_process::WriteError;
use bowline_process::{Drained, Exit, ExitStatus};
use bowline_wire::{Attached, ExitNotice, InputRefusal, KillReport, PromptStatus, StreamId};

/// Whether the first attach succeeded, and to what.
pub(in crate::remote) type Joined = oneshot::Receiver<Result<Attached, ReconnectFailed>>;

pub(in crate::remote) struct Told {
    joined: Option<oneshot::Sender<Result<Attached, ReconnectFailed>>>,
    attached: Option<Attached>,
    exit: watch::Sender<Option<Exit>>,
    report: watch::Sender<Option<TerminationReport>>,
    state: watch::Sender<ConnectionState>,
    screen: watch::Sender<Option<Screen>>,
    writes: HashMap<Ticket, (Option<ReservedBytes>, Done)>,
    prompts: HashMap<Ticket, oneshot::Sender<PromptStatus>>,
    last_ticket: Ticket,
    /// A report that waits for the exit that belongs to it.
    killed: Option<(Option<KillReport>, Duration)>,
}

impl Told {
    pub(in crate::remote) fn new() -> (Self, News, Joined) {
        let (joined, is_joined) = oneshot::channel();
        let (exit, exit_news) = watch::channel(None);
        let (report, report_news) = watch::channel(None);
        let (state, state_news) = watch::channel(ConnectionState::Connected);
        let (screen, screen_news) = watch::channel(None);
        let told = Self {
            joined: Some(joined),
            attached: None,
            exit,
            report,
            state,
            screen,
            writes: HashMap::new(),
            prompts: HashMap::new(),
            last_ticket: 0,
            killed: None,
        };
        let news = News {
            exit: exit_news,
            report: report_news,
            state: state_news,
            screen: screen_news,
        };
        (told, news, is_joined)
    }

    /// Remembers who waits for a write.
    pub(super) fn ticket(&mut self, claim: Option<ReservedBytes>, done: Done) -> Ticket {
        self.last_ticket += 1;
        self.writes.insert(self.last_ticket, (claim, done));
        self.last_ticket
    }

    /// Remembers who waits for what becomes of a prompt.
    pub(super) fn prompt_ticket(&mut self, answer: oneshot::Sender<PromptStatus>) -> Ticket {
        self.last_ticket += 1;
        self.prompts.insert(self.last_ticket, answer);
        self.last_ticket
    }

    pub(super) fn tell(&mut self, output: Output, logs: &Logs) {
        match output {
            Output::Attached(attached) => self.attached(*attached, logs),
            Output::Begin(stream, offset) => logs.of(stream).begin_at(offset),
            Output::Gap { stream, to, .. } => logs.of(stream).skip_to(to),
            Output::Screen(screen) => drop(self.screen.send_replace(Some(screen))),
            Output::End(stream) => logs.of(stream).close(),
            Output::Written(ticket, outcome) => self.written(ticket, outcome),
            // An end that was asked for waits for no reader.
            Output::Hurry => logs.output.drop_oldest(),
            Output::Prompted(ticket, status) => {
                let answer = self.prompts.remove(&ticket);
                // Whoever sent it may be gone.
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
        self.attached = Some(attached);
    }

    fn written(&mut self, ticket: Ticket, outcome: Result<(), Unwritten>) {
        if let Some((claim, done)) = self.writes.remove(&ticket) {
            drop(claim);
            // Whoever wrote may be gone.
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
            // Whoever joins may have gone.
            let _ = joined.send(answer);
        }
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

    /// The report of a kill, when both it and the exit are known.
    fn report(&mut self) {
        let exit = *self.exit.borrow();
        if let Some((exit, (report, took))) = exit.zip(self.killed.take_if(|_| exit.is_some())) {
            let facts = self.attached.as_ref().map(|attached| &attached.info);
            let pid = facts.and_then(|facts| facts.pid);
            let level = facts.map_or(Containment::Group, |facts| facts.containment);
            let known = report.is_some() || exit.status != ExitStatus::Unknown;
            let report = report.unwrap_or_else(|| KillReport {
                killed: Vec::new(),
                // Nobody can say what became of it.
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

    /// Nothing more comes. Writes that nobody has answered for fail as those to a child that ended.
    pub(super) fn finish(&mut self, logs: &Logs) {
        logs.output.close();
        logs.errors.close();
        self.writes.clear();
        self.prompts.clear();
        if self.exit.borrow().is_some() && self.report.borrow().is_none() {
            self.killed.get_or_insert((None, Duration::ZERO));
            self.report();
        }
    }
}

/// Why a write was not done, as a host on the same machine would hear it.
fn why(unwritten: Unwritten) -> WriteError {
    match unwritten {
        Unwritten::Unconfirmed => WriteError::Unconfirmed,
        Unwritten::Refused(InputRefusal::Ended) => WriteError::Ended,
        Unwritten::Refused(InputRefusal::Closed) => WriteError::Closed,
        Unwritten::Refused(InputRefusal::LineTooLong { length, limit }) => {
            WriteError::LineTooLong { length, limit }
        }
        Unwritten::Refused(InputRefusal::NoEndOfInput) => WriteError::NoEndOfInput,
        Unwritten::Refused(InputRefusal::Failed { detail }) => {
            WriteError::Io(io::Error::other(detail))
        }
    }
}
