//! The task of a conversation: it appends intents to the control stream, and carries out those that come back from
//! there.

use std::collections::HashMap;
use std::time::Duration;

use bowline_lifecycle::control::{ControlEntry, ControlLine, ControlLines};
use bowline_lifecycle::{DialogueError, DialogueSession, Intent};
use bowline_transport::Piece;
use bowline_transport::wire::{Lease, Message, PromptStatus, StreamId};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::warn;
use uuid::Uuid;

use super::control_link::{ControlEvent, ControlLink, control_prompt};
use super::conversation::Submission;
use super::error::ConversationError;
use super::recover::{Outcome, attach};
use crate::session_machine::{REUSED_ID, RequestDedup};
use crate::sessions::{ShimLink, ShimLinkError};
use crate::shim::SessionDir;

/// Pause before the control stream is followed again after its connection was lost.
const RECONNECT_PAUSE: Duration = Duration::from_millis(100);

/// How long the session may take to be detached from when the daemon stops.
const DETACH_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest id of a line, in bytes.
const MAX_LINE_ID: usize = 128;

/// Longest response of the agent to a request of a host, in bytes.
const MAX_RESPONSE: usize = 256 << 10;

type Reply = oneshot::Sender<Result<(), ConversationError>>;

/// The outcome of an intent that was carried out.
type Finished = (String, Outcome);

/// An intent that is not carried out yet.
struct PendingIntent {
    line: Bytes,
    /// Id of the HTTP request that it comes from.
    request_id: Option<String>,
    replies: Vec<Reply>,
}

/// The driver of a conversation.
pub(super) struct Driver {
    pub(super) folder: SessionDir,
    pub(super) session: DialogueSession,
    pub(super) link: ControlLink,
    pub(super) control: ControlLines,
    /// The agent's output before what is received next of the control stream: its end, when the shim took that.
    pub(super) output_end: u64,
    /// Decisions of rules and limits.
    pub(super) decisions: mpsc::UnboundedReceiver<ControlLine>,
    pub(super) shutdown: CancellationToken,
    /// Intents that were carried out, by id, with the outcome once it is known: as many as the shim knows, in the
    /// same order.
    pub(super) done: RequestDedup<Option<Outcome>>,
    pub(super) queues: Queues,
}

/// What waits for its outcome.
#[derive(Default)]
pub(super) struct Queues {
    pending: HashMap<String, PendingIntent>,
    /// Outcomes on their way to the control stream, by the id of their line.
    reports: HashMap<String, Bytes>,
    outcomes: FuturesUnordered<BoxFuture<'static, Finished>>,
}

/// Refuses a response that is too long for a line of the control stream.
fn bounded(response: Option<String>) -> Outcome {
    let length = response.as_ref().map_or(0, String::len);
    if length <= MAX_RESPONSE {
        return Ok(response);
    }
    let reason = format!(
        "the request was carried out, but its response has {length} bytes, more than {MAX_RESPONSE}; ask for less"
    );
    Err(DialogueError::Rejected { reason })
}

/// Connects to the control stream of a session, from an offset on.
pub(super) async fn follow_control(
    folder: &SessionDir,
    next: u64,
) -> Result<ShimLink, ShimLinkError> {
    let mut link = ShimLink::open(folder).await?;
    let cursors = [(StreamId::CONTROL, next)].into();
    link.attach(attach(folder, cursors, Lease::Append)).await?;
    Ok(link)
}

impl Driver {
    /// Runs until the session has ended or the daemon stops.
    pub(super) async fn run(mut self) {
        let (session, shutdown) = (self.session.clone(), self.shutdown.clone());
        let mut ended = std::pin::pin!(session.ended());
        let opened = session.clone();
        let mut opened = std::pin::pin!(async move {
            if opened.opened().await.is_err() {
                opened.terminate().await;
            }
            std::future::pending::<()>().await;
        });
        loop {
            tokio::select! {
                _ = &mut ended => return,
                () = shutdown.cancelled() => break,
                () = &mut opened => {}
                Some(decision) = self.decisions.recv() => self.decided(decision),
                Some(outcome) = self.queues.outcomes.next() => self.finished(outcome),
                event = self.link.next() => match event {
                    ControlEvent::Submission(submission) => self.submitted(submission),
                    ControlEvent::Message(message) => self.message(message),
                    ControlEvent::Lost(error) => self.reconnect(&error).await,
                },
            }
        }
        let _ = timeout(DETACH_TIMEOUT, session.detach()).await;
    }

