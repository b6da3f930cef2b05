//! One connection: what it follows, how far it is, what it is owed.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;

use crate::wire::{DEAD_AFTER, Lease, Message, PING_EVERY, StreamId};

/// How long a connection may take over its first words (terminal notes, section 3.2).
const GREETING: Duration = Duration::from_secs(5);

/// How long a client is silent before it is asked.
const QUIET: Duration = PING_EVERY.saturating_mul(2);

/// Pings that a client may send in a second (terminal notes, section 3.2).
const PINGS_PER_SECOND: u32 = 20;

/// Names a connection to a session. Never used again for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub(super) u64);

/// How far a connection has come.
#[derive(Debug)]
pub(super) enum Stage {
    Silent,
    Greeted,
    Attached(Attachment),
}

#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) lease: Lease,
    /// 0 without [`Lease::Write`].
    pub(super) generation: u64,
    pub(super) name: String,
    pub(super) cursors: BTreeMap<StreamId, Cursor>,
    /// Whether it was told of the exit.
    pub(super) told_exit: bool,
    pub(super) owes_input_ack: bool,
    pub(super) last_resize: Option<u64>,
    /// The stream that is looked at first, so that none keeps the others back.
    pub(super) turn: StreamId,
}

/// Where a client is in a stream.
#[derive(Debug)]
pub(super) struct Cursor {
    /// The next offset to be sent.
    pub(super) next: u64,
    /// Before this it has everything safe.
    pub(super) acked: u64,
    /// Whether it says so itself.
    acks: bool,
    /// What had been sent when the last ping went out.
    pinged: u64,
    /// Bytes that may be sent.
    pub(super) credit: u64,
    /// What was there when the client came, and is not for it to answer.
    pub(super) replay: Range<u64>,
    pub(super) awaits: Awaits,
}

/// What a cursor waits for before it moves on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Awaits {
    Nothing,
    /// Bytes from the journal.
    ReadBack,
    /// They have come.
    Ready(Bytes),
    /// The screen, in place of bytes that are gone or that the client does not want.
    Screen {
        gone: bool,
    },
}

impl Cursor {
    pub(super) fn new(next: u64, credit: u64, replay: Range<u64>) -> Self {
        Self {
            next,
            acked: next,
            acks: false,
            pinged: next,
            credit,
            replay,
            awaits: Awaits::Nothing,
        }
    }

    /// Credit comes back for what was consumed, so that it counts as an acknowledgement of a client
    /// that sends no others.
    pub(super) fn grant(&mut self, bytes: u64) {
        self.credit = self.credit.saturating_add(bytes);
        if !self.acks {
            self.settle(self.acked.saturating_add(bytes));
        }
    }

    pub(super) fn ack(&mut self, offset: u64) {
        self.acks = true;
        self.settle(offset);
    }

    fn settle(&mut self, offset: u64) {
        self.acked = self.acked.max(offset.min(self.next));
    }

    /// Sends bytes that there is credit for; nothing if there are none.
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

    /// Bytes from here on that are as much a replay, or as little, as the next one is.
    pub(super) fn alike(&self) -> u64 {
        let ends = [self.replay.start, self.replay.end].into_iter();
        let next = ends.filter(|end| *end > self.next).min();
        next.map_or(u64::MAX, |end| end - self.next)
    }

    /// Bytes that were sent and may not have come.
    pub(super) fn unacknowledged(&self) -> u64 {
        self.next - self.acked
    }

    /// Goes on elsewhere: what lies between is gone.
    pub(super) fn skip_to(&mut self, offset: u64) {
        self.next = offset;
        self.acked = offset;
        self.pinged = offset;
    }
}

#[derive(Debug)]
pub(super) struct Client {
    pub(super) stage: Stage,
    /// Messages that wait to be sent, before any bytes of streams.
    pub(super) outbox: VecDeque<Message>,
    /// Whether it ends when its outbox is empty. Nothing that it sends counts any more.
    pub(super) closing: bool,
    /// Whether it was silent for too long: it is not waited for.
    pub(super) dead: bool,
    heard: Duration,
    /// When it was last asked whether it is there.
    asked: Duration,
    /// Whether it has ever asked by itself: then silence says enough.
    is_curious: bool,
    pings: (Duration, u32),
    /// The last question, and whether its answer has not come.
    nonce: u64,
    asks: bool,
}

impl Client {
    pub(super) fn new(now: Duration) -> Self {
        Self {
            stage: Stage::Silent,
            outbox: VecDeque::new(),
            closing: false,
            dead: false,
            heard: now,
            asked: now,
            is_curious: false,
            pings: (now, 0),
            nonce: 0,
            asks: false,
        }
    }

    pub(super) fn attachment(&self) -> Option<&Attachment> {
        match &self.stage {
            Stage::Attached(attachment) if !self.closing => Some(attachment),
            _ => None,
        }
    }

    pub(super) fn attachment_mut(&mut self) -> Option<&mut Attachment> {
        match &mut self.stage {
            Stage::Attached(attachment) if !self.closing => Some(attachment),
            _ => None,
        }
    }

    /// The generation that its frames carry.
    pub(super) fn generation(&self) -> u64 {
        match &self.stage {
            Stage::Attached(attachment) => attachment.generation,
            _ => 0,
        }
    }

    pub(super) fn heard(&mut self, now: Duration) {
        self.heard = now;
    }

    /// It asks. Answers whether that is one time too many.
    pub(super) fn asks_too_often(&mut self, now: Duration) -> bool {
        self.is_curious = true;
        if now >= self.pings.0 + Duration::from_secs(1) {
            self.pings = (now, 0);
        }
        self.pings.1 += 1;
        self.pings.1 > PINGS_PER_SECOND
    }

    /// When something is to be done about the silence.
    pub(super) fn deadline(&self) -> Duration {
        self.ask_at().min(self.dead_at())
    }

    /// Asks, or gives up. Answers whether the connection is dead.
    pub(super) fn tick(&mut self, now: Duration) -> bool {
        if now >= self.dead_at() {
            return true;
        }
        if now >= self.ask_at() {
            self.asked = now;
            self.ask();
        }
        false
    }

    /// Asks whether the client is there, and has what it was sent so far.
    fn ask(&mut self) {
        self.nonce += 1;
        self.asks = true;
        let nonce = self.nonce;
        self.outbox.push_back(Message::Ping { nonce });
        if let Stage::Attached(attachment) = &mut self.stage {
            for cursor in attachment.cursors.values_mut() {
                cursor.pinged = cursor.next;
            }
        }
    }

    /// Asks, unless an answer is on its way.
    pub(super) fn ask_once(&mut self) {
        if !self.asks {
            self.ask();
        }
    }

    /// The client has everything that was sent before the question.
    pub(super) fn answered(&mut self, nonce: u64) {
        if nonce != self.nonce {
            return;
        }
        self.asks = false;
        if let Stage::Attached(attachment) = &mut self.stage {
            for cursor in attachment.cursors.values_mut() {
                cursor.ack(cursor.pinged);
            }
        }
    }

    /// Who asks by itself is not asked: a question that falls due and is put off with each of its
    /// own would still wake a thousand shims at rest (tokio looks at a timer up to 4 s before its
    /// time).
    fn ask_at(&self) -> Duration {
        if self.is_curious {
            return Duration::MAX;
        }
        (self.heard + QUIET).max(self.asked + PING_EVERY)
    }

    fn dead_at(&self) -> Duration {
        match self.stage {
            Stage::Attached(_) => self.heard + DEAD_AFTER,
            _ => self.heard + GREETING,
        }
    }
}
