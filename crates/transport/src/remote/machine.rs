//! The host's side of a link as a sans-I/O state machine: no clock, task or socket.
//!
//! Each input carries the time since the machine was created, and the random generator has a fixed
//! initial value. The caller drains the outputs after each input. Invariants: the bytes of a stream
//! are delivered once and in order, and missing bytes are reported as gaps; input is written to the
//! child at most once; inputs of an old connection are ignored.

mod backoff;
mod inbound;
mod io;
mod joining;
mod link;
mod liveness;
mod on_message;
mod outbound;
mod requests;
mod snapshot;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub(crate) use self::io::{Connection, Input, LinkError, Output, Ticket, WriteFailure};

pub(crate) use self::backoff::Backoff;
use self::inbound::Inbound;
use self::link::LinkState;
use self::liveness::Liveness;
use self::outbound::Outbound;
use self::requests::PendingRequests;
use self::snapshot::SnapshotAssembler;
use bowline_process::SessionId;
use bowline_process::WindowSize;
use bowline_wire::{
    AttachMode, Epoch, ExitNotice, INPUT_WINDOW, InputRefusal, KillReport, Lease, Message, StreamId,
};

/// Minimum window of a stream, in bytes. Used on links that break often: a frame that is longer than what a link
/// carries would never arrive.
const MIN_WINDOW: u64 = 512;

/// The session to attach to, and how.
#[derive(Clone, Debug)]
pub(crate) struct Joining {
    pub(crate) session: SessionId,
    /// The expected incarnation of the child.
    pub(crate) epoch: Option<Epoch>,
    pub(crate) lease: Lease,
    pub(crate) mode: AttachMode,
    /// The streams to follow, each from an offset if one is known.
    pub(crate) cursors: BTreeMap<StreamId, Option<u64>>,
    pub(crate) size: Option<WindowSize>,
    /// Maximum of bytes in flight per stream.
    pub(crate) window: u64,
    /// How long to retry the first connection.
    pub(crate) connect_timeout: Duration,
    /// How long to retry a lost connection.
    pub(crate) reconnect_timeout: Duration,
    /// The display name of this client.
    pub(crate) client: String,
}

#[derive(Debug)]
pub(crate) struct Machine {
    joining: Joining,
    epoch: Option<Epoch>,
    /// The generation of this host's write lease.
    lease: Option<u64>,
    streams: BTreeMap<StreamId, Inbound>,
    input: Outbound,
    requests: PendingRequests,
    snapshot: Option<SnapshotAssembler>,
    /// End of a gap in the terminal's output whose screen may follow.
    gap_end: Option<u64>,
    /// Current window of each stream, in bytes.
    window: u64,
    /// Bytes received since the connection began or the window last grew.
    received: u64,
    link: LinkState,
    connection: Connection,
    live: Liveness,
    backoff: Backoff,
    down_since: Option<Duration>,
    /// When the link came up, while it is.
    up_since: Option<Duration>,
    /// Whether a refused token has been replaced since the link was last up for some seconds.
    token_replaced: bool,
    was_up: bool,
    exit: Option<ExitNotice>,
    exit_is_reported: bool,
    /// When a kill counts as failed, unless the end was reported before.
    kill_due: Option<Duration>,
    /// The kill report, until the session has acknowledged the end.
    report: Option<(KillReport, Duration)>,
    /// Whether the host has detached or ended the session.
    is_released: bool,
    /// Attempts to acknowledge the exit.
    exit_acks: u32,
    outputs: VecDeque<Output>,
    now: Duration,
}

impl Machine {
    pub(crate) fn new(joining: Joining, random: u64) -> Self {
        let inbound = |next: &Option<u64>| Inbound::new(*next, joining.window);
        let streams = joining.cursors.iter();
        let streams = streams.map(|(id, next)| (*id, inbound(next))).collect();
        let mut backoff = Backoff::new(random);
        Self {
            epoch: joining.epoch,
            lease: None,
            streams,
            input: Outbound::new(INPUT_WINDOW),
            requests: PendingRequests::new(backoff.salt(), joining.size),
            snapshot: None,
            gap_end: None,
            window: joining.window,
            received: 0,
            link: LinkState::Resting,
            connection: 0,
            live: Liveness::new(),
            backoff,
            down_since: None,
            up_since: None,
            token_replaced: false,
            was_up: false,
            exit: None,
            exit_is_reported: false,
            kill_due: None,
            report: None,
            is_released: false,
            exit_acks: 0,
            outputs: VecDeque::new(),
            now: Duration::ZERO,
            joining,
        }
    }

