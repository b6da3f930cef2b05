//! The session machine: streams as logs, clients as cursors over them.
//!
//! Pure: no clock, no I/O, no task. Time is an argument (since any fixed moment, never backwards),
//! what is to be done outside comes out as [`Effect`]s, and what is to be sent to a client is
//! *pulled* with [`next_frame`](SessionMachine::next_frame) when its connection has room. Invariants:
//!
//! * What a client is sent of a stream is one contiguous piece, or a `Gap` says what is missing.
//! * A client costs its cursors, a bounded outbox, and one piece of the journal at most.
//! * Input is applied once, in order, and never by two writers: a lease has a generation, and what
//!   an older one sends changes nothing, its close included.
//! * The child is held back by a client of a blocking stream alone, and only while the journal does
//!   not have what the client lacks.
//! * `Exit` comes behind every byte, and is kept until somebody with a lease has acknowledged it.

mod attach;
mod child_events;
mod client;
mod configuration;
mod connections;
mod deliver;
mod effect;
mod input;
mod request_dedup;
mod requests;
mod ring;
mod stream;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use bowline_transport::SessionId;

use self::client::Client;
use self::input::{Input, InputEvent};
use self::request_dedup::RequestDedup;
use self::stream::Stream;
use crate::wire::{
    Epoch, ExitNotice, KillReport, Message, PromptStatus, SessionFacts, StreamId, code,
};

pub use self::client::ClientId;
pub use self::configuration::{MachineConfiguration, StreamConfiguration};
pub use self::effect::{Effect, JournalRead, ScreenSnapshot};
pub use self::stream::OverflowPolicy;

/// How long an exit is kept for somebody to acknowledge it (terminal notes, section 5.3).
const DEFAULT_EXIT_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Newest refusals of input that a writer is told again when it comes back.
const MAX_REFUSALS: usize = 16;

#[derive(Debug)]
struct Exit {
    notice: ExitNotice,
    at: Duration,
    acknowledged: Option<Duration>,
}

/// Kills, by their ids.
#[derive(Debug, Default)]
struct Kills {
    seen: RequestDedup<()>,
    waiters: Vec<(ClientId, String)>,
    report: Option<KillReport>,
}

/// One session: its streams, its clients, its lease, its input, its end.
#[derive(Debug)]
pub struct SessionMachine {
    session: SessionId,
    epoch: Epoch,
    facts: SessionFacts,
    has_screen: bool,
    exit_retention: Duration,
    streams: BTreeMap<StreamId, Stream>,
    clients: BTreeMap<ClientId, Client>,
    next_client: u64,
    generation: u64,
    writer: Option<ClientId>,
    /// Where the terminal's output was when the last writer went.
    unattended_from: u64,
    input: Input,
    /// Who waiters last what becomes of a prompt.
    watchers: HashMap<String, ClientId>,
    refusals: VecDeque<InputEvent>,
    bracketed_paste: bool,
    signals: RequestDedup<()>,
    kills: Kills,
    degraded: BTreeMap<String, String>,
    exit: Option<Exit>,
    effects: VecDeque<Effect>,
    now: Duration,
}

impl SessionMachine {
    /// A session that has written nothing and has no client.
    pub fn new(configuration: MachineConfiguration) -> Self {
        let stream = |it: StreamConfiguration| (it.id, Stream::new(it.policy, it.ring_bytes));
        Self {
            session: configuration.session,
            epoch: configuration.epoch,
            facts: configuration.facts,
            has_screen: configuration.has_screen,
            exit_retention: configuration
                .exit_retention
                .unwrap_or(DEFAULT_EXIT_RETENTION),
            streams: configuration.streams.into_iter().map(stream).collect(),
            clients: BTreeMap::new(),
            next_client: 0,
            generation: 0,
            writer: None,
            unattended_from: 0,
            input: Input::new(),
            watchers: HashMap::new(),
            refusals: VecDeque::new(),
            bracketed_paste: false,
            signals: RequestDedup::default(),
            kills: Kills::default(),
            degraded: BTreeMap::new(),
            exit: None,
            effects: VecDeque::new(),
            now: Duration::ZERO,
        }
    }

    /// The slowest client that follows a stream and is there.
    fn slowest(&self, id: StreamId) -> Option<u64> {
        let attached = self.clients.values().filter_map(Client::attachment);
        let cursors = attached.filter_map(|it| it.cursors.get(&id));
        cursors.map(|cursor| cursor.acked).min()
    }

    /// Queues a message for a client, if it is still there.
    fn send(&mut self, id: ClientId, message: Message) {
        if let Some(client) = self.clients.get_mut(&id)
            && !client.closing
        {
            client.outbox.push_back(message);
        }
    }

    /// Tells a client that something was not done.
    fn send_error(&mut self, id: ClientId, code: &str, detail: &str) {
        let retryable = matches!(code, code::LIMIT | code::DAMAGED);
        let error = Message::Error {
            code: code.to_owned(),
            retryable,
            after_ms: (code == code::LIMIT).then_some(1_000),
            detail: detail.to_owned(),
        };
        self.send(id, error);
    }

    /// Tells a client why it has to go, and lets it go.
    fn reject(&mut self, id: ClientId, code: &str, detail: &str) {
        self.send_error(id, code, detail);
        self.release_lease(id, false);
        self.end_client(id);
    }

    fn end_client(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.closing = true;
        }
    }

    fn notify_all(&mut self, events: Vec<InputEvent>) {
        for one in events {
            self.notify(one);
        }
    }

    fn notify(&mut self, events: InputEvent) {
        match events {
            InputEvent::Prompt(id, state) => self.notify_prompt(id, state),
            InputEvent::Accepted => self.schedule_input_ack(),
            InputEvent::Refused {
                from,
                to,
                ref reason,
            } => {
                if let Some(writer) = self.writer {
                    let reason = reason.clone();
                    self.send(writer, Message::InputRefused { from, to, reason });
                }
                self.schedule_input_ack();
                self.refusals.push_back(events);
                if self.refusals.len() > MAX_REFUSALS {
                    self.refusals.pop_front();
                }
            }
        }
    }

    /// Tells whoever waiters last, until there is no more to come.
    fn notify_prompt(&mut self, id: String, state: PromptStatus) {
        let is_settled = self.input.is_settled(&id);
        let watcher = self.watchers.get(&id).copied();
        if is_settled {
            self.watchers.remove(&id);
        }
        if let Some(watcher) = watcher {
            self.send(watcher, Message::PromptState { id, state });
        }
    }

    fn schedule_input_ack(&mut self) {
        let writer = self.writer.and_then(|id| self.clients.get_mut(&id));
        if let Some(attachment) = writer.and_then(Client::attachment_mut) {
            attachment.input_ack_due = true;
        }
    }
}

#[cfg(test)]
mod tests;
