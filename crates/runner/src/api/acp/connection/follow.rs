//! Reads a session for an editor.

use std::sync::Arc;

use bowline_lifecycle::{DialogueEventKind, DialogueEvents, DialogueSession, ReceiptState};
use bowline_reducer::{ChangeParts, Changes, Cursor, TranscriptChange};
use bowline_transport::SessionId;
use tokio::sync::mpsc;

use super::Event;
use super::ended::{self, EndedSession, not_found};
use super::pieces::pieces;
use super::work::failure_of;
use crate::api::acp::intent::{Attachment, Failure, FailureKind, Input, PromptEnd};
use crate::app_state::AppState;
use crate::conversations::{Conversation, ConversationError};

/// Maximum number of changes that are read at once.
const BATCH: usize = 256;

/// Follows a session until it ends, or the daemon stops.
pub(super) async fn follow(
    app: Arc<AppState>,
    attachment: Attachment,
    session: String,
    events: mpsc::Sender<Event>,
) {
    let conversation = match attach(&app, &session).await {
        Ok(Attached::Driven(conversation)) => conversation,
        Ok(Attached::Ended(ended)) => {
            let EndedSession { transcript, reason } = ended;
            if send_pieces(&events, attachment, transcript.snapshot.change_parts())
                .await
                .is_some()
            {
                let end = Input::Ended { attachment, reason };
                let _ = events.send(Event::Input(end)).await;
            }
            return;
        }
        Err(failure) => {
            let failed = Input::AttachFailed {
                attachment,
                failure,
            };
            let _ = events.send(Event::Input(failed)).await;
            return;
        }
    };
    let session = conversation.session().clone();
    let receipts = session.events();
    let (ends, prompt_ends) = mpsc::unbounded_channel();
    let follower = Follower {
        app,
        attachment,
        session,
        cursor: Cursor::default(),
        prompt_ends,
        events,
    };
    // Receipts are taken while the editor takes nothing, so that none is dropped.
    tokio::select! {
        _ = follower.run(conversation) => {}
        () = collect(receipts, ends) => {}
    }
}

/// Sends a whole transcript. Returns `None` if the connection is over.
async fn send_pieces(
    events: &mpsc::Sender<Event>,
    attachment: Attachment,
    parts: ChangeParts,
) -> Option<()> {
    let mut pieces = pieces(parts).peekable();
    while let Some(changes) = pieces.next() {
        let input = Input::Changes {
            attachment,
            changes,
            has_more: pieces.peek().is_some(),
        };
        events.send(Event::Input(input)).await.ok()?;
    }
    Some(())
}

/// A session that an editor opens.
enum Attached {
    Driven(Conversation),
    Ended(EndedSession),
}

async fn attach(app: &Arc<AppState>, session: &str) -> Result<Attached, Failure> {
    let id: SessionId = session.parse().map_err(|_| not_found(session))?;
    match app.conversations.attach(id).await {
        Ok(conversation) => Ok(Attached::Driven(conversation)),
        Err(ConversationError::Ended) => Ok(Attached::Ended(ended::read(app, id).await?)),
        Err(ConversationError::NotFound) => Err(not_found(session)),
        Err(error) => Err(failure_of(&error)),
    }
}

/// A prompt's uuid, and how it ended.
type Ended = (String, PromptEnd);

/// Reports which prompts are done.
async fn collect(mut receipts: DialogueEvents, ends: mpsc::UnboundedSender<Ended>) {
    while let Some(event) = receipts.next().await {
        if let DialogueEventKind::Receipt { uuid, state } = event.kind.clone()
            && let Some(end) = prompt_end(state)
            && ends.send((uuid, end)).is_err()
        {
            return;
        }
    }
    std::future::pending().await
}

fn prompt_end(state: ReceiptState) -> Option<PromptEnd> {
    let failed = |why: &str| PromptEnd::Failed(Failure::new(FailureKind::Failed, why));
    match state {
        ReceiptState::Answered | ReceiptState::Merged => Some(PromptEnd::Answered),
        ReceiptState::Cancelled => Some(PromptEnd::Cancelled),
        ReceiptState::Duplicate => Some(failed("the conversation has this prompt already")),
        // The end of the session says more.
        _ => None,
    }
}

struct Follower {
    app: Arc<AppState>,
    attachment: Attachment,
    session: DialogueSession,
    cursor: Cursor,
    prompt_ends: mpsc::UnboundedReceiver<Ended>,
    events: mpsc::Sender<Event>,
}

impl Follower {
    /// Sends the present transcript, then its changes. Returns `None` once the connection is over.
    async fn run(mut self, conversation: Conversation) -> Option<()> {
        let attached = Event::Attached(self.attachment, conversation);
        self.events.send(attached).await.ok()?;
        let parts = self.session.change_parts().await;
        self.cursor = parts.cursor();
        send_pieces(&self.events, self.attachment, parts).await?;
        let mut ended = Vec::new();
        loop {
            // Both before the read, so that the transcript contains what they report.
            let has_ended = self.session.has_ended();
            while let Ok(end) = self.prompt_ends.try_recv() {
                ended.push(end);
            }
            while self.read().await? {}
            let attachment = self.attachment;
            for (uuid, end) in ended.drain(..) {
                let input = Input::PromptEnded {
                    attachment,
                    uuid,
                    end,
                };
                self.send(input).await?;
            }
            if has_ended {
                return self.end().await;
            }
            tokio::select! {
                Some(end) = self.prompt_ends.recv() => ended.push(end),
                () = self.session.changed_since(self.cursor.revision()) => {}
            }
        }
    }

    /// Sends the next changes; returns whether there were any.
    async fn read(&mut self) -> Option<bool> {
        let read = self.session.changes_up_to(self.cursor, BATCH, owned);
        let (cursor, changes) = read.await;
        self.cursor = cursor;
        if changes.is_empty() {
            return Some(false);
        }
        let attachment = self.attachment;
        self.send(Input::Changes {
            attachment,
            changes,
            has_more: false,
        })
        .await?;
        Some(true)
    }

    /// Reports that the session has ended. When the daemon stops, the session continues without this handle.
    async fn end(&self) -> Option<()> {
        if self.app.shutdown.is_cancelled() {
            return None;
        }
        let end = self.session.ended().await;
        self.send(Input::Ended {
            attachment: self.attachment,
            reason: end.reason,
        })
        .await
    }

    async fn send(&self, input: Input) -> Option<()> {
        self.events.send(Event::Input(input)).await.ok()
    }
}

fn owned(changes: &Changes<'_>) -> Vec<TranscriptChange> {
    changes.iter().map(Into::into).collect()
}
