//! A daemon as a gateway to the sessions of other runners, and as a claimant of conversations.

use std::time::Duration;

use bowline_process::SessionId;
use bowline_runner::{
    ConversationWriter, MovableSession, OtherRunnerError, OtherRunners, OtherSession, TokenScope,
};
use bowline_transport::{Boxed, ByteStream};
use tokio::sync::{OnceCell, mpsc};
use tokio::time::timeout;

use crate::bus::{Bus, BusError};
use crate::carrier::{LinkError, open_link};
use crate::claims::{ClaimOutcome, claim, release};
use crate::directory::{ConversationKey, Reach, RunnerId, file_name};
use crate::local_daemon::LocalDaemon;
use crate::view::{FleetSession, FleetWatch, fleet_session, fleet_sessions};

/// How long the start of a session waits for the claim of its conversation.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(2);

/// The sessions of the other runners.
#[derive(Debug)]
pub struct Gateway<B> {
    bus: OnceCell<B>,
    own: RunnerId,
    local: LocalDaemon,
}

impl<B: Bus> Gateway<B> {
    /// Returns a gateway of the runner `own`, which has no connection yet.
    #[must_use]
    pub fn new(own: RunnerId, local: LocalDaemon) -> Self {
        Self {
            bus: OnceCell::new(),
            own,
            local,
        }
    }

    /// Sets the connection, once.
    pub fn connected(&self, bus: B) {
        // The first one stays: it is made again whenever it is lost.
        let _ = self.bus.set(bus);
    }

    fn bus(&self) -> Result<&B, OtherRunnerError> {
        let none = || OtherRunnerError::Failed("the NATS servers were not reached yet".to_owned());
        self.bus.get().ok_or_else(none)
    }

    async fn list(&self) -> Result<Vec<OtherSession>, OtherRunnerError> {
        let sessions = fleet_sessions(self.bus()?).await.map_err(failed)?;
        Ok(others(sessions, &self.own))
    }

    /// Follows the sessions of the other runners until the receiver is dropped.
    async fn follow(&self) -> Result<mpsc::Receiver<Vec<OtherSession>>, OtherRunnerError> {
        let opened = FleetWatch::open(self.bus()?.clone()).await;
        let (mut watch, mut sessions) = opened.map_err(failed)?;
        let (sender, receiver) = mpsc::channel(1);
        let own = self.own.clone();
        tokio::spawn(async move {
            while sender.send(others(sessions, &own)).await.is_ok() {
                sessions = tokio::select! {
                    changed = watch.changed() => changed,
                    () = sender.closed() => return,
                };
            }
        });
        Ok(receiver)
    }

