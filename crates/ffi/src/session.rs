//! Dialogues.

use std::sync::Arc;

use crate::core::{self, HostRequest, TerminalRegistry};

use crate::cancellation::{Cancellation, unless};
use crate::change::Phase;
use crate::changes::{ChangeStream, Source};
use crate::counters::Kind;
use crate::environment::SignalKind;
use crate::error::{BowlineError, Outcome};
use crate::events::{ConnectionView, DialogueEventStream, EventLimits, LastActivity};
use crate::outcome::Ended;
use crate::permission::{PermissionAnswer, PermissionRecord};
use crate::prompt::{InterruptScope, Interrupted, Prompt, Receipt};
use crate::runtime::{Held, call, finish, wait};
use crate::snapshot::{SnapshotPage, TranscriptSnapshot, older_page};

/// A dialogue and a stream that hears of everything from its beginning.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HeardSession {
    /// The dialogue.
    pub session: Arc<DialogueSession>,
    /// What happens in it.
    pub events: Arc<DialogueEventStream>,
}

/// A dialogue: an agent's process and its conversation as one thing. When the last handle is gone,
/// streams among them, it is terminated.
#[derive(uniffi::Object)]
pub struct DialogueSession {
    session: Held<core::DialogueSession>,
}

impl std::fmt::Debug for DialogueSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&*self.session, f)
    }
}

impl DialogueSession {
    pub(crate) fn new(session: core::DialogueSession) -> Arc<Self> {
        Arc::new(Self {
            session: Held::new(Kind::Session, session),
        })
    }

    fn core(&self) -> core::DialogueSession {
        self.session.clone()
    }
}

