//! Frames for clients: queued messages first, then stream data within the credit, then the exit.

use std::time::Duration;

use super::client::{Attachment, Client, CursorWait};
use super::stream::StreamRead;
use super::{ClientId, Effect, JournalRead, ScreenSnapshot, SessionMachine};
use crate::wire::{Frame, GapReason, Message, StreamId};

/// Maximal bytes of stream data per message, so that no stream delays another one or a reply for
/// long.
const MAX_DATA_BYTES: usize = 64 * 1024;

impl SessionMachine {
    /// Returns the next frame for a client. Call while its connection has room; may add effects.
    pub fn next_frame(&mut self, id: ClientId) -> Option<Frame> {
        let message = self.next_message(id)?;
        let generation = self.clients.get(&id).map_or(0, Client::generation);
        Some(Frame {
            generation,
            message,
        })
    }

    fn next_message(&mut self, id: ClientId) -> Option<Message> {
        let client = self.clients.get_mut(&id)?;
        if let Some(message) = client.outbox.pop_front() {
            return Some(message);
        }
        let attachment = client.attachment_mut()?;
        let (now, has_exited) = (self.now, self.exit.is_some());
        let is_due = |at: &mut Duration| *at <= now || has_exited;
        if attachment.input_ack_at.take_if(is_due).is_some() {
            return Some(Message::InputAck {
                offset: self.input.taken(),
                ended: self.input.has_ended(),
            });
        }
        let Some(data) = self.next_data(id) else {
            return self.exit_message(id);
        };
        if let Some(at) = &mut self.attachment(id)?.input_ack_at {
            // Sent together with the data.
            *at = now;
        }
        Some(data)
    }

    /// Returns the next chunk of the client's subscribed streams, round robin. Requests an
    /// acknowledgement by a ping once more than half of the ring is unacknowledged: credit may
    /// exceed the ring, and would be returned too late to keep the child running.
    fn next_data(&mut self, id: ClientId) -> Option<Message> {
        let attachment = self.attachment(id)?;
        let last_served = attachment.last_served;
        let ids = attachment.cursors.keys().copied();
        let (before, after): (Vec<_>, Vec<_>) = ids.partition(|stream| *stream <= last_served);
        for stream in after.into_iter().chain(before) {
            if let Some(message) = self.data_from(id, stream) {
                let half = self.streams.get(&stream)?.capacity() / 2;
                let attachment = self.attachment(id)?;
                attachment.last_served = stream;
                if attachment.cursors.get(&stream)?.unacknowledged() > half {
                    self.clients.get_mut(&id)?.ping_unless_pending();
                }
                return Some(message);
            }
        }
        None
    }

    fn data_from(&mut self, id: ClientId, stream: StreamId) -> Option<Message> {
        let until = self.due_until(id, stream);
        let log = self.streams.get(&stream)?;
        let client = self.clients.get_mut(&id)?;
        let has_arrivals = client.has_arrivals;
        let cursor = client.attachment_mut()?.cursors.get_mut(&stream)?;
        if until <= cursor.next {
            return None;
        }
        let most = cursor.credit.min(cursor.same_replay_len());
        let most = most.min(until - cursor.next);
        let most = usize::try_from(most).map_or(MAX_DATA_BYTES, |it| it.min(MAX_DATA_BYTES));
        if let CursorWait::Ready(_, arrival) = cursor.wait
            && has_arrivals
            && most > 0
            && let Some(message) = cursor.announce(stream, arrival)
        {
            return Some(message);
        }
        if let CursorWait::Ready(bytes, _) = &mut cursor.wait {
            let piece = bytes.split_to(bytes.len().min(most));
            if bytes.is_empty() {
                cursor.wait = CursorWait::Nothing;
            }
            return cursor.advance(stream, piece);
        }
        if cursor.wait != CursorWait::Nothing {
            return None;
        }
        match log.next(cursor.next, most, has_arrivals) {
            StreamRead::UpToDate => None,
            StreamRead::Bytes(bytes, arrival) => {
                let announcement = (has_arrivals && !bytes.is_empty())
                    .then(|| cursor.announce(stream, arrival))
                    .flatten();
                announcement.or_else(|| cursor.advance(stream, bytes))
            }
            StreamRead::Gone { .. } if stream == StreamId::TTY && self.has_screen => {
                cursor.wait = CursorWait::Snapshot { gone: true };
                self.effects.push_back(Effect::Snapshot {
                    client: id,
                    with_scrollback: false,
                });
                None
            }
            StreamRead::Gone { to } => self.gap(id, stream, to, None),
            StreamRead::Journal if most == 0 => None,
            StreamRead::Journal => {
                cursor.wait = CursorWait::Journal;
                self.effects.push_back(Effect::ReadJournal {
                    client: id,
                    stream,
                    offset: cursor.next,
                    max: most,
                });
                None
            }
        }
    }