    fn submitted(&mut self, submission: Submission) {
        let Submission {
            id,
            intent,
            request_id,
            reply,
        } = submission;
        let line = match line_of(&id, &intent, request_id.clone()) {
            Ok(line) => line,
            Err(detail) => {
                let _ = reply.send(Err(ConversationError::Refused(detail)));
                return;
            }
        };
        match self.queues.pending.get_mut(&id) {
            // The shim compares the lines.
            Some(pending) if pending.line == line => return pending.replies.push(reply),
            Some(_) => {
                let _ = reply.send(Err(ConversationError::IdReused));
                return;
            }
            None => {}
        }
        self.link.queue_line(&id, line.clone(), request_id.clone());
        let pending = PendingIntent {
            line,
            request_id,
            replies: vec![reply],
        };
        self.queues.pending.insert(id, pending);
    }

    /// Appends a decision of the session, which takes effect when it is read from the control stream.
    fn decided(&mut self, mut line: ControlLine) {
        if line.id.len() > MAX_LINE_ID {
            line.id = Uuid::new_v4().to_string();
        }
        let id = line.id.clone();
        let Some(bytes) = line.encode().map(Bytes::from) else {
            return;
        };
        self.link.queue_line(&id, bytes.clone(), None);
        let pending = PendingIntent {
            line: bytes,
            request_id: None,
            replies: Vec::new(),
        };
        self.queues.pending.insert(id, pending);
    }

    fn message(&mut self, message: Message) {
        match message {
            Message::PromptState { id, state } => self.kept(&id, state),
            Message::Arrival { output, .. } => self.output_end = output.unwrap_or(0),
            Message::Data { offset, bytes, .. } => {
                let (stream, n) = (StreamId::CONTROL, bytes.len() as u64);
                self.link.queue(Message::Credit { stream, n });
                self.control_piece(&Piece::Bytes { offset, bytes });
            }
            Message::Gap { from, to, .. } => self.control_piece(&Piece::Gap { from, to }),
            _ => {}
        }
    }

    /// Handles the shim's reply to a line. A line that was appended is received as data.
    fn kept(&mut self, id: &str, state: PromptStatus) {
        if self.queues.reports.remove(id).is_some() {
            return;
        }
        match state {
            PromptStatus::Refused { reason } => {
                let error = || match &*reason {
                    REUSED_ID => ConversationError::IdReused,
                    _ => ConversationError::Refused(reason.clone()),
                };
                self.reply(id, error);
            }
            _ => {
                if let Some(Some(outcome)) = self.done.get(id).cloned() {
                    self.reply_with(id, &outcome);
                }
            }
        }
    }

    fn control_piece(&mut self, piece: &Piece) {
        for line in self.control.push(piece) {
            match line {
                Ok(ControlLine {
                    id,
                    entry: ControlEntry::Intent(intent),
                    ..
                }) => self.carry_out(id, intent),
                Ok(_) => {}
                Err(damage) => {
                    warn!(session.id = %self.session.id(), error = %damage, "an intent is lost");
                }
            }
        }
    }

    fn carry_out(&mut self, id: String, intent: Intent) {
        if self.done.get(&id).is_some() {
            return;
        }
        self.done.insert(&id, None);
        // The host that wants this may have seen output that has not arrived here.
        let outcome = self.session.submit_after(intent, self.output_end);
        let outcome = async move { (id, outcome.await.and_then(bounded)) };
        self.queues.outcomes.push(Box::pin(outcome));
    }

