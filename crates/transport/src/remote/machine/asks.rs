//! What was asked for by id, kept until the owner has answered, so that it may be asked again.

use std::time::Duration;

use super::Ticket;
use bowline_process::Ladder;
use bowline_process::Signal;
use bowline_process::WindowSize;
use bowline_wire::{Message, Prompt, PromptStatus};

#[derive(Debug)]
pub(super) struct Asks {
    /// In front of each id, so that those of an earlier host of the same session are others.
    salt: u64,
    count: u64,
    size: Option<WindowSize>,
    signals: Vec<Sent>,
    kill: Option<Kill>,
    prompts: Vec<(Prompt, Ticket)>,
}

/// A signal, and the question whose answer says that it was sent on.
#[derive(Debug)]
struct Sent {
    id: String,
    signal: Signal,
    ping: Option<u64>,
}

#[derive(Debug)]
struct Kill {
    id: String,
    ladder: Ladder,
    since: Duration,
}

impl Asks {
    pub(super) fn new(salt: u64, size: Option<WindowSize>) -> Self {
        Self {
            salt,
            count: 0,
            size,
            signals: Vec::new(),
            kill: None,
            prompts: Vec::new(),
        }
    }

    fn id(&mut self) -> String {
        self.count += 1;
        format!("{:016x}-{}", self.salt, self.count)
    }

    pub(super) fn size(&self) -> Option<WindowSize> {
        self.size
    }

    /// The window has another size. An attach states the newest.
    pub(super) fn resize(&mut self, size: WindowSize) -> Message {
        self.size = Some(size);
        self.count += 1;
        let seq = self.count;
        Message::Resize { seq, size }
    }

    /// A signal is to be sent, and again until a pong covers it.
    pub(super) fn signal(&mut self, signal: Signal) -> Message {
        let id = self.id();
        self.signals.push(Sent {
            id: id.clone(),
            signal,
            ping: None,
        });
        Message::Signal { id, signal }
    }

    /// A ping goes out behind all that was sent before.
    pub(super) fn ping(&mut self, nonce: u64) {
        for sent in &mut self.signals {
            sent.ping.get_or_insert(nonce);
        }
    }

    /// A pong says that all that stood before its ping was done.
    pub(super) fn pong(&mut self, nonce: u64) {
        self.signals
            .retain(|sent| sent.ping.is_none_or(|ping| ping > nonce));
    }

    /// The tree is to be ended. A later request makes it harder, never softer.
    pub(super) fn kill(&mut self, ladder: Ladder, now: Duration) -> Message {
        let (ladder, since) = match &self.kill {
            Some(kill) => (kill.ladder.harder(ladder), kill.since),
            None => (ladder, now),
        };
        let id = self.id();
        self.kill = Some(Kill {
            id: id.clone(),
            ladder,
            since,
        });
        Message::Kill { id, ladder }
    }

    pub(super) fn is_killing(&self) -> bool {
        self.kill.is_some()
    }

    /// The owner, or nobody, has answered: how long it took.
    pub(super) fn killed(&mut self, now: Duration) -> Option<Duration> {
        self.kill.take().map(|kill| now.saturating_sub(kill.since))
    }

    pub(super) fn prompt(&mut self, prompt: Prompt, ticket: Ticket) -> Message {
        self.prompts.push((prompt.clone(), ticket));
        Message::Prompt(prompt)
    }

    /// Who waits for a prompt to be more than queued.
    pub(super) fn prompted(&mut self, id: &str, state: &PromptStatus) -> Vec<Ticket> {
        if *state == PromptStatus::Queued {
            return Vec::new();
        }
        let (told, kept) = self.prompts.drain(..).partition(|(it, _)| it.id == id);
        self.prompts = kept;
        let told: Vec<(Prompt, Ticket)> = told;
        told.into_iter().map(|(_, ticket)| ticket).collect()
    }

    /// Everything that the owner may not have heard, for a new connection.
    pub(super) fn again(&mut self) -> Vec<Message> {
        let mut asks = Vec::new();
        for sent in &mut self.signals {
            sent.ping = None;
            asks.push(Message::Signal {
                id: sent.id.clone(),
                signal: sent.signal,
            });
        }
        asks.extend(self.kill.as_ref().map(|kill| Message::Kill {
            id: kill.id.clone(),
            ladder: kill.ladder,
        }));
        let prompts = self.prompts.iter().map(|(prompt, _)| prompt.clone());
        asks.extend(prompts.map(Message::Prompt));
        asks
    }
}
