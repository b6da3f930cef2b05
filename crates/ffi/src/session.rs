//! Dialogue sessions.

use std::sync::Arc;

use crate::agent::AgentCapabilities;
use crate::bundle::{self, Redaction};
use crate::cancellation::{Cancellation, cancellable};
use crate::capability::Capability;
use crate::change::{Phase, QueuedPrompt};
use crate::change_reader::ChangeSource;
use crate::change_stream::ChangeStream;
use crate::core::{self, HostRequest};
use crate::counters::ObjectKind;
use crate::cursor::CursorSpace;
use crate::environment::SignalKind;
use crate::error::{BowlineError, Result};
use crate::events::{
    ConnectionStream, ConnectionView, DialogueEventStream, EventLimits, LastActivity,
};
use crate::outcome::DialogueEnd;
use crate::permission::{PermissionAnswer, PermissionRecord};
use crate::prompt::{InterruptReport, InterruptScope, Prompt, QueueChange, Receipt};
use crate::raw_output::{OutputKind, RawStream};
use crate::runtime::{abortable, blocking, call, uncancelled};
use crate::snapshot::{SnapshotPage, TranscriptSnapshot};
use crate::started::SessionHandle;

/// A dialogue session and a stream of all of its events.
#[derive(Clone, Debug, uniffi::Record)]
pub struct SessionWithEvents {
    /// The session.
    pub session: Arc<DialogueSession>,
    /// The events since the agent's start.
    pub events: Arc<DialogueEventStream>,
}

/// A session with an agent: its process and its conversation.
///
/// Releasing the last handle terminates an agent that is a child process of the host. From an agent at a
/// runner it detaches: the agent continues until it exits, and can be attached to again. Change streams
/// count as handles, event streams do not.
///
/// A session that was started and not used, since no function of it was called, is terminated in both
/// cases: the host does not know its id. Call `detach` to leave a new agent at its runner.
#[derive(uniffi::Object)]
pub struct DialogueSession {
    session: SessionHandle<core::DialogueSession>,
    cursors: CursorSpace,
}

impl std::fmt::Debug for DialogueSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self.session.unused(), f)
    }
}

impl DialogueSession {
    /// Returns the handle of a session that was started for it.
    pub(crate) fn started(session: core::DialogueSession) -> Arc<Self> {
        Arc::new(Self {
            cursors: CursorSpace::named(session.id().to_string()),
            session: SessionHandle::started(ObjectKind::Session, session),
        })
    }

    /// Returns another handle of a session that this process has started.
    pub(crate) fn known(session: core::DialogueSession) -> Arc<Self> {
        Arc::new(Self {
            cursors: CursorSpace::named(session.id().to_string()),
            session: SessionHandle::known(ObjectKind::Session, session),
        })
    }

    /// Returns a handle of a session that was attached to. Each attachment has a transcript of its own.
    pub(crate) fn attached(session: core::DialogueSession) -> Arc<Self> {
        Arc::new(Self {
            cursors: CursorSpace::unique(),
            session: SessionHandle::known(ObjectKind::Session, session),
        })
    }

    fn core(&self) -> core::DialogueSession {
        self.session.used().clone()
    }
}

#[uniffi::export]
impl DialogueSession {
    /// Returns the session's id.
    pub fn id(&self) -> Result<String> {
        call(|| Ok(self.session.used().id().to_string()))
    }

    /// Returns the agent's process id on the machine it runs on.
    pub fn pid(&self) -> Result<Option<u32>> {
        call(|| Ok(self.session.used().pid()))
    }

    /// Returns whether the session has ended.
    pub fn has_ended(&self) -> Result<bool> {
        call(|| Ok(self.session.used().has_ended()))
    }

    /// Returns the session's phase.
    pub async fn phase(&self) -> Result<Phase> {
        let session = self.core();
        abortable(async move { Ok(session.inspect(|it| it.status().phase).await.into()) }).await
    }

    /// Returns the last activity of the session: output of the agent or input of the host.
    pub async fn last_activity(&self) -> Result<LastActivity> {
        let session = self.core();
        abortable(async move { Ok(session.last_activity().await.into()) }).await
    }

    /// Returns what the agent's version offers, once its first turn has named it.
    pub async fn capabilities(&self) -> Result<Option<AgentCapabilities>> {
        let session = self.core();
        abortable(async move { Ok(session.capabilities().await.map(Into::into)) }).await
    }

