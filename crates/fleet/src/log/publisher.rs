//! Decides what of a session's journal to publish next.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bowline_journal::{Body, Record};
use bowline_wire::Epoch;
use bytes::Bytes;

use super::message::{LogMessage, MESSAGE_BYTES};
use super::positions::Positions;

/// How long records wait for others that share their message.
pub const FLUSH_AFTER: Duration = Duration::from_millis(250);

/// First and longest pause after a failure. It doubles in between.
const RETRY_AFTER: Duration = Duration::from_millis(50);
const MAX_RETRY_AFTER: Duration = Duration::from_secs(2);

/// Pause after a refusal for lack of rights, which only an operator resolves.
const DENIED_RETRY: Duration = Duration::from_secs(30);

/// Maximum number of appends without a reply that are remembered.
const MAX_UNANSWERED: usize = 256;

/// The reason of a gap where the journal no longer has what the stream lost.
const MISSING: &str = "missing from the journal";

/// Publishes a session's journal to its subject.
///
/// One request is in flight at a time. The stream's last message is requested first, and after each connect,
/// time-out and refusal, since earlier acknowledgements may no longer hold. The expected sequence fences each
/// message, so that one that arrives late or twice is refused by the server.
///
/// A stream that has lost its tail gives the same sequences again. An append without a reply could then take the place of
/// another one that expected the same sequence. So nothing is missing if it does: where an append without a reply expected
/// the same, a message without records is appended first, and the records of one that is found there are published again.
///
/// The caller performs the [`PublishRequest`]s, reports their results, and pushes the records that
/// follow [`position`](Self::position).
#[derive(Debug)]
pub struct Publisher {
    epoch: Epoch,
    started_ms: u64,
    state: PublisherState,
    /// Counts requests, so that the reply to an abandoned one is ignored.
    attempt: u64,
    /// What the stream has.
    copied: Positions,
    /// Whether `copied` was learned from the stream.
    has_asked: bool,
    /// The last sequence of the subject.
    sequence: u64,
    /// The sequence before it.
    before: u64,
    /// The sequences that appends without a reply expected, and how many did.
    unanswered: BTreeMap<u64, usize>,
    /// The position after the pending records.
    next: Positions,
    pending: Pending,
    failures: u32,
    not_before: Option<Instant>,
    is_denied: bool,
}

#[derive(Debug)]
enum PublisherState {
    /// What the stream has is unknown.
    Unknown,
    Asking,
    /// Nothing is in flight.
    Ready,
    Appending(LogMessage),
    /// The message was refused because another one is in process: it is repeated.
    Repeating(LogMessage),
}

#[derive(Debug, Default)]
struct Pending {
    records: Vec<Record>,
    bytes: usize,
    since: Option<Instant>,
}

/// Identifies a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt(u64);

/// A request to the stream, and its identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishRequest {
    /// Identifies the request in its reply.
    pub attempt: Attempt,
    /// The request.
    pub step: PublishStep,
}

/// What to request of the stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishStep {
    /// The last message of the subject, from the stream's leader.
    Last,
    /// Append a message.
    Append {
        /// The sequence of the subject's last message; the append fails if there is another.
        expected: u64,
        /// The header `B-At`.
        begin: Positions,
        /// The body.
        body: Bytes,
    },
}

/// The last message of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastMessage {
    /// Its sequence.
    pub sequence: u64,
    /// Its header `B-At`, if it is readable.
    pub begin: Option<Positions>,
    /// Its body.
    pub body: Bytes,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishReply {
    /// The last message; `None` if the subject has none.
    Last(Option<LastMessage>),
    /// The message was stored under this sequence.
    Stored(u64),
    /// The subject's last sequence is not the expected one (10071).
    WrongLast,
    /// Another message of the subject is in process (10164).
    InProcess,
    /// There is no stream, or it has no leader.
    NoStream,
    /// No reply in time, or the connection was lost.
    Unanswered,
    /// The account has no right to do this.
    Denied,
}

