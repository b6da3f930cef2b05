//! Handling of received messages.

use std::time::Duration;

use super::Machine;
use super::inbound::DataError;
use super::io::{LinkError, Output};
use super::joining::other_version;
use super::link::LinkState;
use super::outbound::{InvalidAck, WriteResult};
use super::snapshot::SnapshotAssembler;
use crate::connection::ReconnectFailure;
use crate::screen::Screen;
use bowline_journal::Arrival;
use bowline_wire::{ExitNotice, KillReport, Message, StreamId, code};
use bytes::Bytes;

/// Largest offset that is accepted. No session reaches it, and sums of two such offsets do not overflow.
const MAX_OFFSET: u64 = 1 << 62;

/// Returns the largest offset in a message.
fn largest_offset(message: &Message) -> u64 {
    match message {
        Message::Data { offset, .. }
        | Message::SnapshotChunk { offset, .. }
        | Message::InputAck { offset, .. } => *offset,
        Message::Arrival { offset, output, .. } => output.unwrap_or(0).max(*offset),
        Message::Gap { from, to, .. } | Message::InputRefused { from, to, .. } => *from.max(to),
        Message::Snapshot {
            at_offset, total, ..
        } => *at_offset.max(total),
        Message::Exit(notice) => notice.ends.values().copied().max().unwrap_or(0),
        Message::Attached(attached) => {
            let extents = attached.streams.values();
            let ends = extents.map(|extent| extent.start.max(extent.end));
            ends.max().unwrap_or(0).max(attached.input_next)
        }
        _ => 0,
    }
}

impl Machine {
    pub(super) fn on_message(&mut self, message: Message) {
        let offset = largest_offset(&message);
        if offset > MAX_OFFSET {
            return self.lost(format!("the offset {offset} is out of range"));
        }
        match message {
            Message::Ping { .. } | Message::Pong { .. } => self.live.received_ping(self.now),
            _ => self.live.received_frame(self.now),
        }
        if self.snapshot.is_none() && !matches!(message, Message::Snapshot { .. }) {
            self.report_gap();
        }
        match (&self.link, message) {
            (_, Message::Ping { nonce }) => self.send(Message::Pong { nonce }),
            (_, Message::Pong { nonce }) => self.pong(nonce),
            (_, Message::Degraded { kind, detail }) => {
                tracing::warn!(session = %self.joining.session, %kind, %detail, "degraded");
            }
            (_, Message::GoAway { after_ms }) => self.go_away(after_ms),
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
            (LinkState::Joining { .. }, Message::Welcome(welcome)) => self.welcomed(&welcome),
            (LinkState::Joining { .. }, Message::Attached(attached)) => self.attached(attached),
            (LinkState::Up | LinkState::Leaving { .. }, message) => {
                self.on_session_message(message)
            }
            (_, message) => {
                let kind = message.kind();
                self.lost(format!("a message of type {kind} is out of order"));
            }
        }
    }

