//! Creates and attaches remote sessions.

use std::sync::Arc;

use tracing::Instrument as _;
use uuid::Uuid;

use super::attach::Attachment;
use super::create::{self, SessionRequest};
use super::dialogue_log::DialogueLog;
use super::dialogue_reader::DialogueReader;
use super::driver::{Driver, Notifications};
use super::error::RemoteError;
use super::machine::Machine;
use super::pending::PendingSession;
use super::spans::link_span;
use super::target::Remote;
use super::terminal::{Logs, RemoteTerminal};
use crate::engine::TerminalEngine;
use crate::output_reader::OutputReader;
use crate::session::TerminalSession;
use bowline_process::ByteBudget;
use bowline_process::Overflow;
use bowline_process::log::SharedLog;
use bowline_process::{Inbox, SessionId};

impl TerminalEngine {
    /// Attaches to a session of a runner.
    ///
    /// Returns once the session has accepted the attachment. The output begins where the
    /// [`Attachment`] states. Dropping the last handle detaches; to end the session, call
    /// [`terminate`](TerminalSession::terminate).
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::Link`] if the runner cannot be reached within
    /// [`Attachment::connect_timeout`], refuses the connection, or does not have the session, and
    /// [`RemoteError::NoRuntime`] outside of a tokio runtime.
    pub async fn attach_remote(
        &self,
        remote: &Remote,
        session: SessionId,
        attachment: Attachment,
    ) -> Result<TerminalSession, RemoteError> {
        let (session, _) = self.attach_with(remote, session, attachment, false).await?;
        Ok(session)
    }

    /// Attaches to a session, and returns its logs. With `follows_input`, they contain the input.
    async fn attach_with(
        &self,
        remote: &Remote,
        session: SessionId,
        attachment: Attachment,
        follows_input: bool,
    ) -> Result<(TerminalSession, Logs), RemoteError> {
        tokio::runtime::Handle::try_current().map_err(|_| RemoteError::NoRuntime)?;
        let begin = attachment.output_beside_input().filter(|_| follows_input);
        let follows_input = begin.is_some();
        let logs = logs(&attachment, begin);
        let budget = ByteBudget::new(attachment.input.queue_bytes);
        let (commands, inbox) = Inbox::new();
        let (notifications, updates, joined) = Notifications::new();
        let (random, _) = Uuid::new_v4().as_u64_pair();
        let machine = Machine::new(attachment.joining(remote, session, follows_input), random);
        let to = (Arc::new(remote.clone()), session);
        let driver = Driver::new(machine, to, inbox, logs.clone(), notifications);
        let span = link_span(&remote.url, session);
        tokio::spawn(Box::new(driver).run().instrument(span));
        let joined = joined.await.map_err(|_| RemoteError::NoRuntime)?;
        let attached = joined.map_err(|failed| RemoteError::Link {
            failure: failed.failure,
            detail: failed.detail,
        })?;
        let terminal = RemoteTerminal {
            attached,
            lease: attachment.lease,
            logs: logs.clone(),
            budget,
            commands,
            updates,
        };
        Ok((TerminalSession::new(session, Arc::new(terminal)), logs))
    }

    /// Creates a session at a runner and attaches to it from its first byte.
    ///
    /// Unlike a local session, it inherits the runner's environment, the runner chooses `guard` and
    /// `containment`, and it outlives this host.
    ///
    /// A session that was created and could not be attached to is ended. If the future is dropped, it
    /// is ended in the background, while the runtime lasts.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::Refused`] if the runner does not create the session,
    /// [`RemoteError::NotText`] for values that are not UTF-8, [`RemoteError::LeftRunning`] with the id
    /// of a session that could neither be attached to nor ended, and the errors of
    /// [`attach_remote`](Self::attach_remote).
    pub async fn make_remote(
        &self,
        remote: &Remote,
        request: &SessionRequest,
    ) -> Result<TerminalSession, RemoteError> {
        let (session, _) = self.make_with(remote, request, false).await?;
        Ok(session)
    }

    async fn make_with(
        &self,
        remote: &Remote,
        request: &SessionRequest,
        follows_input: bool,
    ) -> Result<(TerminalSession, Logs), RemoteError> {
        let mut pending = PendingSession::new(request.id);
        let made = match create::create(remote, request, &mut pending).await {
            Ok(made) => made,
            Err(error) => return Err(pending.fail(error).await),
        };
        let attachment = request.attachment(made.epoch);
        let attached = self.attach_with(remote, made.id, attachment, follows_input);
        match attached.await {
            Ok(attached) => {
                pending.settle();
                Ok(attached)
            }
            Err(error) => Err(pending.fail(error).await),
        }
    }

    /// Creates a session like [`make_remote`](Self::make_remote) and returns it with a reader of its
    /// output.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`make_remote`](Self::make_remote).
    pub async fn make_remote_with_reader(
        &self,
        remote: &Remote,
        request: &SessionRequest,
    ) -> Result<(TerminalSession, OutputReader), RemoteError> {
        let (session, logs) = self.make_with(remote, request, true).await?;
        Ok(with_reader(session, &logs))
    }

    /// Attaches like [`attach_remote`](Self::attach_remote) and returns the session with a reader of
    /// its output.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`attach_remote`](Self::attach_remote).
    pub async fn attach_remote_with_reader(
        &self,
        remote: &Remote,
        session: SessionId,
        attachment: Attachment,
    ) -> Result<(TerminalSession, OutputReader), RemoteError> {
        let attached = self.attach_with(remote, session, attachment, true);
        let (session, logs) = attached.await?;
        Ok(with_reader(session, &logs))
    }
}

fn with_reader(session: TerminalSession, logs: &Logs) -> (TerminalSession, OutputReader) {
    let reader = OutputReader::of_dialogue(DialogueReader::new(logs));
    (session, reader)
}

/// Creates the logs of a session, with that of the input if it is received from an offset of the output on.
/// Output and input block unless configured otherwise; errors always drop their oldest bytes.
fn logs(attachment: &Attachment, input_from: Option<u64>) -> Logs {
    let limits = attachment.limits;
    let overflow = limits.output_overflow.unwrap_or(Overflow::Block);
    let errors = SharedLog::with_limits(
        limits.errors_bytes,
        Overflow::DropOldest,
        limits.history_bytes,
    );
    let output = SharedLog::with_limits(limits.output_bytes, overflow, limits.history_bytes);
    let dialogue = input_from.map(|at| {
        let follows_control = attachment.follows_control;
        Arc::new(DialogueLog::new(limits.output_bytes, at, follows_control))
    });
    Logs {
        output,
        errors,
        dialogue,
    }
}
