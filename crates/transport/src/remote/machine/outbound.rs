//! The sending side of the input: kept until the child's kernel buffer has accepted it, retransmitted
//! if it was lost, and written at most once.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};

use super::io::{Ticket, WriteFailure};
use bowline_wire::{InputRefusal, MAX_PAYLOAD, Message};

#[derive(Debug)]
pub(super) struct Outbound {
    /// Offset of the first byte that is not acknowledged.
    base: u64,
    /// Offset of the next byte to send on this connection.
    sent: u64,
    /// End of the bytes that were sent under this lease.
    reached: u64,
    /// End of all writes.
    end: u64,
    /// The bytes of `base..end`.
    chunks: VecDeque<Bytes>,
    writes: VecDeque<Write>,
    closing: Closing,
    window: u64,
}

/// A write that is not acknowledged.
#[derive(Debug)]
struct Write {
    start: u64,
    end: u64,
    ticket: Ticket,
}

#[derive(Debug)]
enum Closing {
    Open,
    /// The input ends after the last write.
    Requested {
        ticket: Ticket,
        is_sent: bool,
    },
    Done,
}

pub(super) type WriteResult = (Ticket, Result<(), WriteFailure>);

/// The session acknowledged bytes that were not sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidAck;

impl Outbound {
    pub(super) fn new(window: u64) -> Self {
        Self {
            base: 0,
            sent: 0,
            reached: 0,
            end: 0,
            chunks: VecDeque::new(),
            writes: VecDeque::new(),
            closing: Closing::Open,
            window,
        }
    }

    /// Queues a write. Returns its result at once if it is empty or the input has ended.
    pub(super) fn write(&mut self, bytes: Bytes, ticket: Ticket) -> Option<WriteResult> {
        if !matches!(self.closing, Closing::Open) {
            return Some((ticket, Err(WriteFailure::Refused(InputRefusal::Closed))));
        }
        let start = self.end;
        self.end += bytes.len() as u64;
        if !bytes.is_empty() {
            self.chunks.push_back(bytes);
        }
        let end = self.end;
        if end == self.base {
            return Some((ticket, Ok(())));
        }
        self.writes.push_back(Write { start, end, ticket });
        None
    }

    /// Ends the input after the queued writes.
    pub(super) fn close(&mut self, ticket: Ticket) -> Option<WriteResult> {
        match self.closing {
            Closing::Open => {
                let is_sent = false;
                self.closing = Closing::Requested { ticket, is_sent };
                None
            }
            Closing::Requested { .. } => {
                Some((ticket, Err(WriteFailure::Refused(InputRefusal::Closed))))
            }
            Closing::Done => Some((ticket, Ok(()))),
        }
    }

    pub(super) fn set_window(&mut self, window: u64) {
        // More than ever waits, so that sums with offsets do not overflow.
        self.window = window.clamp(1, 1 << 62);
    }

    /// Returns the next message that the window allows.
    pub(super) fn next(&mut self) -> Option<Message> {
        let until = self.end.min(self.base + self.window);
        if self.sent < until {
            let limit = usize::try_from(until - self.sent).unwrap_or(usize::MAX);
            let bytes = self.slice(self.sent, limit.min(MAX_PAYLOAD));
            let offset = self.sent;
            self.sent += bytes.len() as u64;
            self.reached = self.reached.max(self.sent);
            return Some(Message::Input { offset, bytes });
        }
        match &mut self.closing {
            Closing::Requested { is_sent, .. } if !*is_sent && self.sent == self.end => {
                *is_sent = true;
                Some(Message::InputEnd { offset: self.end })
            }
            _ => None,
        }
    }

    /// Returns up to `limit` bytes of the chunk at an offset.
    fn slice(&self, from: u64, limit: usize) -> Bytes {
        let mut at = self.base;
        for chunk in &self.chunks {
            let end = at + chunk.len() as u64;
            if from < end {
                let skip = (from - at) as usize;
                return chunk.slice(skip..chunk.len().min(skip + limit));
            }
            at = end;
        }
        unreachable!("the chunks hold all of base..end")
    }

    /// Handles the acknowledgement of all bytes before an offset.
    pub(super) fn ack(&mut self, offset: u64, ended: bool) -> Result<Vec<WriteResult>, InvalidAck> {
        let mut settled = self.pass(offset)?;
        if ended && let Closing::Requested { ticket, .. } = self.closing {
            self.closing = Closing::Done;
            settled.push((ticket, Ok(())));
        }
        Ok(settled)
    }

    /// Handles the refusal of a range. All bytes before it are acknowledged.
    pub(super) fn refused(
        &mut self,
        (from, to): (u64, u64),
        reason: &InputRefusal,
    ) -> Result<Vec<WriteResult>, InvalidAck> {
        if to < from {
            return Err(InvalidAck);
        }
        let refuse = |ticket| (ticket, Err(WriteFailure::Refused(reason.clone())));
        let mut settled = self.pass(from.max(self.base))?;
        let unfit = |write: &Write| write.start < to && write.end > from;
        let refused = self.writes.iter().filter(|write| unfit(write));
        settled.extend(refused.map(|write| refuse(write.ticket)));
        self.writes.retain(|write| !unfit(write));
        settled.extend(self.pass(to.max(self.base))?);
        if from == to
            && let Closing::Requested { ticket, .. } = self.closing
        {
            self.closing = Closing::Open;
            settled.push(refuse(ticket));
        }
        Ok(settled)
    }

