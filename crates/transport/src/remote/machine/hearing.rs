//! What the owner says.

use std::time::Duration;

use super::Machine;
use super::inbound::Misplaced;
use super::io::{Breakage, Output};
use super::link::Link;
use super::outbound::{Contradiction, Settled};
use super::painting::Painting;
use crate::connection::ReconnectFailure;
use crate::screen::Screen;
use bowline_wire::{ExitNotice, KillReport, Message, StreamId, code};
use bytes::Bytes;

impl Machine {
    pub(super) fn hear(&mut self, message: Message) {
        match message {
            Message::Ping { .. } | Message::Pong { .. } => self.live.answered(self.now),
            _ => self.live.heard(self.now),
        }
        if self.painting.is_none() && !matches!(message, Message::Snapshot { .. }) {
            self.pass_gap();
        }
        match (&self.link, message) {
            (_, Message::Ping { nonce }) => self.say(Message::Pong { nonce }),
            (_, Message::Pong { nonce }) => self.pong(nonce),
            (_, Message::Degraded { kind, detail }) => {
                tracing::warn!(session = %self.joining.session, %kind, %detail, "degraded");
            }
            (_, Message::GoAway { after_ms }) => self.sent_away(after_ms),
            (_, Message::Fenced { generation }) => self.fenced(generation),
            (
                _,
                Message::Error {
                    code,
                    retryable,
                    after_ms,
                    detail,
                },
            ) => self.refused(&code, retryable, after_ms, detail),
            (Link::Joining { .. }, Message::Welcome(welcome)) => self.welcomed(&welcome),
            (Link::Joining { .. }, Message::Attached(attached)) => self.attached(attached),
            (Link::Up | Link::Leaving { .. }, message) => self.hear_session(message),
            (_, message) => {
                let kind = message.kind();
                self.lost(format!("a message of type {kind} came out of its order"));
            }
        }
    }

    /// What only an owner that we are attached to says.
    fn hear_session(&mut self, message: Message) {
        match message {
            Message::Data {
                stream,
                offset,
                bytes,
                replay,
            } => self.data(stream, offset, &bytes, replay),
            Message::Gap {
                stream,
                from: _,
                to,
                ..
            } => match stream {
                // A reader of the gap is to find the screen of its end, which comes next.
                StreamId::TTY => self.missed = Some(to),
                _ => self.skip(stream, to),
            },
            Message::Snapshot {
                at_offset,
                size,
                hash,
                total,
            } => match Painting::new(at_offset, size, hash, total) {
                Ok(painting) => self.painting = Some(painting),
                Err(why) => self.lost(why),
            },
            Message::SnapshotChunk { offset, bytes, .. } => self.paint(offset, &bytes),
            Message::InputAck { offset, ended } => {
                let settled = self.input.ack(offset, ended);
                self.acknowledged(settled);
            }
            Message::InputRefused { from, to, reason } => {
                let settled = self.input.refused((from, to), &reason);
                self.acknowledged(settled);
            }
            Message::PromptState { id, state } => {
                let told = self.asks.prompted(&id, &state).into_iter();
                self.outputs
                    .extend(told.map(|ticket| Output::Prompted(ticket, state.clone())));
            }
            Message::Killed { report, .. } => self.killed(report),
            Message::Exit(notice) => self.exited(notice),
            message => {
                let kind = message.kind();
                self.lost(format!("a message of type {kind} is not an owner's"));
            }
        }
    }

