//! The host's side of a link as a machine: inputs in, outputs out, no clock, no task, no socket.
//!
//! Time comes with each input, as the time since the machine was made; chance comes as a seed. One
//! input changes the state once; then the outputs are drained until there are none. Invariants:
//! what is delivered of a stream is what the owner has of it, once and in order, from a beginning
//! on, and what is missing is told; what is written is typed at most once; what is said of an old
//! connection changes nothing.

mod asks;
mod backoff;
mod hearing;
mod inbound;
mod io;
mod joining;
mod link;
mod liveness;
mod outbound;
mod painting;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub(crate) use self::io::{Breakage, Connection, Input, Output, Ticket};
pub(crate) use self::outbound::Unwritten;

use self::asks::Asks;
pub(crate) use self::backoff::Backoff;
use self::inbound::Inbound;
use self::link::Link;
use self::liveness::Liveness;
use self::outbound::Outbound;
use self::painting::Painting;
use bowline_process::SessionId;
use bowline_process::WindowSize;
use bowline_wire::{
    AttachMode, Epoch, ExitNotice, INPUT_WINDOW, InputRefusal, KillReport, Lease, Message, StreamId,
};

/// Bytes of a stream that may be under way over the worst of links: a page of text.
const LEAST_WINDOW: u64 = 4 << 10;

/// What a machine joins, and as what.
#[derive(Clone, Debug)]
pub(crate) struct Joining {
    pub(crate) session: SessionId,
    /// The incarnation, if it is known.
    pub(crate) epoch: Option<Epoch>,
    pub(crate) lease: Lease,
    pub(crate) mode: AttachMode,
    /// The streams to follow, each from an offset on if one is known.
    pub(crate) cursors: BTreeMap<StreamId, Option<u64>>,
    pub(crate) size: Option<WindowSize>,
    /// Bytes of each stream that may be under way.
    pub(crate) window: u64,
    /// How long the first connection is tried for.
    pub(crate) join_patience: Duration,
    /// How long a lost one is.
    pub(crate) patience: Duration,
    /// Who we are, for people.
    pub(crate) client: String,
}

#[derive(Debug)]
pub(crate) struct Machine {
    joining: Joining,
    epoch: Option<Epoch>,
    /// The lease that we have written under.
    lease: Option<u64>,
    streams: BTreeMap<StreamId, Inbound>,
    input: Outbound,
    asks: Asks,
    painting: Option<Painting>,
    /// Where the terminal goes on behind a gap whose screen may be on its way.
    missed: Option<u64>,
    /// Bytes of each stream that may be under way now.
    window: u64,
    /// Bytes that this connection has brought.
    brought: u64,
    link: Link,
    connection: Connection,
    live: Liveness,
    backoff: Backoff,
    down_since: Option<Duration>,
    /// Whether a refused token was replaced since the link was last up.
    has_renewed: bool,
    was_up: bool,
    exit: Option<ExitNotice>,
    exit_is_told: bool,
    /// What came of a kill, until the owner was told that it is known.
    report: Option<(KillReport, Duration)>,
    /// Whether the host wants nothing more of the session.
    is_released: bool,
    /// Tries to tell the owner that its notice of the end was heard.
    farewells: u32,
    outputs: VecDeque<Output>,
    now: Duration,
}

impl Machine {
    pub(crate) fn new(joining: Joining, seed: u64) -> Self {
        let inbound = |next: &Option<u64>| Inbound::new(*next, joining.window);
        let streams = joining.cursors.iter();
        let streams = streams.map(|(id, next)| (*id, inbound(next))).collect();
        let mut backoff = Backoff::new(seed);
        Self {
            epoch: joining.epoch,
            lease: None,
            streams,
            input: Outbound::new(INPUT_WINDOW),
            asks: Asks::new(backoff.salt(), joining.size),
            painting: None,
            missed: None,
            window: joining.window,
            brought: 0,
            link: Link::Resting,
            connection: 0,
            live: Liveness::new(),
            backoff,
            down_since: None,
            has_renewed: false,
            was_up: false,
            exit: None,
            exit_is_told: false,
            report: None,
            is_released: false,
            farewells: 0,
            outputs: VecDeque::new(),
            now: Duration::ZERO,
            joining,
        }
    }