    /// Returns what the session can do, by its agent's protocol; empty once it has ended.
    pub async fn supported(&self) -> Result<Vec<Capability>> {
        let session = self.core();
        let supported = async move {
            let supported = session.supported().await;
            Ok(supported.iter().filter_map(Capability::of).collect())
        };
        abortable(supported).await
    }

    /// Returns the state of the connection to the agent's machine.
    pub fn connection(&self) -> Result<ConnectionView> {
        call(|| Ok(self.session.used().connection().borrow().clone().into()))
    }

    /// Returns a stream of the states of that connection, from the current one until the session's end.
    pub fn connection_stream(&self) -> Result<Arc<ConnectionStream>> {
        call(|| {
            Ok(ConnectionStream::new(
                self.session.used().connection_states(),
            ))
        })
    }

    /// Tries again to restore a connection that has failed.
    ///
    /// # Errors
    ///
    /// `Invalid` if the connection has not failed, or cannot be restored.
    pub fn retry(&self) -> Result<()> {
        call(|| Ok(self.session.used().retry()?))
    }

    /// Returns a stream of the bytes of one of the agent's output streams; the output if `kind` is absent.
    ///
    /// Bytes that are no longer kept (`DialogueConfiguration.keptOutput`) come from the session's recording,
    /// if there is one; otherwise they are a gap.
    #[uniffi::method(default(kind = None))]
    pub fn raw_stream(&self, kind: Option<OutputKind>) -> Result<Arc<RawStream>> {
        call(|| {
            let stream = kind.unwrap_or_default().into();
            Ok(RawStream::new(self.session.used().raw_output(stream, 0)))
        })
    }

    /// Returns the offset past the last byte of a stream so far, from which only later bytes are read.
    #[uniffi::method(default(kind = None))]
    pub fn raw_end(&self, kind: Option<OutputKind>) -> Result<u64> {
        call(|| Ok(self.session.used().raw_end(kind.unwrap_or_default().into())))
    }

    /// Records the session from now on in a new file, as `record` of its configuration does from its start.
    ///
    /// The recording begins with the oldest bytes that are kept. Returns the offset of the first one in the
    /// output: if it is not 0, earlier output is missing, and the end of the session says so.
    ///
    /// # Errors
    ///
    /// `Io` if the file exists or cannot be created; `Invalid` if the session is recorded already; `Ended`
    /// if it has ended.
    pub async fn record(&self, path: String) -> Result<u64> {
        let session = self.core();
        uncancelled(async move { Ok(session.record(path).await?) }).await
    }

    /// Writes what is known of the session into a new file, for a report of a problem: its streams as a journal,
    /// the transcript, settings, limits, versions, and the last log lines. `Engine.openRecording` and `bowline
    /// replay` read it. Secrets are removed, and on request all content.
    ///
    /// # Errors
    ///
    /// `Io` if the file exists or cannot be written.
    #[uniffi::method(default(redaction = None))]
    pub async fn diagnostics(&self, path: String, redaction: Option<Redaction>) -> Result<()> {
        let session = self.core();
        uncancelled(async move {
            let known = session.diagnostics().await;
            blocking(move || bundle::create(known, &path, redaction.unwrap_or(Redaction::Secrets)))
                .await
        })
        .await
    }

    /// Returns a stream of the transcript's changes from the beginning.
    pub fn change_stream(&self) -> Result<Arc<ChangeStream>> {
        call(|| {
            let source = ChangeSource::Session(self.core());
            Ok(ChangeStream::new(source, self.cursors))
        })
    }

    /// Returns a stream of the session's events from now on.
    ///
    /// For all events since the start use `Engine.startWithEvents`.
    #[uniffi::method(default(limits = None))]
    pub fn event_stream(&self, limits: Option<EventLimits>) -> Result<Arc<DialogueEventStream>> {
        call(|| {
            let limits = limits.map(Into::into).unwrap_or_default();
            Ok(DialogueEventStream::new(
                self.session.used().subscribe(limits),
            ))
        })
    }

    /// Returns the current transcript. It shares its text with the session and is cheap.
    pub async fn snapshot(&self) -> Result<Arc<TranscriptSnapshot>> {
        let (session, cursors) = (self.core(), self.cursors);
        abortable(async move { Ok(TranscriptSnapshot::new(session.snapshot().await, cursors)) })
            .await
    }

