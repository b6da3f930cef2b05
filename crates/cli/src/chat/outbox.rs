//! Sends the user's requests to the session, in the order in which they were entered.

use bowline_lifecycle::{
    DialogueError, DialogueSession, Intent, PermissionAnswer, Prompt, QueueEdit,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A request to send.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A prompt, with its id.
    Prompt(String, Prompt),
    /// The answer to a permission request, by its id.
    Answer(String, PermissionAnswer),
    /// A new value of an option, and the message to print once it is set.
    Option(&'static str, String),
    /// A change of the queue, and the message to print once it is made.
    Queue(QueueEdit, String),
}

/// Outcome of a request.
#[derive(Debug)]
pub(super) enum Sent {
    Prompt(String, Result<(), DialogueError>),
    /// Something else, with a message about its success.
    Other(Result<String, DialogueError>),
}

/// Handle of the task that sends requests.
pub(super) struct Outbox {
    session: DialogueSession,
    outgoing: UnboundedReceiver<Outgoing>,
    reply: UnboundedSender<Sent>,
}

impl Outbox {
    /// Spawns the task, which ends with the returned sender.
    pub(super) fn spawn(
        session: DialogueSession,
        reply: UnboundedSender<Sent>,
    ) -> UnboundedSender<Outgoing> {
        let (sender, outgoing) = unbounded_channel();
        let outbox = Self {
            session,
            outgoing,
            reply,
        };
        tokio::spawn(outbox.run());
        sender
    }

    async fn run(mut self) {
        while let Some(outgoing) = self.outgoing.recv().await {
            if let Some(sent) = self.send(outgoing).await
                && self.reply.send(sent).is_err()
            {
                return;
            }
        }
    }

    async fn send(&self, outgoing: Outgoing) -> Option<Sent> {
        match outgoing {
            Outgoing::Prompt(id, prompt) => {
                let sent = self.session.send(prompt).await;
                Some(Sent::Prompt(id, sent.map(drop)))
            }
            Outgoing::Answer(id, answer) => {
                match self.session.answer_permission(&*id, answer).await {
                    // The transcript shows it.
                    Ok(()) => None,
                    Err(error) => Some(Sent::Other(Err(error))),
                }
            }
            Outgoing::Option(option, value) => {
                let set = self.session.set_option(option, value.clone()).await;
                Some(Sent::Other(
                    set.map(|()| format!("{option} is now {value}")),
                ))
            }
            Outgoing::Queue(edit, done) => {
                let edited = self.session.submit(Intent::EditQueue(edit)).await;
                Some(Sent::Other(edited.map(|_| done)))
            }
        }
    }
}