    /// Starts a connection on which the session expects the offset `next`. Under the same lease, lost
    /// bytes are retransmitted. Under another one, writes that were sent and not acknowledged fail.
    pub(super) fn attach(
        &mut self,
        next: u64,
        is_same_lease: bool,
    ) -> Result<Vec<WriteResult>, InvalidAck> {
        if let Closing::Requested { is_sent, .. } = &mut self.closing {
            *is_sent = false;
        }
        if is_same_lease {
            if next < self.base || next > self.reached {
                return Err(InvalidAck);
            }
            self.sent = next;
            return Ok(Vec::new());
        }
        let doubtful = self.writes.iter().take_while(|it| it.start < self.reached);
        let settled: Vec<WriteResult> = doubtful
            .map(|write| (write.ticket, Err(WriteFailure::Unconfirmed)))
            .collect();
        self.writes.drain(..settled.len());
        let kept_from = self.writes.front().map_or(self.end, |write| write.start);
        self.drop_before(kept_from);
        self.move_to(next);
        Ok(settled)
    }

    /// Moves the remaining writes to another offset.
    fn move_to(&mut self, next: u64) {
        let old = self.base;
        let moved = |offset: u64| offset - old + next;
        for write in &mut self.writes {
            (write.start, write.end) = (moved(write.start), moved(write.end));
        }
        (self.end, self.base) = (moved(self.end), next);
        (self.sent, self.reached) = (next, next);
    }

    /// Completes the writes before an offset.
    fn pass(&mut self, offset: u64) -> Result<Vec<WriteResult>, InvalidAck> {
        if offset > self.reached {
            return Err(InvalidAck);
        }
        self.drop_before(offset);
        let done = self.writes.partition_point(|write| write.end <= self.base);
        Ok(self
            .writes
            .drain(..done)
            .map(|it| (it.ticket, Ok(())))
            .collect())
    }

    fn drop_before(&mut self, offset: u64) {
        while self.base < offset {
            let Some(front) = self.chunks.front_mut() else {
                return;
            };
            let length = front.len().min((offset - self.base) as usize);
            front.advance(length);
            self.base += length as u64;
            if front.is_empty() {
                self.chunks.pop_front();
            }
        }
        self.sent = self.sent.max(self.base);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(offset: u64, bytes: &'static str) -> Option<Message> {
        let bytes = bytes.into();
        Some(Message::Input { offset, bytes })
    }

    #[test]
    fn same_lease_retransmits_lost_input() {
        let mut out = Outbound::new(100);
        out.attach(0, false).unwrap();
        assert_eq!(out.write("abc".into(), 1), None);
        assert_eq!(out.write("def".into(), 2), None);
        assert_eq!((out.next(), out.next()), (input(0, "abc"), input(3, "def")));
        assert_eq!(out.ack(4, false), Ok(vec![(1, Ok(()))]));
        assert_eq!(out.attach(5, true), Ok(vec![]));
        assert_eq!((out.next(), out.next()), (input(5, "f"), None));
        assert_eq!(out.ack(6, false), Ok(vec![(2, Ok(()))]));
        assert_eq!(out.ack(7, false), Err(InvalidAck));
        assert_eq!(out.attach(3, true), Err(InvalidAck));
    }

    #[test]
    fn other_lease_sends_only_unsent_input() {
        let mut out = Outbound::new(4);
        out.attach(10, false).unwrap();
        out.write("abc".into(), 1);
        out.write("def".into(), 2);
        out.write("ghi".into(), 3);
        assert_eq!((out.next(), out.next()), (input(10, "abc"), input(13, "d")));
        assert_eq!(
            out.attach(50, false),
            Ok(vec![
                (1, Err(WriteFailure::Unconfirmed)),
                (2, Err(WriteFailure::Unconfirmed)),
            ])
        );
        assert_eq!((out.next(), out.next()), (input(50, "ghi"), None));
        assert_eq!(out.ack(53, false), Ok(vec![(3, Ok(()))]));
    }

    #[test]
    fn refused_write_keeps_next_write() {
        let mut out = Outbound::new(100);
        out.attach(0, false).unwrap();
        out.write("abc".into(), 1);
        out.write("def".into(), 2);
        out.write("ghi".into(), 3);
        while out.next().is_some() {}
        let refused = Err(WriteFailure::Refused(InputRefusal::Ended));
        assert_eq!(
            out.refused((3, 6), &InputRefusal::Ended),
            Ok(vec![(1, Ok(())), (2, refused)])
        );
        assert_eq!(out.ack(9, false), Ok(vec![(3, Ok(()))]));
    }

    #[test]
    fn end_of_input_follows_writes_and_is_repeated() {
        let mut out = Outbound::new(2);
        out.attach(0, false).unwrap();
        out.write("abc".into(), 1);
        assert_eq!(out.close(2), None);
        assert_eq!((out.next(), out.next()), (input(0, "ab"), None));
        assert_eq!(out.ack(2, false), Ok(vec![]));
        let end = Some(Message::InputEnd { offset: 3 });
        assert_eq!((out.next(), out.next()), (input(2, "c"), end.clone()));
        out.attach(3, true).unwrap();
        assert_eq!((out.next(), out.next()), (end, None));
        assert_eq!(out.ack(3, true), Ok(vec![(1, Ok(())), (2, Ok(()))]));
        assert!(out.write("x".into(), 4).is_some());
        assert_eq!(out.close(5), Some((5, Ok(()))));
    }
}