#[uniffi::export]
impl DialogueSession {
    /// The session's id, as lists and events have it.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn id(&self) -> Outcome<String> {
        call(|| Ok(self.session.id().to_string()))
    }

    /// The agent's process id.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn pid(&self) -> Outcome<Option<u32>> {
        call(|| Ok(self.session.pid()))
    }

    /// Whether the session has ended.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn has_ended(&self) -> Outcome<bool> {
        call(|| Ok(self.session.has_ended()))
    }

    /// What the session is doing.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn phase(&self) -> Outcome<Phase> {
        let session = self.core();
        wait(async move { Ok(session.inspect(|it| it.status().phase).await.into()) }).await
    }

    /// The last sign of life: a line of the agent, or something that the host has said to it.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn last_activity(&self) -> Outcome<LastActivity> {
        let session = self.core();
        wait(async move { Ok(session.last_activity().await.into()) }).await
    }

    /// How the link to the agent's machine stands.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn connection(&self) -> Outcome<ConnectionView> {
        call(|| Ok(self.session.connection().borrow().clone().into()))
    }

    /// Tries once more to reach the agent's machine after the link was given up.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`] when the link is not given up, or no retry mends it.
    pub fn retry(&self) -> Outcome<()> {
        call(|| Ok(self.session.retry()?))
    }

    /// The changes of the transcript from the beginning on.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn changes(&self) -> Outcome<Arc<ChangeStream>> {
        call(|| Ok(ChangeStream::new(Source::Session(self.core()))))
    }

    /// What happens in the session from now on, event by event.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    #[uniffi::method(default(limits = None))]
    pub fn events(&self, limits: Option<EventLimits>) -> Outcome<Arc<DialogueEventStream>> {
        call(|| {
            let limits = limits.map(Into::into).unwrap_or_default();
            Ok(DialogueEventStream::of(self.session.subscribe(limits)))
        })
    }

    /// The transcript as it stands now.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn snapshot(&self) -> Outcome<Arc<TranscriptSnapshot>> {
        let session = self.core();
        wait(async move {
            let snapshot = session.inspect(|transcript| {
                // What comes behind it has a cursor of its own.
                transcript.seal();
                transcript.snapshot()
            });
            Ok(TranscriptSnapshot::new(snapshot.await))
        })
        .await
    }

    /// Entries that the session's window has given up, read again from its recording: the newest
    /// ones that stand before the entry `before`, of all threads; the newest of all without it.
    /// `None` when nothing older was given up. They are as they were, but that their times are 0. The
    /// calls come behind all entries, maybe on another page than the messages that made them; what was
    /// open when its neighbours went is in the window as well, under the same number.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`] when the session has no recording (`record`),
    /// [`BowlineError::Io`] when it is not whole.
    #[uniffi::method(default(before = None))]
    pub async fn older(&self, before: Option<u32>) -> Outcome<Option<SnapshotPage>> {
        let session = self.core();
        wait(async move { Ok(session.older(before).await?.map(|page| older_page(&page))) }).await
    }

    /// Sends a prompt. Prompts that are sent while a turn runs wait their turn.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`], and [`BowlineError::Invalid`] for an empty prompt or a uuid that
    /// was used before.
    pub async fn send(&self, prompt: Prompt) -> Outcome<Arc<Receipt>> {
        let session = self.core();
        finish(async move { Ok(Receipt::new(session.send(prompt.into()).await?)) }).await
    }

    /// The permission requests of the session: those that are open, and the newest of the others.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn permissions(&self) -> Outcome<Vec<PermissionRecord>> {
        call(|| {
            let id = self.session.id();
            let all = TerminalRegistry::shared().permissions().into_iter();
            let ours = all.filter(|it| it.session == id);
            Ok(ours.map(|it| (&*it.record).into()).collect())
        })
    }

    /// Answers a permission request. The first answer counts; the same once more is no error.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`], [`BowlineError::NotFound`], [`BowlineError::TooLate`], and
    /// [`BowlineError::Invalid`] for an answer that does not fit the request.
    #[uniffi::method(default(by = None))]
    pub async fn respond(
        &self,
        request_id: String,
        answer: PermissionAnswer,
        by: Option<String>,
    ) -> Outcome<()> {
        let session = self.core();
        finish(async move {
            match by {
                Some(by) => session.answer_permission_as(by, request_id, answer).await?,
                None => session.answer_permission(request_id, answer).await?,
            }
            Ok(())
        })
        .await
    }

    /// Stops as much as `scope` says; the running turn without it.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`], [`BowlineError::Refused`] and [`BowlineError::NoAnswer`].
    #[uniffi::method(default(scope = None))]
    pub async fn interrupt(&self, scope: Option<InterruptScope>) -> Outcome<Interrupted> {
        let session = self.core();
        finish(async move {
            let scope = scope.map(Into::into).unwrap_or_default();
            Ok(session.interrupt_scope(scope).await?.into())
        })
        .await
    }

    /// Changes the model for the calls that follow; none for the agent's default.
    ///
    /// # Errors
    ///
    /// As [`interrupt`](Self::interrupt).
    pub async fn set_model(&self, model: Option<String>) -> Outcome<()> {
        let session = self.core();
        finish(async move { Ok(session.set_model(model).await?) }).await
    }

    /// Changes the permission mode.
    ///
    /// # Errors
    ///
    /// As [`interrupt`](Self::interrupt).
    pub async fn set_permission_mode(&self, mode: String) -> Outcome<()> {
        let session = self.core();
        finish(async move { Ok(session.set_permission_mode(mode).await?) }).await
    }

    /// Sends any control request of the agent's protocol, with its other members as a JSON object,
    /// and gives the answer, a JSON value.
    ///
    /// # Errors
    ///
    /// As [`interrupt`](Self::interrupt), and [`BowlineError::Invalid`] when `fields` is no JSON
    /// object.
    #[uniffi::method(default(fields = None))]
    pub async fn request(&self, subtype: String, fields: Option<String>) -> Outcome<String> {
        let session = self.core();
        finish(async move {
            let fields = serde_json::from_str(fields.as_deref().unwrap_or("{}"));
            let fields = fields.map_err(|error| {
                BowlineError::invalid(format!("request {subtype}: {error}, give a JSON object"))
            })?;
            Ok(session
                .request(HostRequest::Other { subtype, fields })
                .await?)
        })
        .await
    }

    /// Keeps prompts back from now on, and returns when the agent has answered those that it has.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`] and [`BowlineError::Cancelled`].
    #[uniffi::method(default(cancellation = None))]
    pub async fn pause(&self, cancellation: Option<Arc<Cancellation>>) -> Outcome<()> {
        let session = self.core();
        wait(unless(
            cancellation,
            async move { Ok(session.pause().await?) },
        ))
        .await
    }

    /// Ends a [`pause`](Self::pause): what was kept back is sent, in its order.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`].
    pub async fn unpause(&self) -> Outcome<()> {
        let session = self.core();
        finish(async move { Ok(session.unpause().await?) }).await
    }

    /// Sends a signal to the agent. What follows from it is up to the agent.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`].
    pub fn signal(&self, signal: SignalKind) -> Outcome<()> {
        call(|| Ok(self.session.signal(signal.into())?))
    }

    /// Ends the session in order: open prompts are answered first, then the agent is asked to exit.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn end(&self) -> Outcome<Ended> {
        let session = self.core();
        finish(async move { Ok(session.end().await.into()) }).await
    }

    /// Ends the session now: the agent and every process that came of it. Any number of callers get
    /// the same answer, when nothing of the session is left.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn terminate(&self) -> Outcome<Ended> {
        let session = self.core();
        finish(async move { Ok(session.terminate().await.into()) }).await
    }

    /// Lets go of a dialogue that a runner keeps: the agent goes on, and this session ends.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`], and [`BowlineError::Invalid`] when the agent is a child of this
    /// process and has no other keeper.
    pub async fn detach(&self) -> Outcome<Ended> {
        let session = self.core();
        finish(async move { Ok(session.detach().await?.into()) }).await
    }

    /// Waits for the end of the session, whoever brings it about.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Cancelled`].
    #[uniffi::method(default(cancellation = None))]
    pub async fn ended(&self, cancellation: Option<Arc<Cancellation>>) -> Outcome<Ended> {
        let session = self.core();
        wait(unless(cancellation, async move {
            Ok(session.ended().await.into())
        }))
        .await
    }
}