impl Publisher {
    /// Publishes the journal of an epoch that was created at `started_ms`.
    #[must_use]
    pub fn new(epoch: Epoch, started_ms: u64) -> Self {
        Self {
            epoch,
            started_ms,
            state: PublisherState::Unknown,
            attempt: 0,
            copied: Positions::default(),
            has_asked: false,
            sequence: 0,
            before: 0,
            unanswered: BTreeMap::new(),
            next: Positions::default(),
            pending: Pending::default(),
            failures: 0,
            not_before: None,
            is_denied: false,
        }
    }

    /// Returns what the stream has, as far as is known since the last connect.
    #[must_use]
    pub const fn copied(&self) -> &Positions {
        &self.copied
    }

    /// Returns the sequence of the subject's last message.
    #[must_use]
    pub const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns whether the last request was refused for lack of rights.
    #[must_use]
    pub const fn is_denied(&self) -> bool {
        self.is_denied
    }

    /// Returns whether everything that was pushed is stored.
    #[must_use]
    pub const fn is_settled(&self) -> bool {
        matches!(self.state, PublisherState::Ready) && self.pending.records.is_empty()
    }

    /// Returns the position from which the caller pushes records; `None` if there is no room, or what the
    /// stream has is unknown.
    #[must_use]
    pub fn position(&self) -> Option<&Positions> {
        let knows = !matches!(self.state, PublisherState::Unknown | PublisherState::Asking);
        (knows && self.pending.bytes < MESSAGE_BYTES).then_some(&self.next)
    }

    /// Adds a record of the journal. Bytes that the stream has are dropped; bytes that are missing before it
    /// become a gap. Without a [`position`](Self::position), it is ignored: it is pushed again later.
    pub fn push(&mut self, mut record: Record, now: Instant) {
        if self.position().is_none() {
            return;
        }
        let at = self.next.at(record.stream);
        if record.end() <= at {
            return;
        }
        if record.offset > at {
            self.keep(
                Record {
                    stream: record.stream,
                    offset: at,
                    arrival: record.arrival,
                    body: Body::Gap {
                        to: record.offset,
                        reason: MISSING.to_owned(),
                    },
                },
                now,
            );
        } else if record.offset < at {
            if let Body::Bytes(bytes) = &mut record.body {
                *bytes = bytes.slice((at - record.offset) as usize..);
            }
            record.offset = at;
        }
        self.keep(record, now);
    }

    fn keep(&mut self, record: Record, now: Instant) {
        self.next.set(record.stream, record.end());
        self.pending.bytes += record.size() as usize;
        self.pending.since.get_or_insert(now);
        self.pending.records.push(record);
    }

