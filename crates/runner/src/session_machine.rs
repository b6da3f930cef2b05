//! The state machine of one session: streams as logs, clients as cursors over them.
//!
//! It is pure: no clock, no I/O, no task. Time is an argument (elapsed since any fixed moment,
//! never decreasing), actions on the outside are returned as [`Effect`]s, and frames for a client
//! are *pulled* with [`next_frame`](SessionMachine::next_frame) while its connection has room.
//! Invariants:
//!
//! * A client receives a contiguous range of each stream, or a `Gap` that names the missing bytes.
//! * A client costs its cursors, a bounded outbox and at most one chunk read from the journal.
//! * Input is applied once, in order, and by one writer at a time: the write lease has a
//!   generation, and messages of an older generation have no effect, its disconnection included.
//! * The child is paused only for clients of a blocking stream that have a lease, and only while the
//!   journal lacks the bytes that they need. A reader that lags receives a gap.
//! * `Exit` follows the last byte of every stream, and is retained until a client with a lease
//!   acknowledges it.

mod attach;
mod child_events;
mod client;
mod connections;
mod control;
mod deliver;
mod effect;
mod hooks;
mod input;
mod order;
mod request_dedup;
mod requests;
mod ring;
mod stream;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

use bowline_transport::SessionId;

use self::client::Client;
use self::control::Decisions;
use self::hooks::Hooks;
use self::input::{Input, InputEvent};
pub(crate) use self::request_dedup::RequestDedup;
use self::stream::Stream;
use crate::wire::{
    Epoch, ExitNotice, KillReport, Lease, Message, PromptStatus, SessionFacts, StdioKind, StreamId,
    code,
};

pub use self::client::ClientId;
pub use self::effect::{Effect, JournalRead, ScreenSnapshot};
pub(crate) use self::hooks::HookChange;
pub(crate) use self::requests::REUSED_ID;
pub use self::stream::OverflowPolicy;

/// How long an exit is retained for a client to acknowledge, by default.
const DEFAULT_EXIT_RETENTION: Duration = Duration::from_secs(24 * 60 * 60);

/// Number of refusals of input that are sent again to a writer that reconnects.
const MAX_REFUSALS: usize = 16;

/// How long the acknowledgement of input to a terminal may wait for output, mostly its echo, to be sent together
/// with it. Apart it would cost each process on the way a wake-up of its own for each key.
const INPUT_ACK_DELAY: Duration = Duration::from_millis(5);

/// What a session machine is created from.
#[derive(Clone, Debug)]
pub struct MachineConfiguration {
    /// The session's id.
    pub session: SessionId,
    /// The incarnation of the child.
    pub epoch: Epoch,
    /// Facts that attaching clients receive.
    pub facts: SessionFacts,
    /// The session's streams.
    pub streams: Vec<StreamConfiguration>,
    /// Whether the owner has a screen model, and can answer [`Effect::Snapshot`].
    pub has_screen: bool,
    /// How long an exit is retained for a client to acknowledge it; `None` is 24 hours.
    pub exit_retention: Option<Duration>,
}

/// One stream of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamConfiguration {
    /// The stream's id.
    pub id: StreamId,
    /// What happens when the ring is full.
    pub policy: OverflowPolicy,
    /// Bytes to keep in memory.
    pub ring_bytes: usize,
}

#[derive(Debug)]
struct Exit {
    notice: ExitNotice,
    at: Duration,
    acknowledged: Option<Duration>,
}

/// Kill requests.
#[derive(Debug, Default)]
struct Kills {
    seen: RequestDedup<()>,
    waiters: Vec<(ClientId, String)>,
    report: Option<KillReport>,
}

/// The state of one session.
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
    /// End of the terminal's output when the write lease was last released.
    unattended_from: u64,
    input: Input,
    /// The client that last submitted each pending prompt.
    watchers: HashMap<String, ClientId>,
    refusals: VecDeque<InputEvent>,
    bracketed_paste: bool,
    decisions: Decisions,
    hooks: Hooks,
    signals: RequestDedup<()>,
    kills: Kills,
    degraded: BTreeMap<String, String>,
    exit: Option<Exit>,
    effects: VecDeque<Effect>,
    now: Duration,
    /// The wall clock in milliseconds since the Unix epoch; `None` before it is set.
    wall_ms: Option<u64>,
}

impl SessionMachine {
    /// Creates a session without output and without clients.
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
            decisions: Decisions::default(),
            hooks: Hooks::default(),
            signals: RequestDedup::default(),
            kills: Kills::default(),
            degraded: BTreeMap::new(),
            exit: None,
            effects: VecDeque::new(),
            now: Duration::ZERO,
            wall_ms: None,
        }
    }

    /// Returns the smallest acknowledged offset of the clients that follow a stream and hold it back:
    /// those with a lease. A reader that lags receives a gap.
    fn slowest(&self, id: StreamId) -> Option<u64> {
        let attached = self.clients.values().filter_map(Client::attachment);
        let holding = attached.filter(|it| it.lease != Lease::Read);
        let cursors = holding.filter_map(|it| it.cursors.get(&id));
        cursors.map(|cursor| cursor.acked).min()
    }

    /// Queues a message for a client, unless it is closing.
    fn send(&mut self, id: ClientId, message: Message) {
        if let Some(client) = self.clients.get_mut(&id)
            && !client.closing
        {
            client.outbox.push_back(message);
        }
    }

    /// Sends a client an error.
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

    /// Sends a client an error and closes its connection.
    fn reject(&mut self, id: ClientId, code: &str, detail: &str) {
        self.send_error(id, code, detail);
        self.release_lease(id, false);
        self.close_client(id);
    }

    fn close_client(&mut self, id: ClientId) {
        if let Some(client) = self.clients.get_mut(&id) {
            client.closing = true;
        }
    }

    fn notify_all(&mut self, events: Vec<InputEvent>) {
        for event in events {
            self.notify(event);
        }
    }

    fn notify(&mut self, event: InputEvent) {
        match event {
            InputEvent::Prompt(id, state) => self.notify_prompt(id, state),
            InputEvent::Accepted => self.schedule_input_ack(self.now + self.input_ack_delay()),
            InputEvent::Refused {
                from,
                to,
                ref reason,
            } => {
                if let Some(writer) = self.writer {
                    let reason = reason.clone();
                    self.send(writer, Message::InputRefused { from, to, reason });
                }
                self.schedule_input_ack(self.now);
                self.refusals.push_back(event);
                if self.refusals.len() > MAX_REFUSALS {
                    self.refusals.pop_front();
                }
            }
        }
    }

    /// Sends a prompt's status to its watcher, which is removed once the status is final.
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

    const fn input_ack_delay(&self) -> Duration {
        match self.facts.stdio {
            StdioKind::Pty => INPUT_ACK_DELAY,
            StdioKind::Pipes => Duration::ZERO,
        }
    }

    /// Makes an acknowledgement due, unless one is due earlier.
    fn schedule_input_ack(&mut self, at: Duration) {
        let writer = self.writer.and_then(|id| self.clients.get_mut(&id));
        if let Some(attachment) = writer.and_then(Client::attachment_mut) {
            let known = attachment.input_ack_at;
            attachment.input_ack_at = Some(known.map_or(at, |known| known.min(at)));
        }
    }
}

#[cfg(test)]
mod tests;
