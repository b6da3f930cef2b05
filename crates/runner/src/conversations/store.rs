//! The conversations that this daemon drives.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread::available_parallelism;

use bowline_lifecycle::{HandshakeError, Policy};
use bowline_transport::wire::ExitNotice;
use bowline_transport::{Inbox, Remote, RemoteUrl, SessionActivity, SessionId, TerminationPolicy};
use futures_util::future::join_all;
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::{Instrument as _, debug, info_span, warn};

use super::activity::activity_of;
use super::control_link::ControlLink;
use super::conversation::Conversation;
use super::driver::{Driver, Queues, follow_control};
use super::error::ConversationError;
use super::is_driven;
use super::recover::recover;
use super::start::StartConversation;
use crate::session_machine::RequestDedup;
use crate::sessions::{SessionStore, ShimStatus, describe_exit};
use crate::shim::{SessionDir, ShimStarted};

/// Intents of one conversation that may wait for its task.
const QUEUE: usize = 64;

/// The conversations that this daemon drives.
#[derive(Debug)]
pub(crate) struct Conversations {
    sessions: Arc<SessionStore>,
    /// Rules for all of them, beside their own.
    policy: Policy,
    live: Mutex<HashMap<SessionId, Arc<OnceCell<Conversation>>>>,
    /// Bounds the logs that are folded at the same time.
    folds: Semaphore,
    shutdown: CancellationToken,
    tracked: TaskTrackerToken,
}

impl Conversations {
    /// Drives none. Each task holds a clone of `tracked`, and ends when `shutdown` is cancelled.
    pub(crate) fn new(
        sessions: Arc<SessionStore>,
        policy: Policy,
        shutdown: CancellationToken,
        tracked: TaskTrackerToken,
    ) -> Self {
        Self {
            sessions,
            policy,
            live: Mutex::default(),
            folds: Semaphore::new(available_parallelism().map_or(1, usize::from)),
            shutdown,
            tracked,
        }
    }

    /// Starts an agent, and returns once it has opened its session. The first prompt is kept before the agent
    /// runs. After an error, nothing runs and no session is left.
    pub(crate) async fn start(
        self: &Arc<Self>,
        start: StartConversation,
    ) -> Result<(ShimStarted, Conversation), ConversationError> {
        let started = self.sessions.create(start.spec()?).await?;
        match self.opened(started.id).await {
            Ok(conversation) => Ok((started, conversation)),
            Err(error) => {
                let exit = self.discard(started.id).await;
                Err(match (error, exit) {
                    (ConversationError::Ended, Some(exit)) => {
                        let (reason, _) = describe_exit(&exit);
                        HandshakeError::Exited { reason }.into()
                    }
                    (error, _) => error,
                })
            }
        }
    }

    /// Ends and removes a session that failed to start. Returns how its agent exited.
    async fn discard(&self, id: SessionId) -> Option<ExitNotice> {
        let ended = self
            .sessions
            .terminate(id, TerminationPolicy::AT_ONCE)
            .await;
        if let Err(error) = &ended {
            warn!(session.id = %id, %error, "cannot end a session that failed to start");
        }
        if let Err(error) = self.sessions.remove(id).await {
            warn!(session.id = %id, %error, "cannot remove a session that failed to start");
        }
        ended.ok()?.exit
    }

    async fn opened(self: &Arc<Self>, id: SessionId) -> Result<Conversation, ConversationError> {
        let conversation = self.attach(id).await?;
        conversation.session().opened().await?;
        Ok(conversation)
    }

    /// Returns what the sessions do that this daemon drives. Reads the folds that are there.
    pub(crate) async fn activities(&self) -> HashMap<SessionId, SessionActivity> {
        let live = self.list().into_iter().map(|it| async move {
            let activity = it.inspect(activity_of).await;
            (it.session().id(), activity)
        });
        join_all(live).await.into_iter().collect()
    }

    /// Returns what one session does, like [`activities`](Self::activities).
    pub(crate) async fn activity(&self, id: SessionId) -> Option<SessionActivity> {
        let live = self.live.lock().get(&id).and_then(|it| it.get().cloned());
        Some(live?.inspect(activity_of).await)
    }

    /// Returns the conversations that are driven at present.
    pub(crate) fn list(&self) -> Vec<Conversation> {
        let live = self.live.lock();
        live.values().filter_map(|it| it.get().cloned()).collect()
    }

    /// Returns the conversation of a session. Drives it from now on, if this daemon did not.
    ///
    /// # Errors
    ///
    /// There is no such session, another host drives it, or it has ended.
    pub(crate) async fn attach(
        self: &Arc<Self>,
        id: SessionId,
    ) -> Result<Conversation, ConversationError> {
        let cell = Arc::clone(self.live.lock().entry(id).or_default());
        let driven = cell.get_or_try_init(|| self.drive_unless_ended(id)).await;
        let driven = driven.cloned();
        if driven.is_err() {
            self.forget(id);
        }
        driven
    }

