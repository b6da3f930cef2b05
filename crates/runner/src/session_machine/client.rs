//! State of one client: its stage, its cursors, its outbox and its liveness.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use bowline_transport::journal::Arrival;
use bytes::Bytes;

use crate::wire::{DEAD_AFTER, Lease, Message, PING_EVERY, StreamId};

/// How long a connection may take to attach.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Silence after which a client is pinged.
const PING_AFTER: Duration = PING_EVERY.saturating_mul(2);

/// Pings per second that a client may send.
const MAX_PINGS_PER_SECOND: u32 = 20;

/// Maximal number of requests of a client that are refused per second. A person typing into a session that is
/// only watched stays below it.
const MAX_REFUSALS_PER_SECOND: u32 = 50;

/// Identifies a connection to a session. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub(super) u64);

/// Progress of a client's handshake.
#[derive(Debug)]
pub(super) enum ClientStage {
    Connected,
    Greeted,
    Attached(Attachment),
}

/// State of an attached client.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) lease: Lease,
    /// 0 without [`Lease::Write`].
    pub(super) generation: u64,
    pub(super) name: String,
    pub(super) cursors: BTreeMap<StreamId, Cursor>,
    pub(super) exit_sent: bool,
    /// When an acknowledgement of input is due; `None` if everything is acknowledged.
    pub(super) input_ack_at: Option<Duration>,
    /// Sequence number of the last resize.
    pub(super) last_resize: Option<u64>,
    /// The stream of the last data; the search for the next continues after it.
    pub(super) last_served: StreamId,
}

/// A client's position in a stream.
#[derive(Debug)]
pub(super) struct Cursor {
    /// Offset of the next byte to send.
    pub(super) next: u64,
    /// Offset up to which the client has acknowledged the stream.
    pub(super) acked: u64,
    /// Whether the client sends `Ack`.
    sends_acks: bool,
    /// `next` when the last ping was queued.
    pinged: u64,
    /// Bytes that may still be sent.
    pub(super) credit: u64,
    /// Bytes to mark as replay: terminal queries in them are not to be replied to.
    pub(super) replay: Range<u64>,
    pub(super) wait: CursorWait,
    /// The arrival that the client was sent last.
    pub(super) arrival: Option<Arrival>,
}

/// What a cursor waits for before it advances.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CursorWait {
    Nothing,
    /// Bytes from the journal.
    Journal,
    /// Bytes that were read from the journal and are to be sent.
    Ready(Bytes, Arrival),
    /// A snapshot of the screen.
    Snapshot {
        /// Whether it replaces bytes that are lost, which a gap has to report.
        gone: bool,
    },
}

impl Cursor {
    pub(super) fn new(next: u64, credit: u64, replay: Range<u64>) -> Self {
        Self {
            next,
            acked: next,
            sends_acks: false,
            pinged: next,
            credit,
            replay,
            wait: CursorWait::Nothing,
            arrival: None,
        }
    }

    /// Adds credit. Credit is returned for consumed bytes, so it acknowledges them if the client
    /// sends no acknowledgements.
    pub(super) fn grant(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_add(bytes);
        if !self.sends_acks {
            self.set_acked(self.acked.saturating_add(bytes));
        }
    }

    /// Acknowledges the stream up to an offset.
    pub(super) fn ack(&mut self, offset: u64) {
        self.sends_acks = true;
        self.set_acked(offset);
    }

    fn set_acked(&mut self, offset: u64) {
        self.acked = self.acked.max(offset.min(self.next));
    }

    /// Returns a message with `bytes`, which must be covered by credit; `None` if there are none.
    pub(super) fn advance(&mut self, stream: StreamId, bytes: Bytes) -> Option<Message> {
        let (offset, length) = (self.next, bytes.len() as u64);
        if length == 0 {
            return None;
        }
        self.next += length;
        self.credit -= length;
        Some(Message::Data {
            stream,
            offset,
            bytes,
            replay: self.replay.contains(&offset),
        })
    }

    /// Returns the message that announces an arrival, unless the client knows it.
    pub(super) fn announce(&mut self, stream: StreamId, arrival: Arrival) -> Option<Message> {
        if self.arrival == Some(arrival) {
            return None;
        }
        self.arrival = Some(arrival);
        let Arrival { at_ms, output } = arrival;
        Some(Message::Arrival {
            stream,
            offset: self.next,
            at_ms,
            output,
        })
    }

    /// Number of bytes from `next` on that share its replay flag.
    pub(super) fn same_replay_len(&self) -> u64 {
        let ends = [self.replay.start, self.replay.end].into_iter();
        let next = ends.filter(|end| *end > self.next).min();
        next.map_or(u64::MAX, |end| end - self.next)
    }

    /// Number of bytes sent but not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.next - self.acked
    }

    /// Continues at another offset, as if everything before it were acknowledged.
    pub(super) fn skip_to(&mut self, offset: u64) {
        self.next = offset;
        self.acked = offset;
        self.pinged = offset;
    }
}