    fn data(&mut self, id: StreamId, offset: u64, bytes: &Bytes, is_replay: bool) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        match stream.take(offset, bytes) {
            Ok(None) => {}
            Ok(Some(fresh)) => {
                if fresh.is_first {
                    self.outputs.push_back(Output::Begin(id, fresh.offset));
                }
                self.ask_for_more(fresh.bytes.len());
                self.outputs.push_back(Output::Deliver {
                    stream: id,
                    bytes: fresh.bytes,
                    is_replay,
                });
                self.backoff.reset();
                self.finish_streams();
            }
            Err(Misplaced::Hole { next, offset }) => {
                self.lost(format!("{id} goes on at {offset}, and {next} was next"));
            }
            Err(Misplaced::Overrun) => self.lost(format!("{id} sends more than was allowed")),
        }
    }

    fn skip(&mut self, id: StreamId, to: u64) {
        let Some(stream) = self.streams.get_mut(&id) else {
            return;
        };
        let is_first = !stream.is_known();
        let gap = stream.skip(to);
        if is_first {
            self.outputs.push_back(Output::Begin(id, to));
        }
        if let Some((from, to)) = gap {
            let stream = id;
            self.outputs.push_back(Output::Gap { stream, from, to });
        }
        self.finish_streams();
    }

    fn paint(&mut self, offset: u64, chunk: &Bytes) {
        let Some(painting) = &mut self.painting else {
            return self.lost("a screen's chunk came without a screen");
        };
        match painting.add(offset, chunk) {
            Ok(None) => {}
            Ok(Some(screen)) => {
                self.painting = None;
                self.painted(screen);
            }
            Err(why) => self.lost(why),
        }
    }

    /// A screen that is older than what was delivered already is of no use.
    fn painted(&mut self, screen: Screen) {
        let next = self.streams.get(&StreamId::TTY);
        if next.is_some_and(|it| !it.is_known() || it.cursor() <= screen.offset) {
            let offset = screen.offset;
            // Whoever is told of the gap finds it there.
            self.outputs.push_back(Output::Screen(screen));
            self.skip(StreamId::TTY, offset);
        }
        self.pass_gap();
    }

    /// No screen comes for a gap, or it is there.
    fn pass_gap(&mut self) {
        if let Some(to) = self.missed.take() {
            self.skip(StreamId::TTY, to);
        }
    }

    fn acknowledged(&mut self, settled: Result<Vec<Settled>, Contradiction>) {
        match settled {
            Ok(settled) => {
                self.backoff.reset();
                self.settle(settled);
            }
            Err(Contradiction) => self.lost("input was acknowledged that was never sent"),
        }
    }

    fn pong(&mut self, nonce: u64) {
        self.asks.pong(nonce);
        if let Link::Leaving { nonce: ours, .. } = self.link
            && nonce >= ours
        {
            self.over();
        }
    }

    fn sent_away(&mut self, after_ms: u64) {
        let mut why = Breakage::lost("the runner is about to go");
        why.after = Some(Duration::from_millis(after_ms));
        self.broken(why);
    }

    /// Another host has the lease. One that has it by right of this host's own is no other.
    fn fenced(&mut self, generation: u64) {
        if self.lease.is_none_or(|lease| generation > lease) {
            let detail =
                "another host has taken the session over, retry to take it back".to_owned();
            self.fail(ReconnectFailure::Fenced, detail);
        }
    }

    fn refused(&mut self, code: &str, retryable: bool, after_ms: Option<u64>, detail: String) {
        let failure = match code {
            code::UNKNOWN_SESSION => ReconnectFailure::Gone,
            code::EXPIRED => ReconnectFailure::Expired,
            code::VERSION => ReconnectFailure::Version,
            code::UNAUTHORIZED => ReconnectFailure::Auth,
            code::NO_LEASE if self.link.is_up() => {
                tracing::warn!(session = %self.joining.session, %detail, "not allowed");
                return;
            }
            _ => ReconnectFailure::Lost,
        };
        if failure == ReconnectFailure::Lost && !retryable && !self.link.is_up() {
            return self.fail(failure, detail);
        }
        let mut why = Breakage::new(failure, detail);
        why.after = after_ms.map(Duration::from_millis);
        self.broken(why);
    }

    fn killed(&mut self, report: KillReport) {
        if let Some(took) = self.asks.killed(self.now) {
            // Nothing more is wanted of a session that the host has ended. It hears of it when the
            // owner knows that, and is gone.
            self.report = Some((report, took));
            self.outputs.push_back(Output::Hurry);
            self.is_released = true;
            self.leave_if_done();
        }
    }

    /// The end is told when everything before it was delivered.
    fn exited(&mut self, notice: ExitNotice) {
        for (id, stream) in &mut self.streams {
            let end = notice.ends.get(id).copied();
            stream.end_at(end.unwrap_or_else(|| stream.cursor()));
        }
        self.exit = Some(notice);
        self.finish_streams();
    }

    fn finish_streams(&mut self) {
        if self.exit.is_none() || self.exit_is_told {
            return;
        }
        if !self
            .streams
            .values()
            .all(super::inbound::Inbound::is_complete)
        {
            return;
        }
        self.end_streams();
        self.exit_is_told = true;
        self.outputs.push_back(Output::Exited(self.exit.clone()));
        self.leave_if_done();
    }

    pub(super) fn end_streams(&mut self) {
        let streams = self.streams.iter_mut();
        let ended = streams.filter_map(|(id, it)| it.finish().then_some(Output::End(*id)));
        self.outputs.extend(ended);
    }
}
