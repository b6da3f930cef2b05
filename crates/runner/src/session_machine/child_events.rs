//! What the child does, and what becomes of the session with it.

use std::ops::Range;
use std::time::Duration;

use bowline_transport::{Drained, ExitStatus};
use bytes::Bytes;

use super::client::Client;
use super::stream::Stream;
use super::{Exit, SessionMachine};
use crate::wire::{ExitNotice, InputRefusal, KillReport, Message, SessionState, StreamId};

/// After the acknowledgement, how long other clients have to take the rest.
pub(super) const EXIT_LINGER: Duration = Duration::from_secs(2);

impl SessionMachine {
    // What the child does.

    /// The child has written. Nothing is refused: who does not want to hold more asks
    /// [`is_held`](Self::is_held) before it reads.
    pub fn on_output(&mut self, id: StreamId, bytes: Bytes) {
        let slowest = self.slowest(id);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.push(bytes, slowest);
        }
    }

    /// Bytes of the child were lost before they came here: whoever lacks them is told of a gap.
    pub fn on_output_lost(&mut self, id: StreamId, length: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.skip(length);
        }
    }

    /// Bytes of a stream from an offset on, as far as memory has them in one piece.
    ///
    /// # Errors
    ///
    /// The oldest offset that memory has, if it does not have this one.
    pub fn read_memory(&self, id: StreamId, offset: u64) -> Result<Bytes, u64> {
        let stream = self.streams.get(&id).ok_or(offset)?;
        stream
            .read_memory(offset)
            .ok_or_else(|| stream.ring_start())
    }

    /// A stream has come to its end.
    pub fn on_output_ended(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.close();
        }
    }

    /// Whether the child must not be read from for now, because a client is a ring behind. Asked
    /// again after anything else was told to the machine.
    pub fn is_paused(&self, id: StreamId) -> bool {
        let slowest = self.slowest(id);
        self.streams
            .get(&id)
            .is_some_and(|stream| stream.is_paused(slowest))
    }

    /// Offset behind the last byte of a stream.
    pub fn end(&self, id: StreamId) -> u64 {
        self.streams.get(&id).map_or(0, Stream::end)
    }

    /// The oldest offset of a stream that somebody has yet to take; its end if nobody has. What the
    /// journal has before it may go.
    pub fn oldest_needed(&self, id: StreamId) -> u64 {
        let slowest = self.slowest(id);
        let stream = self.streams.get(&id);
        let wanted = stream.and_then(|stream| stream.oldest_needed(slowest));
        wanted.unwrap_or_else(|| self.end(id))
    }

    /// What the journal can give back of a stream, and whether it takes more without giving up any
    /// of it.
    pub fn set_journal_extent(&mut self, id: StreamId, extent: Range<u64>, has_room: bool) {
        let slowest = self.slowest(id);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.set_journal_extent(extent, has_room, slowest);
        }
    }

    /// The bytes of a stream before `end` survive a loss of power.
    pub fn set_durable(&mut self, id: StreamId, end: u64) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.set_durable(end);
        }
    }

    /// The child has ended, and all of its streams have been ended before.
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

    /// How the child ended, if it has.
    pub fn exit(&self) -> Option<&ExitNotice> {
        self.exit.as_ref().map(|exit| &exit.notice)
    }

    /// Whether somebody with a lease has acknowledged the exit.
    pub fn exit_acknowledged(&self) -> bool {
        let exit = self.exit.as_ref();
        exit.is_some_and(|exit| exit.acknowledged.is_some())
    }

    /// Whether nobody needs the session any more: its exit was acknowledged and everybody else was
    /// told of it, or it was kept for as long as it is.
    pub fn is_over(&self, now: Duration) -> bool {
        let Some(exit) = &self.exit else {
            return false;
        };
        let told = |client: &Client| client.attachment().is_none_or(|it| it.exit_sent);
        let everybody = || {
            self.clients
                .values()
                .all(|it| told(it) && it.outbox.is_empty())
        };
        let acknowledged = exit.acknowledged;
        now >= exit.at + self.exit_retention
            || acknowledged.is_some_and(|at| now >= at + EXIT_LINGER || everybody())
    }

    /// What came of the last [`Effect::Write`] or [`Effect::CloseInput`].
    pub fn on_written(&mut self, outcome: Result<(), InputRefusal>, now: Duration) {
        self.now = now;
        let events = self.input.complete(outcome);
        self.notify_all(events);
    }

    /// What the terminal itself answers to its program. Not a part of the input that clients type.
    pub fn queue_terminal_reply(&mut self, bytes: Bytes) {
        self.input.answer(bytes);
    }

    /// What came of an [`Effect::Kill`].
    pub fn on_killed(&mut self, report: KillReport) {
        for (client, id) in std::mem::take(&mut self.kills.waiters) {
            let report = report.clone();
            self.send(client, Message::Killed { id, report });
        }
        self.kills.report = Some(report);
    }

    /// Whether the program on the terminal takes pastes in brackets just now.
    pub fn set_bracketed_paste(&mut self, on: bool) {
        self.bracketed_paste = on;
    }

    /// The session goes on with less than was promised. Whoever comes later is told, too.
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

    /// What was worse is as it was promised again.
    pub fn recover(&mut self, kind: &str) {
        self.degraded.remove(kind);
    }

    /// Nobody needs to acknowledge the exit any more.
    pub fn release_exit(&mut self, now: Duration) {
        if let Some(exit) = &mut self.exit {
            exit.acknowledged.get_or_insert(now);
        }
    }
}
