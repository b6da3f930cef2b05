//! Requests that are kept until they are acknowledged, and repeated on each new connection.

use std::time::Duration;

use super::Ticket;
use bowline_process::Signal;
use bowline_process::TerminationPolicy;
use bowline_process::WindowSize;
use bowline_wire::{Message, Prompt, PromptStatus};

/// Time that a kill may take in addition to its grace periods: a dead link is noticed and replaced, and a
/// busy machine ends many sessions.
const KILL_MARGIN: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct PendingRequests {
    /// Prefix of each id, which distinguishes this host's ids from those of earlier hosts.
    salt: u64,
    count: u64,
    size: Option<WindowSize>,
    signals: Vec<SentSignal>,
    kill: Option<Kill>,
    prompts: Vec<(Prompt, Ticket)>,
}

/// A sent signal and the first ping after it, whose pong acknowledges the signal.
#[derive(Debug)]
struct SentSignal {
    id: String,
    signal: Signal,
    ping: Option<u64>,
}

#[derive(Debug)]
struct Kill {
    id: String,
    policy: TerminationPolicy,
    since: Duration,
}

impl PendingRequests {
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

    /// Records a new window size, which later attaches repeat.
    pub(super) fn resize(&mut self, size: WindowSize) -> Message {
        self.size = Some(size);
        self.count += 1;
        let seq = self.count;
        Message::Resize { seq, size }
    }

    /// Records a signal, which is repeated until a pong acknowledges it.
    pub(super) fn signal(&mut self, signal: Signal) -> Message {
        let id = self.id();
        self.signals.push(SentSignal {
            id: id.clone(),
            signal,
            ping: None,
        });
        Message::Signal { id, signal }
    }

    /// Records a ping. Its pong acknowledges the signals sent before.
    pub(super) fn ping(&mut self, nonce: u64) {
        for sent in &mut self.signals {
            sent.ping.get_or_insert(nonce);
        }
    }

    /// Removes the signals that a pong acknowledges.
    pub(super) fn pong(&mut self, nonce: u64) {
        self.signals
            .retain(|sent| sent.ping.is_none_or(|ping| ping > nonce));
    }

    /// Records a kill. A later one can only shorten the grace periods.
    pub(super) fn kill(&mut self, policy: TerminationPolicy, now: Duration) -> Message {
        let (policy, since) = match &self.kill {
            Some(kill) => (kill.policy.strictest(policy), kill.since),
            None => (policy, now),
        };
        let id = self.id();
        self.kill = Some(Kill {
            id: id.clone(),
            policy,
            since,
        });
        Message::Kill { id, policy }
    }

    /// Returns when a kill that was not reported counts as failed.
    pub(super) fn kill_deadline(&self) -> Option<Duration> {
        let kill = self.kill.as_ref()?;
        let TerminationPolicy {
            eof_grace,
            interrupt,
            term_grace,
            kill: kill_time,
        } = kill.policy;
        let periods = [
            eof_grace,
            interrupt.unwrap_or_default(),
            term_grace,
            kill_time,
            KILL_MARGIN,
        ];
        Some(
            periods
                .into_iter()
                .fold(kill.since, Duration::saturating_add),
        )
    }

    pub(super) fn is_killing(&self) -> bool {
        self.kill.is_some()
    }

    /// Removes the kill and returns the time since it was requested.
    pub(super) fn killed(&mut self, now: Duration) -> Option<Duration> {
        self.kill.take().map(|kill| now.saturating_sub(kill.since))
    }

    pub(super) fn prompt(&mut self, prompt: Prompt, ticket: Ticket) -> Message {
        self.prompts.push((prompt.clone(), ticket));
        Message::Prompt(prompt)
    }

    /// Removes a prompt that is no longer queued and returns its tickets.
    pub(super) fn prompted(&mut self, id: &str, state: &PromptStatus) -> Vec<Ticket> {
        if *state == PromptStatus::Queued {
            return Vec::new();
        }
        let (done, kept) = self.prompts.drain(..).partition(|(it, _)| it.id == id);
        self.prompts = kept;
        let done: Vec<(Prompt, Ticket)> = done;
        done.into_iter().map(|(_, ticket)| ticket).collect()
    }

    /// Returns all requests that are not acknowledged, to be sent on a new connection.
    pub(super) fn unacknowledged(&mut self) -> Vec<Message> {
        let mut requests = Vec::new();
        for sent in &mut self.signals {
            sent.ping = None;
            requests.push(Message::Signal {
                id: sent.id.clone(),
                signal: sent.signal,
            });
        }
        requests.extend(self.kill.as_ref().map(|kill| Message::Kill {
            id: kill.id.clone(),
            policy: kill.policy,
        }));
        let prompts = self.prompts.iter().map(|(prompt, _)| prompt.clone());
        requests.extend(prompts.map(Message::Prompt));
        requests
    }
}