    fn finished(&mut self, (id, outcome): Finished) {
        self.reply_with(&id, &outcome);
        self.done.insert(&id, Some(outcome));
        self.report(&id);
    }

    /// Appends what became of an intent to the control stream, for the hosts that follow it there.
    pub(super) fn report(&mut self, of: &str) {
        let Some(Some(result)) = self.done.get(of).cloned() else {
            return;
        };
        let line = ControlLine {
            id: Uuid::new_v4().to_string(),
            client: None,
            entry: ControlEntry::Outcome {
                of: of.to_owned(),
                result,
            },
        };
        if let Some(bytes) = line.encode().map(Bytes::from) {
            self.link.queue_line(&line.id, bytes.clone(), None);
            self.queues.reports.insert(line.id, bytes);
        }
    }

    fn reply_with(&mut self, id: &str, outcome: &Outcome) {
        let pending = self.queues.pending.remove(id);
        for reply in pending.into_iter().flat_map(|it| it.replies) {
            // The caller may have stopped waiting.
            let _ = reply.send(outcome.clone().map(drop).map_err(Into::into));
        }
    }

    fn reply(&mut self, id: &str, error: impl Fn() -> ConversationError) {
        let pending = self.queues.pending.remove(id);
        for reply in pending.into_iter().flat_map(|it| it.replies) {
            // The caller may have stopped waiting.
            let _ = reply.send(Err(error()));
        }
    }

    /// Follows the control stream again, and repeats the lines that may not have arrived.
    async fn reconnect(&mut self, error: &ShimLinkError) {
        tracing::debug!(session.id = %self.session.id(), %error, "connecting to the control stream again");
        let session = self.session.clone();
        let connected = async {
            loop {
                sleep(RECONNECT_PAUSE).await;
                // Bytes after the last line are in `control` already.
                if let Ok(link) = follow_control(&self.folder, self.control.next_offset()).await {
                    return link;
                }
            }
        };
        let link = tokio::select! {
            link = connected => link,
            // The loop sees the same.
            _ = session.ended() => return,
            () = self.shutdown.cancelled() => return,
        };
        self.link.replace(link);
        let pending = self.queues.pending.iter();
        let intents = pending.map(|(id, it)| (id, &it.line, it.request_id.clone()));
        let reports = self.queues.reports.iter();
        for (id, line, request_id) in intents.chain(reports.map(|(id, line)| (id, line, None))) {
            self.link.queue_line(id, line.clone(), request_id);
        }
    }
}

/// Returns the line that keeps an intent, or why it cannot be kept.
fn line_of(id: &str, intent: &Intent, request_id: Option<String>) -> Result<Bytes, String> {
    let line = ControlLine {
        id: id.to_owned(),
        client: None,
        entry: ControlEntry::Intent(intent.clone()),
    };
    let Some(line) = line.encode() else {
        return Err("this runner cannot keep such a request".to_owned());
    };
    let line = Bytes::from(line);
    // The shim would end each connection on which it is sent, and no other intent would get through.
    if !control_prompt(id, line.clone(), request_id).fits() {
        return Err(format!(
            "a request of {} bytes is too large; send less",
            line.len()
        ));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use bowline_lifecycle::{Prompt as DialoguePrompt, PromptPart};
    use bowline_transport::wire::MAX_MESSAGE;

    use super::*;

    #[test]
    fn intent_that_fits_no_message_is_refused() {
        let prompt = |count| {
            Intent::Prompt(DialoguePrompt {
                uuid: Some("u".to_owned()),
                // Each takes two bytes in the line and four in the message.
                parts: vec![PromptPart::Text("\"".repeat(count))],
                ..DialoguePrompt::default()
            })
        };
        assert!(line_of("u", &prompt(MAX_MESSAGE / 4 - 256), None).is_ok());
        let refused = line_of("u", &prompt(MAX_MESSAGE / 4), None).unwrap_err();
        assert!(
            refused.ends_with("bytes is too large; send less"),
            "{refused}"
        );
    }
}
