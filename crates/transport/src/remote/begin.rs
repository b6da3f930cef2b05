//! Makes the tasks and handles of remote sessions.

use std::sync::Arc;

use tokio::sync::mpsc;
use uuid::Uuid;

use super::attach::Attachment;
use super::create::{self, RemoteOrder};
use super::driver::{Driver, Told};
use super::error::RemoteError;
use super::machine::Machine;
use super::target::Remote;
use super::terminal::{Logs, RemoteTerminal};
use crate::engine::TerminalEngine;
use crate::output_reader::OutputReader;
use crate::session::TerminalSession;
use bowline_process::ByteBudget;
use bowline_process::Overflow;
use bowline_process::log::SharedLog;
use bowline_process::{SessionId, Stream};

impl TerminalEngine {
    /// Joins a session that a runner has. When it comes back the owner has answered, and the session
    /// reads on from where the [`Attachment`] begins. Dropping the last handle lets go of it; to end
    /// it, [`terminate`](TerminalSession::terminate) it.
    ///
    /// # Errors
    ///
    /// [`RemoteError::Link`] if the runner cannot be reached within the attachment's patience, or
    /// does not let us in, or does not have the session.
    pub async fn attach_remote(
        &self,
        remote: &Remote,
        session: SessionId,
        attachment: Attachment,
    ) -> Result<TerminalSession, RemoteError> {
        tokio::runtime::Handle::try_current().map_err(|_| RemoteError::NoRuntime)?;
        let logs = logs(&attachment);
        let budget = ByteBudget::new(attachment.input.queue_bytes);
        let (orders, inbox) = mpsc::unbounded_channel();
        let (told, news, joined) = Told::new();
        let (seed, _) = Uuid::new_v4().as_u64_pair();
        let machine = Machine::new(attachment.joining(remote, session), seed);
        let to = (Arc::new(remote.clone()), session);
        let driver = Driver::new(machine, to, inbox, logs.clone(), told);
        tokio::spawn(Box::new(driver).run());
        let joined = joined.await.map_err(|_| RemoteError::NoRuntime)?;
        let attached = joined.map_err(|failed| RemoteError::Link {
            failure: failed.failure,
            detail: failed.detail,
        })?;
        let terminal = RemoteTerminal {
            attached,
            logs,
            budget,
            orders,
            news,
        };
        Ok(TerminalSession::new(session, Arc::new(terminal)))
    }

    /// Makes a session at a runner, and joins it from its first byte on. What differs from a session
    /// on this machine: the environment that is inherited is the runner's, `guard` and `containment`
    /// are the runner's business, and the session outlives this host.
    ///
    /// # Errors
    ///
    /// [`RemoteError::Refused`] if the runner does not make it, [`RemoteError::NotText`] for what
    /// JSON cannot say, and as [`attach_remote`](Self::attach_remote).
    pub async fn make_remote(
        &self,
        remote: &Remote,
        order: &RemoteOrder,
    ) -> Result<TerminalSession, RemoteError> {
        let made = create::create(remote, order).await?;
        let attachment = order.attachment(made.epoch);
        self.attach_remote(remote, made.id, attachment).await
    }

    /// As [`make_remote`](Self::make_remote), for an owner that reads the streams in its own task.
    ///
    /// # Errors
    ///
    /// As [`make_remote`](Self::make_remote).
    pub async fn make_remote_with_reader(
        &self,
        remote: &Remote,
        order: &RemoteOrder,
    ) -> Result<(TerminalSession, OutputReader), RemoteError> {
        Ok(with_reader(self.make_remote(remote, order).await?))
    }

    /// As [`attach_remote`](Self::attach_remote), for an owner that reads the streams in its own
    /// task.
    ///
    /// # Errors
    ///
    /// As [`attach_remote`](Self::attach_remote).
    pub async fn attach_remote_with_reader(
        &self,
        remote: &Remote,
        session: SessionId,
        attachment: Attachment,
    ) -> Result<(TerminalSession, OutputReader), RemoteError> {
        Ok(with_reader(
            self.attach_remote(remote, session, attachment).await?,
        ))
    }
}

fn with_reader(session: TerminalSession) -> (TerminalSession, OutputReader) {
    let readers = [Stream::Output, Stream::Errors].map(|stream| session.reader(stream));
    (session, OutputReader::of_readers(readers))
}

/// Errors drop the oldest, as everywhere. What is told of output is not to be lost here, whatever
/// the owner does about it.
fn logs(attachment: &Attachment) -> Logs {
    let limits = attachment.limits;
    let overflow = limits.output_overflow.unwrap_or(Overflow::Block);
    let errors = SharedLog::with_limits(
        limits.errors_bytes,
        Overflow::DropOldest,
        limits.history_bytes,
    );
    let output = SharedLog::with_limits(limits.output_bytes, overflow, limits.history_bytes);
    Logs { output, errors }
}