    /// Drives a session. One that ends meanwhile has ended, whatever failed because of that.
    async fn drive_unless_ended(
        self: &Arc<Self>,
        id: SessionId,
    ) -> Result<Conversation, ConversationError> {
        let driven = self.drive(id).await;
        let is_lost = matches!(
            driven,
            Err(ConversationError::Link(_) | ConversationError::Start(_))
        );
        if is_lost && !self.is_running(id).await {
            return Err(ConversationError::Ended);
        }
        driven
    }

    /// Returns whether the shim of a session runs, as far as it is known.
    async fn is_running(&self, id: SessionId) -> bool {
        let record = self.sessions.record(id).await;
        record.map_or(true, |it| {
            it.is_some_and(|it| it.shim == ShimStatus::Running)
        })
    }

    /// Removes a conversation that is not driven.
    fn forget(&self, id: SessionId) {
        let mut live = self.live.lock();
        if live.get(&id).is_some_and(|it| !it.initialized()) {
            live.remove(&id);
        }
    }

    async fn drive(self: &Arc<Self>, id: SessionId) -> Result<Conversation, ConversationError> {
        let record = self.sessions.record(id).await;
        let record = record.map_err(ConversationError::Metadata)?;
        let record = record.ok_or(ConversationError::NotFound)?;
        if !is_driven(&record.info.labels) {
            return Err(ConversationError::NotDriven);
        }
        if record.shim != ShimStatus::Running {
            return Err(ConversationError::Ended);
        }
        let permit = self.folds.acquire().await;
        let permit = permit.map_err(|_| ConversationError::ShuttingDown)?;
        let folder = record.session;
        let recovered = recover(&folder, &self.policy).await?;
        let link = follow_control(&folder, recovered.control.next_offset()).await?;
        if self.shutdown.is_cancelled() {
            return Err(ConversationError::ShuttingDown);
        }
        let remote = Remote::new(RemoteUrl::Shim(folder.socket()));
        let (session, decisions) = recovered.session.attach(&remote, id).await?;
        drop(permit);
        let (submissions, inbox) = Inbox::bounded(QUEUE);
        let mut done = RequestDedup::default();
        done.insert("open", Some(Ok(None)));
        for (id, outcome) in recovered.known {
            done.insert(&id, Some(outcome));
        }
        let mut driver = Driver {
            folder: folder.clone(),
            session: session.clone(),
            link: ControlLink::new(link, inbox),
            control: recovered.control,
            output_end: 0,
            decisions,
            shutdown: self.shutdown.clone(),
            done,
            queues: Queues::default(),
        };
        for id in &recovered.unreported {
            driver.report(id);
        }
        let (conversations, tracked) = (Arc::clone(self), self.tracked.clone());
        let ended = session.clone();
        let task = async move {
            driver.run().await;
            if ended.has_ended() {
                keep_activity(folder, ended.inspect(activity_of).await).await;
            }
            conversations.live.lock().remove(&id);
            drop(tracked);
        };
        tokio::spawn(task.instrument(info_span!("conversation", session.id = %id)));
        Ok(Conversation {
            session,
            submissions,
        })
    }

    /// Drives again, in the background, what a daemon drove before. Returns the sessions that have ended, some of
    /// which are found out later.
    pub(crate) async fn restore(self: &Arc<Self>) -> UnboundedReceiver<SessionId> {
        let (sender, found) = unbounded_channel();
        let records = self.sessions.records().await.unwrap_or_else(|error| {
            warn!(%error, "cannot list the sessions to drive");
            Vec::new()
        });
        let driven = records
            .into_iter()
            .filter(|record| is_driven(&record.info.labels));
        for record in driven {
            let (conversations, id) = (Arc::clone(self), record.info.id);
            let ended = sender.clone();
            let has_ended = move || {
                // Fails once the daemon stops.
                let _ = ended.send(id);
            };
            if record.has_ended() {
                has_ended();
                continue;
            }
            let tracked = self.tracked.clone();
            tokio::spawn(async move {
                let attached = tokio::select! {
                    attached = conversations.attach(id) => attached,
                    () = conversations.shutdown.cancelled() => return,
                };
                match attached {
                    Ok(_) => {}
                    Err(ConversationError::Ended) => has_ended(),
                    Err(error) => warn!(session.id = %id, %error, "cannot drive a session"),
                }
                drop(tracked);
            });
        }
        found
    }
}

/// Keeps what a conversation was about. Its folder may be in the trash already.
async fn keep_activity(session: SessionDir, activity: SessionActivity) {
    let id = session.id();
    let kept = spawn_blocking(move || session.keep_activity(&activity)).await;
    if let Err(error) = kept.map_err(io::Error::other).flatten() {
        debug!(session.id = %id, %error, "cannot keep what a session was about");
    }
}