    /// Reads entries that were dropped from the transcript's window from the session's recording.
    ///
    /// Returns the newest dropped entries of all threads before the number `entry`, or the newest of
    /// all if it is absent; nothing if no earlier entry was dropped. Times are those of a journal; a
    /// recording of the output alone has none, and they are 0. Tool calls follow all entries and may be on
    /// another page than the message that made them. Items that were still open when their neighbours were
    /// dropped are in the window as well, with the same number.
    ///
    /// # Errors
    ///
    /// `Invalid` if the session is not recorded; `Io` if the recording is incomplete.
    #[uniffi::method(default(entry = None))]
    pub async fn entries_before(&self, entry: Option<u32>) -> Result<Option<SnapshotPage>> {
        let session = self.core();
        abortable(async move {
            let page = session.entries_before(entry).await?;
            Ok(page.map(|page| SnapshotPage::of_recording(&page)))
        })
        .await
    }

    /// Sends a prompt. One that is sent during a turn waits for the next turn or joins the current one, by what
    /// `supported` returns (`Queue`, `Steer`) and by its priority.
    ///
    /// # Errors
    ///
    /// `Ended` if the session has ended; `Disconnected` if the connection was given up; `Invalid` if the
    /// prompt is empty or its UUID was used before.
    pub async fn send(&self, prompt: Prompt) -> Result<Arc<Receipt>> {
        let session = self.core();
        uncancelled(async move { Ok(Receipt::new(session.send(prompt).await?)) }).await
    }

    /// Returns the session's open permission requests and the newest closed ones.
    pub fn permissions(&self) -> Result<Vec<PermissionRecord>> {
        call(|| {
            let permissions = self.session.used().permissions();
            Ok(permissions.iter().map(|it| (&**it).into()).collect())
        })
    }

    /// Answers a permission request.
    ///
    /// The first answer wins; repeating it is not an error. `answeredBy` names the person or program
    /// that decided.
    ///
    /// # Errors
    ///
    /// `Ended` if the session has ended; `Disconnected` if the connection was given up; `NotFound` if
    /// there is no such request; `TooLate` if it has another answer or is closed; `Invalid` if the answer
    /// does not fit the request.
    #[uniffi::method(default(answered_by = None))]
    pub async fn respond(
        &self,
        request_id: String,
        answer: PermissionAnswer,
        answered_by: Option<String>,
    ) -> Result<()> {
        let session = self.core();
        uncancelled(async move {
            match answered_by {
                Some(by) => session.answer_permission_as(by, request_id, answer).await?,
                None => session.answer_permission(request_id, answer).await?,
            }
            Ok(())
        })
        .await
    }

    /// Interrupts what `scope` names; the current turn if it is absent.
    ///
    /// # Errors
    ///
    /// `Ended` if the session has ended; `Disconnected` if the connection was given up; `Refused` if the
    /// agent refuses; `NoAnswer` if it does not answer in time.
    #[uniffi::method(default(scope = None))]
    pub async fn interrupt(&self, scope: Option<InterruptScope>) -> Result<InterruptReport> {
        let session = self.core();
        uncancelled(async move {
            let scope = scope.map(Into::into).unwrap_or_default();
            Ok(session.interrupt_scope(scope).await?.into())
        })
        .await
    }

    /// Returns the prompts that have no turn yet, in the order in which the agent will answer them.
    pub async fn queue(&self) -> Result<Vec<QueuedPrompt>> {
        let session = self.core();
        abortable(async move {
            let queue = session.inspect(|it| it.session().queue().map(Into::into).collect());
            Ok(queue.await)
        })
        .await
    }

    /// Changes the content or the place of a prompt that waits, or drops it.
    ///
    /// # Errors
    ///
    /// `TooLate` if the prompt was sent to the agent; `NotFound` if it, or the one beside which it is placed, does not
    /// wait; `Invalid` if the new content is empty; `Ended` if the session has ended.
    pub async fn edit_queue(&self, uuid: String, change: QueueChange) -> Result<()> {
        let session = self.core();
        uncancelled(async move {
            let change = change.into();
            let edit = core::QueueEdit { uuid, change };
            session.submit(core::Intent::EditQueue(edit)).await?;
            Ok(())
        })
        .await
    }