/// One connected client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) stage: ClientStage,
    /// Whether it has the feature `arrivals`.
    pub(super) has_arrivals: bool,
    /// Messages to send, ahead of all stream data.
    pub(super) outbox: VecDeque<Message>,
    /// Whether the connection closes once the outbox is empty. Further frames are ignored.
    pub(super) closing: bool,
    /// Whether the client timed out: its outbox is abandoned.
    pub(super) dead: bool,
    last_received: Duration,
    last_ping: Duration,
    /// Whether the client pings by itself.
    sends_pings: bool,
    pings: Rate,
    refusals: Rate,
    /// Nonce of the last ping.
    nonce: u64,
    /// Whether its pong is outstanding.
    ping_pending: bool,
}

/// How often something happened in the present second.
#[derive(Debug)]
struct Rate {
    since: Duration,
    count: u32,
}

impl Rate {
    const fn new(now: Duration) -> Self {
        Self {
            since: now,
            count: 0,
        }
    }

    /// Counts one; returns the number in the present second.
    fn count(&mut self, now: Duration) -> u32 {
        if now >= self.since + Duration::from_secs(1) {
            *self = Self::new(now);
        }
        self.count += 1;
        self.count
    }
}

impl Client {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            stage: ClientStage::Connected,
            has_arrivals: false,
            outbox: VecDeque::new(),
            closing: false,
            dead: false,
            last_received: now,
            last_ping: now,
            sends_pings: false,
            pings: Rate::new(now),
            refusals: Rate::new(now),
            nonce: 0,
            ping_pending: false,
        }
    }

    pub(super) fn attachment(&self) -> Option<&Attachment> {
        match &self.stage {
            ClientStage::Attached(attachment) if !self.closing => Some(attachment),
            _ => None,
        }
    }

    pub(super) fn attachment_mut(&mut self) -> Option<&mut Attachment> {
        match &mut self.stage {
            ClientStage::Attached(attachment) if !self.closing => Some(attachment),
            _ => None,
        }
    }

    /// The generation that frames to the client carry.
    pub(super) fn generation(&self) -> u64 {
        match &self.stage {
            ClientStage::Attached(attachment) => attachment.generation,
            _ => 0,
        }
    }

    pub(super) fn on_received(&mut self, now: Duration) {
        self.last_received = now;
    }

    /// Counts a ping of the client. Returns whether it exceeds the permitted rate.
    pub(super) fn exceeds_ping_rate(&mut self, now: Duration) -> bool {
        self.sends_pings = true;
        self.pings.count(now) > MAX_PINGS_PER_SECOND
    }

    /// Counts a request of the client that is refused. Returns whether it exceeds the permitted rate: the
    /// agent's output waits while requests are read and refused.
    pub(super) fn exceeds_refusal_rate(&mut self, now: Duration) -> bool {
        self.refusals.count(now) > MAX_REFUSALS_PER_SECOND
    }

    /// When [`tick`](Self::tick) is due.
    pub(super) fn deadline(&self) -> Duration {
        self.ping_at().min(self.dead_at())
    }

    /// Pings the client if a ping is due. Returns whether the client has timed out.
    pub(super) fn tick(&mut self, now: Duration) -> bool {
        if now >= self.dead_at() {
            return true;
        }
        if now >= self.ping_at() {
            self.last_ping = now;
            self.ping();
        }
        false
    }

    /// Queues a ping. Its pong acknowledges everything that was sent before.
    fn ping(&mut self) {
        self.nonce += 1;
        self.ping_pending = true;
        let nonce = self.nonce;
        self.outbox.push_back(Message::Ping { nonce });
        if let ClientStage::Attached(attachment) = &mut self.stage {
            for cursor in attachment.cursors.values_mut() {
                cursor.pinged = cursor.next;
            }
        }
    }

    /// Queues a ping unless a pong is outstanding.
    pub(super) fn ping_unless_pending(&mut self) {
        if !self.ping_pending {
            self.ping();
        }
    }

    pub(super) fn on_pong(&mut self, nonce: u64) {
        if nonce != self.nonce {
            return;
        }
        self.ping_pending = false;
        if let ClientStage::Attached(attachment) = &mut self.stage {
            for cursor in attachment.cursors.values_mut() {
                cursor.ack(cursor.pinged);
            }
        }
    }

    /// A client that pings by itself is never pinged: a deadline that each of its pings postpones
    /// would still wake up a thousand idle shims, since tokio's timer wheel visits a deadline up to
    /// 4 s early.
    fn ping_at(&self) -> Duration {
        if self.sends_pings {
            return Duration::MAX;
        }
        (self.last_received + PING_AFTER).max(self.last_ping + PING_EVERY)
    }

    fn dead_at(&self) -> Duration {
        match self.stage {
            ClientStage::Attached(_) => self.last_received + DEAD_AFTER,
            _ => self.last_received + HANDSHAKE_TIMEOUT,
        }
    }
}