    /// Handles the messages that require an attached link.
    fn on_session_message(&mut self, message: Message) {
        match message {
            Message::Data {
                stream,
                offset,
                bytes,
                replay,
            } => self.data(stream, offset, &bytes, replay),
            Message::Arrival {
                stream,
                at_ms,
                output,
                ..
            } => {
                if let Some(stream) = self.streams.get_mut(&stream) {
                    stream.announce(Arrival { at_ms, output });
                }
            }
            Message::Gap {
                stream,
                from: _,
                to,
                ..
            } => match stream {
                // The gap is reported after the screen at its end, which comes next.
                StreamId::TTY => self.gap_end = Some(to),
                _ => self.skip(stream, to),
            },
            Message::Snapshot {
                at_offset,
                size,
                hash,
                total,
            } => match SnapshotAssembler::new(at_offset, size, hash, total) {
                Ok(snapshot) => self.snapshot = Some(snapshot),
                Err(why) => self.lost(why),
            },
            Message::SnapshotChunk { offset, bytes, .. } => self.snapshot_chunk(offset, &bytes),
            Message::InputAck { offset, ended } => {
                let settled = self.input.ack(offset, ended);
                self.acknowledged(settled);
            }
            Message::InputRefused { from, to, reason } => {
                let settled = self.input.refused((from, to), &reason);
                self.acknowledged(settled);
            }
            Message::PromptState { id, state } => {
                let done = self.requests.prompted(&id, &state).into_iter();
                self.outputs
                    .extend(done.map(|ticket| Output::Prompted(ticket, state.clone())));
            }
            Message::Killed { report, .. } => self.killed(report),
            Message::Exit(notice) => self.exited(notice),
            message => {
                let kind = message.kind();
                self.lost(format!("a message of type {kind} is for the session only"));
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
                let arrival = stream.arrival();
                self.grow_window(fresh.bytes.len());
                self.outputs.push_back(Output::Deliver {
                    stream: id,
                    bytes: fresh.bytes,
                    arrival,
                    is_replay,
                });
                self.finish_streams();
            }
            Err(DataError::Hole { next, offset }) => {
                self.lost(format!("{id} continues at {offset} in place of {next}"));
            }
            Err(DataError::Overrun) => self.lost(format!("{id} exceeds its credit")),
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

    fn snapshot_chunk(&mut self, offset: u64, chunk: &Bytes) {
        let Some(snapshot) = &mut self.snapshot else {
            return self.lost("a snapshot chunk has no snapshot");
        };
        match snapshot.add(offset, chunk) {
            Ok(None) => {}
            Ok(Some(screen)) => {
                self.snapshot = None;
                self.snapshot_complete(screen);
            }
            Err(why) => self.lost(why),
        }
    }

    /// Publishes a screen unless newer output was delivered already.
    fn snapshot_complete(&mut self, screen: Screen) {
        let next = self.streams.get(&StreamId::TTY);
        if next.is_some_and(|it| !it.is_known() || it.cursor() <= screen.offset) {
            let offset = screen.offset;
            // A reader that receives the gap must find the screen.
            self.outputs.push_back(Output::Screen(screen));
            self.skip(StreamId::TTY, offset);
        }
        self.report_gap();
    }

    /// Reports the pending gap, after its screen or without one.
    fn report_gap(&mut self) {
        if let Some(to) = self.gap_end.take() {
            self.skip(StreamId::TTY, to);
        }
    }

    fn acknowledged(&mut self, settled: Result<Vec<WriteResult>, InvalidAck>) {
        match settled {
            Ok(settled) => self.settle(settled),
            Err(InvalidAck) => self.lost("the session acknowledged input that was not sent"),
        }
    }

    fn pong(&mut self, nonce: u64) {
        self.requests.pong(nonce);
        if let LinkState::Leaving { nonce: ours, .. } = self.link
            && nonce >= ours
        {
            self.over();
        }
    }

    fn go_away(&mut self, after_ms: u64) {
        let mut why = LinkError::lost("the runner is shutting down");
        why.after = Some(Duration::from_millis(after_ms));
        self.broken(why);
    }

    /// Handles the loss of the lease. A generation that is not newer is this host's own.
    fn fenced(&mut self, generation: u64) {
        if self.lease.is_none_or(|lease| generation > lease) {
            let detail =
                "another host has taken over the session; retry to take it back".to_owned();
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
        let detail = match failure {
            ReconnectFailure::Version => other_version(&detail),
            _ => detail,
        };
        let mut why = LinkError::new(failure, detail);
        why.after = after_ms.map(Duration::from_millis);
        self.broken(why);
    }

    fn killed(&mut self, report: KillReport) {
        if let Some(took) = self.requests.killed(self.now) {
            // The link closes without the host. The report is published once the session has
            // received the acknowledgement of its end.
            self.report = Some((report, took));
            self.outputs.push_back(Output::Hurry);
            self.is_released = true;
            self.leave_if_done();
        }
    }

    /// Stores the exit, which is reported after all output.
    fn exited(&mut self, notice: ExitNotice) {
        for (id, stream) in &mut self.streams {
            let end = notice.ends.get(id).copied();
            stream.end_at(end.unwrap_or_else(|| stream.cursor()));
        }
        self.exit = Some(notice);
        self.finish_streams();
    }

    fn finish_streams(&mut self) {
        if self.exit.is_none() || self.exit_is_reported {
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
        self.exit_is_reported = true;
        self.outputs.push_back(Output::Exited(self.exit.clone()));
        self.leave_if_done();
    }

    pub(super) fn end_streams(&mut self) {
        let streams = self.streams.iter_mut();
        let ended = streams.filter_map(|(id, it)| it.finish().then_some(Output::End(*id)));
        self.outputs.extend(ended);
    }
}