    /// Handles one input. The caller drains the outputs before the next one.
    pub(crate) fn handle(&mut self, input: Input, now: Duration) {
        self.now = now;
        match input {
            Input::Start => self.connect(false),
            Input::Opened(connection) if connection == self.connection => self.opened(),
            Input::Frame(connection, frame) if connection == self.connection => {
                self.on_message(frame.message);
            }
            Input::Broken(connection, why) if connection == self.connection => self.broken(why),
            Input::Opened(_) | Input::Frame(..) | Input::Broken(..) => {}
            Input::Room(stream, bytes) => self.room(stream, bytes),
            Input::Woke => self.woke(),
            Input::Retry => self.retry(),
            Input::Detach => self.detach(),
            Input::Timeout => self.timeout(),
            request => self.request(request),
        }
        self.flush();
    }

    /// Returns the next output.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Returns when [`Input::Timeout`] is due.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        let link = self.link.deadline(&self.live);
        link.into_iter().chain(self.kill_due).min()
    }

    /// Handles a request of the host to the child.
    fn request(&mut self, input: Input) {
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
                let prompt = self.requests.prompt(prompt, ticket);
                self.send_if_up(prompt);
            }
            Input::Resize(size) => {
                let resize = self.requests.resize(size);
                self.send_if_up(resize);
            }
            Input::Signal(signal) => {
                let signal = self.requests.signal(signal);
                self.send_if_up(signal);
            }
            Input::Kill(policy) => self.kill(policy),
            _ => {}
        }
    }

    fn refuse(&mut self, input: &Input) {
        if let Input::Write(_, ticket) | Input::Close(ticket) = input {
            let detail = "attached without the write lease".to_owned();
            let reason = InputRefusal::Failed { detail };
            self.settle([(*ticket, Err(WriteFailure::Refused(reason)))]);
        }
    }

    fn settle(&mut self, settled: impl IntoIterator<Item = outbound::WriteResult>) {
        let written = settled.into_iter();
        self.outputs
            .extend(written.map(|(ticket, outcome)| Output::Written(ticket, outcome)));
    }

    /// Grants credit and acknowledges what was received. Credit without an acknowledgement would
    /// itself be taken for one, although it may be for space that was full when the connection began.
    fn grant(&mut self, stream: StreamId, n: u64) {
        if let Some(offset) = self.streams.get(&stream).map(Inbound::cursor) {
            self.send(Message::Ack { stream, offset });
        }
        self.send(Message::Credit { stream, n });
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

    /// Quarters the window if the connection ended before it delivered anything: the link may carry
    /// little, and all bytes in flight are lost when it breaks.
    fn shrink_window(&mut self) {
        if std::mem::take(&mut self.received) == 0 {
            let least = MIN_WINDOW.min(self.joining.window);
            self.window = (self.window / 4).max(least);
        }
    }

    /// Doubles the window after a whole window was received.
    fn grow_window(&mut self, bytes: usize) {
        self.received += bytes as u64;
        if self.received >= self.window {
            self.received = 1;
            self.window = (self.window * 2).min(self.joining.window);
        }
    }

    /// Sends the input that the window allows.
    fn flush(&mut self) {
        if !self.link.is_up() {
            return;
        }
        while let Some(message) = self.input.next() {
            self.send(message);
        }
    }

    fn send(&mut self, message: Message) {
        let generation = self.lease.unwrap_or(0);
        self.outputs.push_back(io::frame(generation, message));
    }

    /// Sends a message that is repeated after each attach.
    fn send_if_up(&mut self, message: Message) {
        if self.link.is_up() {
            self.send(message);
        }
    }
}

#[cfg(test)]
mod tests;