    /// Sets the model for later requests; the agent's default if absent.
    ///
    /// # Errors
    ///
    /// As `interrupt`.
    pub async fn set_model(&self, model: Option<String>) -> Result<()> {
        let session = self.core();
        uncancelled(async move { Ok(session.set_model(model).await?) }).await
    }

    /// Sets an option of the session, such as `model`, `mode` or `effort`, to one of its values.
    ///
    /// # Errors
    ///
    /// As `interrupt`; `Invalid` if the agent has no such option or value.
    pub async fn set_option(&self, option: String, value: String) -> Result<()> {
        let session = self.core();
        uncancelled(async move { Ok(session.set_option(option, value).await?) }).await
    }

    /// Sets the permission mode.
    ///
    /// # Errors
    ///
    /// As `interrupt`.
    pub async fn set_permission_mode(&self, mode: String) -> Result<()> {
        let session = self.core();
        uncancelled(async move { Ok(session.set_permission_mode(mode).await?) }).await
    }

    /// Sends a control request of the agent's protocol and returns the answer as a JSON value.
    ///
    /// `fields` are the members of the request besides its subtype, a JSON object.
    ///
    /// # Errors
    ///
    /// As `interrupt`; `Invalid` if `fields` is not a JSON object.
    #[uniffi::method(default(fields = None))]
    pub async fn request(&self, subtype: String, fields: Option<String>) -> Result<String> {
        let session = self.core();
        uncancelled(async move {
            let fields = serde_json::from_str(fields.as_deref().unwrap_or("{}"));
            let fields = fields.map_err(|error| {
                BowlineError::invalid(format!(
                    "parse the fields of {subtype}: {error}; pass a JSON object"
                ))
            })?;
            Ok(session
                .request(HostRequest::Other { subtype, fields })
                .await?)
        })
        .await
    }

    /// Holds back further prompts and waits until the agent has answered those that it has.
    ///
    /// # Errors
    ///
    /// `Ended` if the session has ended; `Cancelled` if `cancellation` is cancelled. The session stays
    /// paused then.
    #[uniffi::method(default(cancellation = None))]
    pub async fn pause(&self, cancellation: Option<Arc<Cancellation>>) -> Result<()> {
        let session = self.core();
        abortable(cancellable(cancellation, async move {
            Ok(session.pause().await?)
        }))
        .await
    }

    /// Ends a pause: prompts that were held back are sent in order.
    ///
    /// # Errors
    ///
    /// `Ended` if the session has ended.
    pub async fn unpause(&self) -> Result<()> {
        let session = self.core();
        uncancelled(async move { Ok(session.unpause().await?) }).await
    }

    /// Sends a signal to the agent's process.
    ///
    /// # Errors
    ///
    /// `Ended` if the process has ended.
    pub fn signal(&self, signal: SignalKind) -> Result<()> {
        call(|| Ok(self.session.used().signal(signal.into())?))
    }

    /// Ends the session gracefully: waits for open prompts to be answered, then asks the agent to
    /// exit.
    pub async fn end(&self) -> Result<DialogueEnd> {
        let session = self.core();
        uncancelled(async move { Ok(session.end().await.into()) }).await
    }

    /// Terminates the agent and all of its descendants, and waits until they are gone.
    ///
    /// May be called more than once. All callers get the same result.
    pub async fn terminate(&self) -> Result<DialogueEnd> {
        let session = self.core();
        uncancelled(async move { Ok(session.terminate().await.into()) }).await
    }

    /// Detaches from a session at a runner: this handle ends, the agent keeps running.
    ///
    /// # Errors
    ///
    /// `Ended` if the session has ended; `Invalid` if the agent is a child process of the host.
    pub async fn detach(&self) -> Result<DialogueEnd> {
        let session = self.core();
        uncancelled(async move { Ok(session.detach().await?.into()) }).await
    }

    /// Waits for the end of the session. Does not end it.
    ///
    /// # Errors
    ///
    /// `Cancelled` if `cancellation` is cancelled. The session continues.
    #[uniffi::method(default(cancellation = None))]
    pub async fn wait_for_end(
        &self,
        cancellation: Option<Arc<Cancellation>>,
    ) -> Result<DialogueEnd> {
        let session = self.core();
        abortable(cancellable(cancellation, async move {
            Ok(session.ended().await.into())
        }))
        .await
    }
}
