//! How a session is ended or left, and shown to its end.

use bowline_lifecycle::{ConnectionState, DialogueEnd, ReconnectFailed};
use bowline_reducer::{TaskState, Transcript};
use tokio::sync::watch;
use tokio::time::Instant;

use super::outcome::{SessionOutcome, TurnOutcome};
use super::{SessionView, until};
use crate::args::Output;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::runner::{unconfirmed_end, unreachable_session, until_connection_failed};
use crate::stdio::report;

impl SessionView<'_> {
    pub(super) async fn end_session(&mut self) -> Result<SessionOutcome, Failure> {
        let session = self.session.clone();
        // After an interrupt, background work is not waited for.
        let is_stopped = self.end_requests > 0;
        let mut end = std::pin::pin!(async move {
            if is_stopped {
                session.terminate().await
            } else {
                session.end().await
            }
        });
        let mut connection = self.connection.clone();
        let ended = loop {
            let (detach_at, is_leaving) = (self.detach_at, self.is_remote && self.is_terminating);
            tokio::select! {
                biased;
                reason = until_connection_failed(&mut self.connection), if !self.is_terminating => {
                    return Err(self.detach(reason).await);
                }
                ended = &mut end => break ended,
                () = until_unconfirmed(&mut connection, detach_at), if is_leaving => {
                    return Err(self.leave().await);
                }
                notice = self.notices.next() => self.notify(&notice)?,
                request = self.signals.next() => self.on_signal(request)?,
                _ = self.status_timer.tick(), if self.screen.is_terminal() => {
                    self.screen.draw_status("waiting for the agent to exit")?;
                }
            }
        };
        self.close(ended).await
    }

    /// Detaches from an agent whose connection has failed for good; it keeps running. Returns the
    /// failure to report.
    pub(super) async fn detach(&mut self, reason: ReconnectFailed) -> Failure {
        let id = self.session.id();
        // A failed connection may have ended the session already.
        let _ = self.session.detach().await;
        let ended = self.session.ended().await;
        let failure = unreachable_session(&self.runner_options, id, &reason);
        self.close_with(ended, failure).await
    }

    /// Whether the end of a remote session was requested, and is not to be waited for.
    pub(super) fn is_unconfirmed(&self) -> bool {
        let is_late = self.detach_at.is_some_and(|at| at <= Instant::now());
        let is_leaving = self.is_remote && self.is_terminating && !self.session.has_ended();
        is_leaving && (is_late || !self.connection.borrow().is_up())
    }

    /// Detaches from a session whose end was requested, without waiting for the end. Returns the failure
    /// to report.
    pub(super) async fn leave(&mut self) -> Failure {
        let id = self.session.id();
        // The session may have ended meanwhile.
        let _ = self.session.detach().await;
        let ended = self.session.ended().await;
        let failure = unconfirmed_end(&self.runner_options, id);
        self.close_with(ended, failure).await
    }

    /// Prints the rest of a session that was left, and why its recording is incomplete. Returns the failure to
    /// report.
    async fn close_with(&mut self, ended: DialogueEnd, failure: Failure) -> Failure {
        match self.close(ended).await {
            Ok(outcome) => {
                if let Some(incomplete) = outcome.recording_failure() {
                    report(&incomplete);
                }
                failure
            }
            Err(failure) => failure,
        }
    }

    /// Prints the rest of a session that has ended.
    async fn close(&mut self, ended: DialogueEnd) -> Result<SessionOutcome, Failure> {
        // The end completes the interrupts that the agent has not acknowledged.
        while let Some(done) = self.interrupts.join_next().await {
            self.on_interrupted(done.ok())?;
        }
        self.print_changes().await?;
        let mut printer = std::mem::replace(&mut self.printer, Printer::live(Output::Transcript));
        let read = move |transcript: &Transcript| {
            let session = transcript.session();
            // Without a model the agent has not opened the conversation, so the id is unknown to it.
            let conversation = session.model().and_then(|_| session.id());
            let conversation = conversation.map(str::to_owned);
            let cost = transcript.usage().cost_usd();
            let last_turn = TurnOutcome::last_of(transcript);
            let mut tasks = transcript.tasks();
            let has_lost_tasks = tasks.any(|task| task.state() == TaskState::Lost);
            let text = printer.finish(transcript);
            (text, last_turn, conversation, cost, has_lost_tasks)
        };
        let (text, last_turn, conversation, cost, has_lost_tasks) =
            self.session.inspect(read).await;
        self.screen.print(&text)?;
        self.screen.clear()?;
        Ok(SessionOutcome {
            ended,
            last_turn,
            conversation,
            cost,
            was_interrupted: self.end_requests > 0,
            was_terminated: self.was_terminated,
            was_cancelled: self.was_cancelled,
            is_answered: self.is_answered,
            has_lost_tasks,
        })
    }
}

/// Waits until the end of a session that is being terminated can no longer be confirmed, or has taken too
/// long.
async fn until_unconfirmed(
    connection: &mut watch::Receiver<ConnectionState>,
    detach_at: Option<Instant>,
) {
    tokio::select! {
        Ok(_) = connection.wait_for(|state| !state.is_up()) => {}
        () = until(detach_at) => {}
    }
}