    async fn open(
        &self,
        id: SessionId,
        scope: TokenScope,
    ) -> Result<Box<dyn ByteStream>, OtherRunnerError> {
        let bus = self.bus()?;
        let session = fleet_session(bus, id).await.map_err(failed)?;
        let session = session.filter(|it| it.record.runner != self.own);
        let session = session.ok_or(OtherRunnerError::Unknown)?;
        let Reach::Live { link } = session.reach else {
            return Err(OtherRunnerError::Away);
        };
        match open_link(bus, &link, self.own.as_str(), &scope.to_string()).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(LinkError::Away) => Err(OtherRunnerError::Away),
            Err(error) => Err(OtherRunnerError::Failed(error.to_string())),
        }
    }

    /// Claims a conversation. No session waits for servers that do not answer: the member claims the conversation
    /// later, and its record says if another session has it.
    async fn claim(&self, writer: &ConversationWriter) -> Result<(), OtherRunnerError> {
        let Some(bus) = self.bus.get() else {
            return Ok(());
        };
        match timeout(CLAIM_TIMEOUT, self.claim_at(bus, writer)).await {
            Ok(Ok(ClaimOutcome::Refused(by))) => Err(OtherRunnerError::Claimed {
                session: by.session,
                runner: by.runner.to_string(),
            }),
            Ok(Ok(ClaimOutcome::Held(_))) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, session.id = %writer.session, "starts without a claim");
                Ok(())
            }
            Err(_) => {
                tracing::warn!(session.id = %writer.session, "starts without a claim: no reply");
                Ok(())
            }
        }
    }

    async fn claim_at(
        &self,
        bus: &B,
        writer: &ConversationWriter,
    ) -> Result<ClaimOutcome, BusError> {
        let key = key_of(writer);
        let take = |takes_over| claim(bus, &key, &self.own, writer.session, takes_over);
        let outcome = take(writer.takes_over).await?;
        let ClaimOutcome::Refused(by) = &outcome else {
            return Ok(outcome);
        };
        // The directory learns of an end of this runner's own sessions a moment later.
        let is_own = by.runner == self.own;
        if is_own && self.local.is_running(by.session).await == Some(false) {
            return take(true).await;
        }
        Ok(outcome)
    }

    async fn movable(&self, id: SessionId) -> Result<MovableSession, OtherRunnerError> {
        let bus = self.bus()?;
        let session = fleet_session(bus, id).await.map_err(failed)?;
        let session = session.filter(|it| it.record.runner != self.own);
        let session = session.ok_or(OtherRunnerError::Unknown)?;
        let is_live = matches!(session.reach, Reach::Live { .. });
        if is_live && !session.record.has_ended() {
            let runner = session.runner_name;
            return Err(OtherRunnerError::Running { runner });
        }
        let record = session.record;
        let summary = serde_json::from_value(record.summary);
        let name = file_name(id, record.epoch);
        Ok(MovableSession {
            summary: summary.map_err(|error| OtherRunnerError::Failed(error.to_string()))?,
            generation: record.generation.saturating_add(1),
            files: bus.file(&name).await.map_err(failed)?,
        })
    }

    async fn release(&self, writer: &ConversationWriter) {
        if let Some(bus) = self.bus.get() {
            let key = key_of(writer);
            let released = release(bus, &key, &self.own, writer.session);
            // A claim that stays can be taken over.
            let _ = timeout(CLAIM_TIMEOUT, released).await;
        }
    }
}

fn failed(error: BusError) -> OtherRunnerError {
    OtherRunnerError::Failed(error.to_string())
}

/// Returns what the sessions of other runners than `own` are listed as.
fn others(sessions: Vec<FleetSession>, own: &RunnerId) -> Vec<OtherSession> {
    let others = sessions.into_iter().filter(|it| it.record.runner != *own);
    let others = others.map(|it| OtherSession {
        id: it.id,
        summary: it.summary(),
    });
    others.collect()
}

fn key_of(writer: &ConversationWriter) -> ConversationKey {
    ConversationKey::new(writer.dialect.as_str(), &writer.conversation)
}

impl<B: Bus + std::fmt::Debug> OtherRunners for Gateway<B> {
    fn sessions(&self) -> Boxed<'_, Result<Vec<OtherSession>, OtherRunnerError>> {
        Box::pin(self.list())
    }

    fn watch(&self) -> Boxed<'_, Result<mpsc::Receiver<Vec<OtherSession>>, OtherRunnerError>> {
        Box::pin(self.follow())
    }

    fn connect(
        &self,
        session: SessionId,
        scope: TokenScope,
    ) -> Boxed<'_, Result<Box<dyn ByteStream>, OtherRunnerError>> {
        Box::pin(self.open(session, scope))
    }

    fn claim<'a>(
        &'a self,
        writer: &'a ConversationWriter,
    ) -> Boxed<'a, Result<(), OtherRunnerError>> {
        Box::pin(self.claim(writer))
    }

    fn movable(&self, session: SessionId) -> Boxed<'_, Result<MovableSession, OtherRunnerError>> {
        Box::pin(self.movable(session))
    }

    fn release<'a>(&'a self, writer: &'a ConversationWriter) -> Boxed<'a, ()> {
        Box::pin(self.release(writer))
    }
}