    /// Takes one input. The outputs that follow from it are to be drained before the next.
    pub(crate) fn handle(&mut self, input: Input, now: Duration) {
        self.now = now;
        match input {
            Input::Start => self.connect(false),
            Input::Opened(connection) if connection == self.connection => self.opened(),
            Input::Frame(connection, frame) if connection == self.connection => {
                self.hear(frame.message);
            }
            Input::Broken(connection, why) if connection == self.connection => self.broken(why),
            Input::Opened(_) | Input::Frame(..) | Input::Broken(..) => {}
            Input::Room(stream, bytes) => self.room(stream, bytes),
            Input::Woke => self.woke(),
            Input::Retry => self.retry(),
            Input::Detach => self.detach(),
            Input::Timeout => self.timeout(),
            asked => self.ask(asked),
        }
        self.flush();
    }

    /// The next effect that is owed.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Input::Timeout`] is due.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        self.link.deadline(&self.live)
    }

    /// What the host wants of the child.
    fn ask(&mut self, input: Input) {
        match input {
            Input::Write(..) | Input::Close(_) if self.joining.lease != Lease::Write => {
                self.refuse(&input);
            }
            Input::Write(bytes, ticket) => {
                let settled = self.input.write(bytes, ticket);
                self.settle(settled);
            }
            Input::Close(ticket) => {
                let settled = self.input.close(ticket);
                self.settle(settled);
            }
            Input::Prompt(prompt, ticket) => {
                let prompt = self.asks.prompt(prompt, ticket);
                self.say_if_up(prompt);
            }
            Input::Resize(size) => {
                let resize = self.asks.resize(size);
                self.say_if_up(resize);
            }
            Input::Signal(signal) => {
                let signal = self.asks.signal(signal);
                self.say_if_up(signal);
            }
            Input::Kill(ladder) => {
                let kill = self.asks.kill(ladder, self.now);
                self.say_if_up(kill);
                if self.link.is_failed() {
                    self.give_up();
                }
            }
            _ => {}
        }
    }

    fn refuse(&mut self, input: &Input) {
        if let Input::Write(_, ticket) | Input::Close(ticket) = input {
            let detail = "this host only looks".to_owned();
            let reason = InputRefusal::Failed { detail };
            self.settle([(*ticket, Err(Unwritten::Refused(reason)))]);
        }
    }

    fn settle(&mut self, settled: impl IntoIterator<Item = outbound::Settled>) {
        let written = settled.into_iter();
        self.outputs
            .extend(written.map(|(ticket, outcome)| Output::Written(ticket, outcome)));
    }

    /// Lets the owner send more, and says what has come: a grant alone may be for room that was full
    /// when this connection began, and would be taken for an acknowledgement.
    fn grant(&mut self, stream: StreamId, n: u64) {
        if let Some(offset) = self.streams.get(&stream).map(Inbound::cursor) {
            self.say(Message::Ack { stream, offset });
        }
        self.say(Message::Credit { stream, n });
    }

    fn room(&mut self, stream: StreamId, bytes: u64) {
        let window = self.window;
        let Some(inbound) = self.streams.get_mut(&stream) else {
            return;
        };
        if !self.link.is_up() {
            inbound.set_room(bytes);
        } else if let Some(n) = inbound.make_room(bytes, window) {
            self.grant(stream, n);
        }
    }

    /// A connection that ended before it brought anything may be one that carries little: all that
    /// is under way when it ends is lost, so the next one is asked for a quarter.
    fn ask_for_less(&mut self) {
        if std::mem::take(&mut self.brought) == 0 {
            let least = LEAST_WINDOW.min(self.joining.window);
            self.window = (self.window / 4).max(least);
        }
    }

    /// One that has brought a window is asked for twice as much.
    fn ask_for_more(&mut self, bytes: usize) {
        self.brought += bytes as u64;
        if self.brought >= self.window {
            self.brought = 1;
            self.window = (self.window * 2).min(self.joining.window);
        }
    }

    /// Sends what may be sent of the input.
    fn flush(&mut self) {
        if !self.link.is_up() {
            return;
        }
        while let Some(message) = self.input.next() {
            self.say(message);
        }
    }

    fn say(&mut self, message: Message) {
        let generation = self.lease.unwrap_or(0);
        self.outputs.push_back(io::frame(generation, message));
    }

    /// Says something that is said again with the next attach.
    fn say_if_up(&mut self, message: Message) {
        if self.link.is_up() {
            self.say(message);
        }
    }
}

#[cfg(test)]
mod tests;
