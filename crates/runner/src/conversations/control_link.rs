//! The connection to a session's control stream, and the intents that are to be appended there.

use bowline_transport::Inbox;
use bowline_transport::wire::{Message, Prompt, PromptMode};
use bytes::Bytes;

use super::conversation::Submission;
use crate::sessions::{ShimLink, ShimLinkError};

/// Bytes that may wait for the shim to take them before no further intent is received. The senders of
/// intents wait meanwhile.
const MAX_UNSENT: usize = 1 << 20;

/// What happened next.
#[derive(Debug)]
pub(super) enum ControlEvent {
    /// An intent is to be appended.
    Submission(Submission),
    /// The shim has sent a message.
    Message(Message),
    /// The connection is lost.
    Lost(ShimLinkError),
}

/// The connection, and the queue of intents.
#[derive(Debug)]
pub(super) struct ControlLink {
    link: ShimLink,
    submissions: Inbox<Submission>,
}

impl ControlLink {
    pub(super) const fn new(link: ShimLink, submissions: Inbox<Submission>) -> Self {
        Self { link, submissions }
    }

    /// Waits for a message, or for an intent while the shim takes what was queued. Cancel safe.
    pub(super) async fn next(&mut self) -> ControlEvent {
        let has_room = self.link.unsent() < MAX_UNSENT;
        tokio::select! {
            Some(submission) = self.submissions.recv(), if has_room => {
                ControlEvent::Submission(submission)
            }
            message = self.link.next() => match message {
                Ok(message) => ControlEvent::Message(message),
                Err(error) => ControlEvent::Lost(error),
            },
        }
    }

    /// Queues a line for the control stream, with the id of the HTTP request that it comes from.
    pub(super) fn queue_line(&mut self, id: &str, bytes: Bytes, request_id: Option<String>) {
        self.queue(Message::Prompt(control_prompt(id, bytes, request_id)));
    }

    pub(super) fn queue(&mut self, message: Message) {
        self.link.queue(message);
    }

    /// Continues over another connection.
    pub(super) fn replace(&mut self, link: ShimLink) {
        self.link = link;
    }
}

pub(super) fn control_prompt(id: &str, bytes: Bytes, request_id: Option<String>) -> Prompt {
    Prompt {
        id: id.to_owned(),
        bytes,
        mode: PromptMode::Control,
        request_id,
    }
}

#[cfg(test)]
mod tests {
    use bowline_lifecycle::Intent;
    use futures_util::FutureExt as _;
    use tokio::net::UnixStream;
    use tokio::sync::oneshot;

    use super::*;

    const LINE: usize = 256 << 10;

    fn submission() -> Submission {
        Submission {
            id: "i".to_owned(),
            intent: Intent::End,
            request_id: None,
            reply: oneshot::channel().0,
        }
    }

    #[tokio::test]
    async fn intents_wait_while_the_shim_takes_no_lines() {
        const SENT: usize = 64;
        let (shim, ours) = UnixStream::pair().unwrap();
        let (sender, inbox) = Inbox::bounded(SENT);
        let mut control = ControlLink::new(ShimLink::over(ours), inbox);
        for _ in 0..SENT {
            sender.send(submission()).await.unwrap();
        }
        let mut received = 0;
        while control.link.unsent() < MAX_UNSENT {
            let event = control.next().now_or_never();
            assert!(
                matches!(event, Some(ControlEvent::Submission(_))),
                "{event:?}"
            );
            received += 1;
            control.queue_line("i", Bytes::from(vec![b'x'; LINE]), None);
        }
        assert!(received < SENT, "every intent was received");
        // What the socket takes is sent meanwhile; the rest waits, however often the queue is polled.
        for _ in 0..SENT {
            if let Some(event) = control.next().now_or_never() {
                assert!(matches!(event, ControlEvent::Submission(_)), "{event:?}");
                control.queue_line("i", Bytes::from(vec![b'x'; LINE]), None);
            }
        }
        assert!(control.link.unsent() < MAX_UNSENT + 2 * LINE);
        assert!(control.next().now_or_never().is_none());
        drop(shim);
        let lost = control.next().await;
        assert!(matches!(lost, ControlEvent::Lost(_)), "{lost:?}");
    }
}
