//! Events of the child and of the journal, and the end of the session.

use std::ops::Range;
use std::time::Duration;

use bowline_transport::journal::Arrival;
use bowline_transport::{Drained, ExitStatus};
use bytes::Bytes;

use super::client::Client;
use super::stream::Stream;
use super::{Exit, SessionMachine};
use crate::wire::{ExitNotice, InputRefusal, KillReport, Message, SessionState, StreamId};

/// How long other clients may take for the remaining frames after the exit was acknowledged.
pub(super) const EXIT_LINGER: Duration = Duration::from_secs(2);

impl SessionMachine {
    /// Sets the wall clock, in milliseconds since the Unix epoch: the time of arrival of what follows.
    pub fn set_wall_time(&mut self, at_ms: u64) {
        self.wall_ms = Some(at_ms);
    }

    fn arrival(&self) -> Arrival {
        let at_ms = self.wall_ms;
        Arrival {
            at_ms,
            output: None,
        }
    }

    /// Appends output of the child. Accepts any amount; check [`is_paused`](Self::is_paused) before
    /// reading from the child.
    pub fn on_output(&mut self, id: StreamId, bytes: Bytes) {
        self.append(id, bytes, self.arrival());
    }

    pub(super) fn append(&mut self, id: StreamId, bytes: Bytes, arrival: Arrival) {
        let slowest = self.slowest(id);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.push(bytes, arrival, slowest);
        }
    }

    /// Records the loss of `length` bytes of output, which clients receive as a gap.
    pub fn on_output_lost(&mut self, id: StreamId, length: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.skip(length);
        }
    }

    /// Returns up to `max` bytes from `offset` that are contiguous in memory and arrived together.
    ///
    /// # Errors
    ///
    /// The oldest offset in memory, if `offset` is not there.
    pub fn read_memory(
        &self,
        id: StreamId,
        offset: u64,
        max: usize,
    ) -> Result<(Bytes, Arrival), u64> {
        let stream = self.streams.get(&id).ok_or(offset)?;
        stream
            .read_memory(offset, max)
            .ok_or_else(|| stream.ring_start())
    }

    /// Returns the oldest offset of a stream in memory.
    pub fn memory_start(&self, id: StreamId) -> u64 {
        self.streams.get(&id).map_or(0, Stream::ring_start)
    }

    /// Returns the offset in the output at which the input at an offset was taken; `None` if there is no
    /// such input. Unknown places are 0.
    pub fn input_place(&self, offset: u64) -> Option<u64> {
        let stream = self.streams.get(&StreamId::INPUT)?;
        let is_there = offset < stream.end();
        is_there.then(|| stream.arrival(offset).output.unwrap_or(0))
    }

    /// Ends a stream.
    pub fn on_output_ended(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.close();
        }
    }

    /// Returns whether output must not be read from the child, because a client with a lease lags by
    /// a whole ring. Changes with any other call.
    pub fn is_paused(&self, id: StreamId) -> bool {
        let slowest = self.slowest(id);
        self.streams
            .get(&id)
            .is_some_and(|stream| stream.is_paused(slowest))
    }

    /// Returns the offset after the last byte of a stream.
    pub fn end(&self, id: StreamId) -> u64 {
        self.streams.get(&id).map_or(0, Stream::end)
    }

    /// Returns the oldest offset of a stream that is still needed, or its end. The journal may drop
    /// what is before.
    pub fn oldest_needed(&self, id: StreamId) -> u64 {
        let slowest = self.slowest(id);
        let stream = self.streams.get(&id);
        let wanted = stream.and_then(|stream| stream.oldest_needed(slowest));
        wanted.unwrap_or_else(|| self.end(id))
    }

    /// Sets the range of a stream that the journal can return, and whether it can grow without
    /// dropping bytes.
    pub fn set_journal_extent(&mut self, id: StreamId, extent: Range<u64>, has_room: bool) {
        let slowest = self.slowest(id);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.set_journal_extent(extent, has_room, slowest);
        }
    }

    /// Marks the bytes of a stream before `end` as durable: they survive a power failure.
    pub fn set_durable(&mut self, id: StreamId, end: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.set_durable(end);
        }
    }

    /// Records the child's exit. All streams must have ended.
    pub fn on_exited(&mut self, status: ExitStatus, oom: bool, drained: Drained, now: Duration) {
        self.now = now;
        let events = self.input.refuse_all();
        self.notify_all(events);
        for stream in self.streams.values_mut() {
            stream.close();
        }
        let ends = self.streams.iter();
        let notice = ExitNotice {
            status,
            oom,
            drained,
            ends: ends.map(|(id, stream)| (*id, stream.end())).collect(),
        };
        self.facts.state = SessionState::Exited;
        self.exit.get_or_insert(Exit {
            notice,
            at: now,
            acknowledged: None,
        });
    }

    /// Returns the child's exit.
    pub fn exit(&self) -> Option<&ExitNotice> {
        self.exit.as_ref().map(|exit| &exit.notice)
    }

    /// Returns whether a client with a lease has acknowledged the exit.
    pub fn exit_acknowledged(&self) -> bool {
        let exit = self.exit.as_ref();
        exit.is_some_and(|exit| exit.acknowledged.is_some())
    }

    /// Returns whether the session is over: the exit was acknowledged and sent to all other
    /// clients, or its retention has passed.
    pub fn is_over(&self, now: Duration) -> bool {
        let Some(exit) = &self.exit else {
            return false;
        };
        let is_done = |client: &Client| {
            client.outbox.is_empty() && client.attachment().is_none_or(|it| it.exit_sent)
        };
        let all_done = || self.clients.values().all(is_done);
        let acknowledged = exit.acknowledged;
        now >= exit.at + self.exit_retention
            || acknowledged.is_some_and(|at| now >= at + EXIT_LINGER || all_done())
    }

    /// Takes the result of the last [`Effect::Write`] or [`Effect::CloseInput`]. Where the session has the
    /// stream [`StreamId::INPUT`], what was written is appended to it, at the present end of the output.
    pub fn on_written(&mut self, outcome: Result<(), InputRefusal>, now: Duration) {
        self.now = now;
        if outcome.is_ok()
            && let Some(bytes) = self.input.in_flight().cloned()
        {
            let arrival = self.arrival().beside(self.end(StreamId::STDOUT));
            self.append(StreamId::INPUT, bytes, arrival);
        }
        let events = self.input.complete(outcome);
        self.notify_all(events);
    }

    /// Queues a reply of the terminal itself to its program. Not part of the clients' input
    /// offsets.
    pub fn queue_terminal_reply(&mut self, bytes: Bytes) {
        self.input.queue_reply(bytes);
    }

    /// Takes the result of [`Effect::Kill`].
    pub fn on_killed(&mut self, report: KillReport) {
        for (client, id) in std::mem::take(&mut self.kills.waiters) {
            let report = report.clone();
            self.send(client, Message::Killed { id, report });
        }
        self.kills.report = Some(report);
    }

    /// Sets whether the program has enabled bracketed paste.
    pub fn set_bracketed_paste(&mut self, on: bool) {
        self.bracketed_paste = on;
    }

    /// Reports a degraded feature to present and future clients.
    pub fn degrade(&mut self, kind: &str, detail: &str) {
        let (kind, detail) = (kind.to_owned(), detail.to_owned());
        let clients: Vec<_> = self.clients.keys().copied().collect();
        for client in clients {
            if self.clients[&client].attachment().is_some() {
                let (kind, detail) = (kind.clone(), detail.clone());
                self.send(client, Message::Degraded { kind, detail });
            }
        }
        self.degraded.insert(kind, detail);
    }

    /// Marks a degraded feature as restored.
    pub fn recover(&mut self, kind: &str) {
        self.degraded.remove(kind);
    }

    /// Ends the session without waiting for an acknowledgement of its exit.
    pub fn release_exit(&mut self, now: Duration) {
        if let Some(exit) = &mut self.exit {
            exit.acknowledged.get_or_insert(now);
        }
    }
}
