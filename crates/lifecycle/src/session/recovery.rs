//! Drives a session at a runner over restarts of its driver: what the driver knows is a fold over the session's
//! log.

use bowline_transport::{
    Attachment, Piece, Remote, SessionId, StartPosition, TerminalEngine, wire::Lease,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tracing::Instrument as _;

use super::handle::DialogueSession;
use super::spans;
use super::spawn::log_limits;
use super::start::{now_ms, prepare};
use crate::configuration::DialogueConfiguration;
use crate::control::ControlLine;
use crate::error::{DialogueError, StartError};
use crate::intent::Intent;
use crate::machine::{DecisionPath, Input, Limits, Machine};

/// A session at a runner, folded from its log so far: a new one has an empty log.
///
/// The log is its output, what was written to its input, and the intents of its hosts, each in the order in
/// which it came. There must be one driver at a time.
#[derive(Debug)]
pub struct SessionRecovery {
    machine: Machine,
    configuration: DialogueConfiguration,
    /// Offset of the next output.
    next: u64,
    /// Offset of the next input.
    next_input: u64,
}

impl SessionRecovery {
    /// Begins with an empty log, and folds the past conversation of the configuration. The configuration is that of
    /// the start, the same with each driver.
    ///
    /// # Errors
    ///
    /// The dialect cannot be driven, or lacks what the configuration asks for.
    pub fn new(configuration: DialogueConfiguration) -> Result<Self, StartError> {
        configuration.check_dialect()?;
        let limits = Limits::from(&configuration);
        let opening = configuration.opening();
        let mut machine = Machine::recovering(configuration.dialect, opening, limits);
        // The driver of a session is where its agent runs.
        machine.set_policy(configuration.policy.clone(), true);
        machine.set_budget(configuration.budget);
        machine.set_resume_prompt(configuration.resume_at_reset.clone());
        machine.set_decision_path(DecisionPath::Control);
        if let Some(history) = configuration.history.clone() {
            machine.fold_history(history);
        }
        Ok(Self {
            machine,
            configuration,
            next: 0,
            next_input: 0,
        })
    }

    /// Returns the offset of the next output.
    #[must_use]
    pub const fn next_output(&self) -> u64 {
        self.next
    }

    /// Folds the next output, which arrived at `at_ms`, in milliseconds since 1970.
    pub fn output(&mut self, piece: &Piece, at_ms: u64) {
        self.machine.set_epoch(at_ms);
        let input = match piece {
            Piece::Bytes { offset, bytes } => {
                self.next = offset + bytes.len() as u64;
                Input::Output(bytes.clone())
            }
            &Piece::Gap { from, to } => {
                self.next = to;
                Input::OutputGap { from, to }
            }
        };
        self.machine.recover_output(input);
    }

    /// Folds the next piece of what was written to the agent, at `at_ms`, in milliseconds since 1970.
    pub fn input(&mut self, piece: &Piece, at_ms: u64) {
        self.machine.set_epoch(at_ms);
        match piece {
            Piece::Bytes { offset, bytes } => {
                self.next_input = offset + bytes.len() as u64;
                self.machine.recover_input(bytes);
            }
            &Piece::Gap { to, .. } => {
                self.next_input = to;
                self.machine.recover_input_gap();
            }
        }
    }

    /// Folds the next intent. Returns whether it was carried out, or why not; `None` if the agent decides on it.
    pub fn intent(&mut self, intent: Intent, at_ms: u64) -> Option<Result<(), DialogueError>> {
        self.machine.set_epoch(at_ms);
        self.machine.recover_command(intent.into())
    }

    /// Notes in the transcript that a part of the log cannot be read, and why.
    pub fn damage(&mut self, reason: &str, at_ms: u64) {
        self.machine.set_epoch(at_ms);
        self.machine.recover_damage(reason);
    }

    /// Attaches to the session where the log ends, writes what is missing, and drives the session from now on.
    /// Each line goes out with an id, so that one that was on its way is not written twice.
    ///
    /// The receiver gets the decisions of rules and limits. Each takes effect when it was appended to the control
    /// stream, under its id or, if that is too long, another one, and is passed to
    /// [`DialogueSession::submit`] from there.
    ///
    /// # Errors
    ///
    /// The session cannot be reached or has ended.
    pub async fn attach(
        self,
        remote: &Remote,
        session: SessionId,
    ) -> Result<(DialogueSession, UnboundedReceiver<ControlLine>), StartError> {
        let attachment = Attachment {
            lease: Lease::Append,
            start: StartPosition::At {
                output: self.next,
                errors: 0,
                input: self.next_input,
            },
            limits: log_limits(self.configuration.kept_output),
            ..Attachment::default()
        };
        let attached = TerminalEngine
            .attach_remote_with_reader(remote, session, attachment)
            .instrument(spans::attach_span(session))
            .await?;
        let mut machine = self.machine;
        machine.set_epoch(now_ms());
        if let Some(until) = attached.0.input_at_attach() {
            machine.follow_input(until);
        }
        machine.recovered();
        let (session, _, mut driver) = prepare(machine, attached, &self.configuration, None, None);
        let (decisions, decided) = unbounded_channel();
        driver.driver.send_decisions_to(decisions);
        driver.spawn();
        Ok((session, decided))
    }
}