    /// Returns the next request, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<PublishRequest> {
        if self.not_before.is_some_and(|at| now < at) {
            return None;
        }
        let message = match std::mem::replace(&mut self.state, PublisherState::Ready) {
            PublisherState::Unknown => {
                self.state = PublisherState::Asking;
                return Some(self.request(PublishStep::Last));
            }
            PublisherState::Repeating(message) => message,
            PublisherState::Ready if self.flush_at().is_some_and(|at| at <= now) => {
                self.take_message()
            }
            state => {
                self.state = state;
                return None;
            }
        };
        let step = PublishStep::Append {
            expected: self.sequence,
            begin: message.begin.clone(),
            body: message.encode(),
        };
        self.state = PublisherState::Appending(message);
        Some(self.request(step))
    }

    fn request(&mut self, step: PublishStep) -> PublishRequest {
        self.not_before = None;
        self.attempt += 1;
        PublishRequest {
            attempt: Attempt(self.attempt),
            step,
        }
    }

    /// Removes and returns the pending records as a message, or returns one without records.
    fn take_message(&mut self) -> LogMessage {
        let records = match self.unanswered.contains_key(&self.sequence) {
            true => Vec::new(),
            false => std::mem::take(&mut self.pending).records,
        };
        LogMessage {
            epoch: self.epoch,
            started_ms: self.started_ms,
            begin: self.copied.clone(),
            records,
        }
    }

    /// Returns when the pending records are due.
    fn flush_at(&self) -> Option<Instant> {
        let since = self.pending.since?;
        let is_full = self.pending.bytes >= MESSAGE_BYTES;
        Some(if is_full { since } else { since + FLUSH_AFTER })
    }

    /// When [`poll`](Self::poll) is due next; `None` while a request is in flight or nothing is pending.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let at = match &self.state {
            PublisherState::Asking | PublisherState::Appending(_) => return None,
            PublisherState::Unknown | PublisherState::Repeating(_) => None,
            PublisherState::Ready => Some(self.flush_at()?),
        };
        at.max(self.not_before)
    }

    /// Handles the reply to a request. The reply to an abandoned request is ignored.
    pub fn on_reply(&mut self, attempt: Attempt, reply: PublishReply, now: Instant) {
        if attempt.0 != self.attempt {
            return;
        }
        self.is_denied = reply == PublishReply::Denied;
        match (
            std::mem::replace(&mut self.state, PublisherState::Unknown),
            reply,
        ) {
            (PublisherState::Asking, PublishReply::Last(last)) => self.on_last(last),
            (PublisherState::Appending(message), PublishReply::Stored(sequence)) => {
                self.copied = message.end();
                self.before = std::mem::replace(&mut self.sequence, sequence);
                self.succeed();
            }
            (PublisherState::Appending(message), PublishReply::InProcess) => {
                self.state = PublisherState::Repeating(message);
                self.pause(now);
            }
            (PublisherState::Appending(_), PublishReply::Unanswered | PublishReply::NoStream) => {
                self.remember_unanswered();
                self.pause(now);
            }
            // The first question about it is not delayed.
            (PublisherState::Appending(_), PublishReply::WrongLast) => self.failures += 1,
            (_, PublishReply::Denied) => self.not_before = Some(now + DENIED_RETRY),
            _ => self.pause(now),
        }
    }

    /// Handles a reconnect: abandons the request in flight, and requests the stream's last message.
    pub fn on_connect(&mut self) {
        if matches!(self.state, PublisherState::Appending(_)) {
            self.remember_unanswered();
        }
        self.attempt += 1;
        self.state = PublisherState::Unknown;
        self.not_before = None;
        self.failures = 0;
        self.is_denied = false;
    }

    fn remember_unanswered(&mut self) {
        *self.unanswered.entry(self.sequence).or_default() += 1;
        if self.unanswered.len() > MAX_UNANSWERED {
            self.unanswered.pop_first();
        }
    }

    fn on_last(&mut self, last: Option<LastMessage>) {
        (self.copied, self.sequence) = match last {
            None => (Positions::default(), 0),
            Some(last) => (self.end_of(&last), last.sequence),
        };
        self.has_asked = true;
        self.next = self.copied.clone();
        self.pending = Pending::default();
        self.succeed();
    }

    /// Returns whether another append may yet take the place of the stream's last message.
    fn is_contested(&mut self, last: u64) -> bool {
        let mut earlier = self.unanswered.range_mut(..last);
        let Some((&expected, count)) = earlier.next_back() else {
            return false;
        };
        match last.cmp(&self.sequence) {
            // An append without a reply was stored.
            Ordering::Greater => {
                *count -= 1;
                if *count > 0 {
                    return true;
                }
                self.unanswered.remove(&expected);
                self.before = expected;
                false
            }
            Ordering::Equal => self.unanswered.contains_key(&self.before),
            // The stream has lost its tail.
            Ordering::Less => true,
        }
    }

    /// Returns the position from which to publish after the stream's last message.
    fn end_of(&mut self, last: &LastMessage) -> Positions {
        let is_contested = self.has_asked && self.is_contested(last.sequence);
        let Ok(message) = LogMessage::decode(&last.body) else {
            // Its bytes are published again: readers skip the damaged message.
            return last.begin.clone().unwrap_or_default();
        };
        // An earlier message that a server stored late, after the stream had lost its tail: what is
        // missing before it is published again, and readers put it there.
        if self.has_asked && !self.copied.covers(&message.begin) {
            return self.copied.clone();
        }
        match is_contested {
            true => message.begin,
            false => message.end(),
        }
    }

    fn succeed(&mut self) {
        self.state = PublisherState::Ready;
        self.failures = 0;
        self.not_before = None;
    }

    /// Delays the next request. The first repetition follows at once.
    fn pause(&mut self, now: Instant) {
        let pause = RETRY_AFTER.saturating_mul(1 << self.failures.min(10));
        self.not_before = (self.failures > 0).then(|| now + pause.min(MAX_RETRY_AFTER));
        self.failures += 1;
    }
}

#[cfg(test)]
mod tests;