    /// Moves a cursor to where bytes are available, and returns the gap.
    fn gap(
        &mut self,
        id: ClientId,
        stream: StreamId,
        to: u64,
        reason: Option<GapReason>,
    ) -> Option<Message> {
        let archived = self.streams.get(&stream)?.has_journal_data();
        let cursor = self.attachment(id)?.cursors.get_mut(&stream)?;
        let from = cursor.next;
        cursor.wait = CursorWait::Nothing;
        cursor.skip_to(to);
        let usual = if archived {
            GapReason::Trimmed
        } else {
            GapReason::Overflow
        };
        Some(Message::Gap {
            stream,
            from,
            to,
            reason: reason.unwrap_or(usual),
        })
    }

    /// Takes the result of [`Effect::ReadJournal`].
    pub fn on_journal_read(
        &mut self,
        id: ClientId,
        stream: StreamId,
        offset: u64,
        found: JournalRead,
    ) {
        let Some(log) = self.streams.get(&stream) else {
            return;
        };
        let (ring_start, end) = (log.ring_start(), log.end());
        let attachment = self.attachment(id);
        let Some(cursor) = attachment.and_then(|it| it.cursors.get_mut(&stream)) else {
            return;
        };
        if cursor.wait != CursorWait::Journal || cursor.next != offset {
            return;
        }
        let (to, reason) = match found {
            JournalRead::Bytes(bytes, arrival) if !bytes.is_empty() => {
                cursor.wait = CursorWait::Ready(bytes, arrival);
                return;
            }
            JournalRead::Gap { to } if to > offset => (to.min(end), GapReason::Overflow),
            _ => (ring_start.max(offset), GapReason::Damaged),
        };
        if let Some(gap) = self.gap(id, stream, to, Some(reason)) {
            self.send(id, gap);
        }
    }

    /// Takes the result of [`Effect::Snapshot`]; `None` if there is no screen.
    pub fn on_snapshot(&mut self, id: ClientId, screen: Option<ScreenSnapshot>) {
        let stream = StreamId::TTY;
        let Some(log) = self.streams.get(&stream) else {
            return;
        };
        let (start, end) = (log.start(), log.end());
        let Some(cursor) = self
            .attachment(id)
            .and_then(|it| it.cursors.get_mut(&stream))
        else {
            return;
        };
        let CursorWait::Snapshot { gone } = cursor.wait else {
            return;
        };
        cursor.wait = CursorWait::Nothing;
        let next = cursor.next;
        let usable = |screen: &ScreenSnapshot| (start..=end).contains(&screen.at_offset);
        let Some(screen) = screen.filter(usable) else {
            if next < start
                && let Some(gap) = self.gap(id, stream, start, None)
            {
                self.send(id, gap);
            }
            return;
        };
        if gone && let Some(gap) = self.gap(id, stream, screen.at_offset, None) {
            self.send(id, gap);
        }
        self.skip_cursor(id, screen.at_offset);
        self.send_snapshot(id, &screen);
    }

    fn skip_cursor(&mut self, id: ClientId, to: u64) {
        let attachment = self.attachment(id);
        if let Some(cursor) = attachment.and_then(|it| it.cursors.get_mut(&StreamId::TTY)) {
            cursor.skip_to(to);
        }
    }

    fn send_snapshot(&mut self, id: ClientId, screen: &ScreenSnapshot) {
        let total = screen.bytes.len() as u64;
        self.send(
            id,
            Message::Snapshot {
                at_offset: screen.at_offset,
                size: screen.size,
                hash: crc32c::crc32c(&screen.bytes),
                total,
            },
        );
        let mut rest = screen.bytes.clone();
        let mut offset = 0;
        while !rest.is_empty() {
            let bytes = rest.split_to(rest.len().min(MAX_DATA_BYTES));
            let more = !rest.is_empty();
            let length = bytes.len() as u64;
            self.send(
                id,
                Message::SnapshotChunk {
                    offset,
                    bytes,
                    more,
                },
            );
            offset += length;
        }
    }

    /// Returns the exit for a client that has received everything else.
    fn exit_message(&mut self, id: ClientId) -> Option<Message> {
        let notice = self.exit.as_ref()?.notice.clone();
        let attachment = self.attachment(id)?;
        let has_all = |attachment: &Attachment| {
            let mut cursors = attachment.cursors.iter();
            cursors.all(|(stream, cursor)| cursor.next >= notice.ends[stream])
        };
        if attachment.exit_sent || !has_all(attachment) {
            return None;
        }
        attachment.exit_sent = true;
        Some(Message::Exit(notice))
    }

    fn attachment(&mut self, id: ClientId) -> Option<&mut Attachment> {
        self.clients.get_mut(&id)?.attachment_mut()
    }
}
