//! What a client is sent next: answers first, then bytes as far as its credit goes, then the exit.

use super::client::{Attachment, Awaits, Client};
use super::stream::Next;
use super::{ClientId, Core, Effect, ReadBack, Screen};
use crate::wire::{Frame, GapReason, Message, StreamId};

/// Bytes of a stream in one message. Small enough that no stream keeps another one, or an answer,
/// waiting for long.
const PIECE_BYTES: usize = 64 * 1024;

impl Core {
    /// The next frame for a client, if it has one to get. To be asked when its connection has room;
    /// may leave effects behind.
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
        if std::mem::take(&mut attachment.owes_input_ack) {
            return Some(Message::InputAck {
                offset: self.input.taken(),
                ended: self.input.has_ended(),
            });
        }
        self.next_piece(id).or_else(|| self.exit_for(id))
    }

    /// The next bytes of any stream that the client follows, each stream in its turn. Who has half a
    /// ring that it has not said it has is asked: its credit may be larger than the ring, and come
    /// back too late for the child.
    fn next_piece(&mut self, id: ClientId) -> Option<Message> {
        let attachment = self.attachment(id)?;
        let turn = attachment.turn;
        let ids = attachment.cursors.keys().copied();
        let (before, after): (Vec<_>, Vec<_>) = ids.partition(|stream| *stream <= turn);
        for stream in after.into_iter().chain(before) {
            if let Some(message) = self.piece_of(id, stream) {
                let half = self.streams.get(&stream)?.capacity() / 2;
                let attachment = self.attachment(id)?;
                attachment.turn = stream;
                if attachment.cursors.get(&stream)?.unacknowledged() > half {
                    self.clients.get_mut(&id)?.ask_once();
                }
                return Some(message);
            }
        }
        None
    }

    fn piece_of(&mut self, id: ClientId, stream: StreamId) -> Option<Message> {
        let log = self.streams.get(&stream)?;
        let client = self.clients.get_mut(&id)?;
        let cursor = client.attachment_mut()?.cursors.get_mut(&stream)?;
        let most = cursor.credit.min(cursor.alike());
        let most = usize::try_from(most).map_or(PIECE_BYTES, |it| it.min(PIECE_BYTES));
        if let Awaits::Ready(bytes) = &mut cursor.awaits {
            let piece = bytes.split_to(bytes.len().min(most));
            if bytes.is_empty() {
                cursor.awaits = Awaits::Nothing;
            }
            return cursor.advance(stream, piece);
        }
        if cursor.awaits != Awaits::Nothing {
            return None;
        }
        match log.next(cursor.next, most) {
            Next::Nothing => None,
            Next::Bytes(bytes) => cursor.advance(stream, bytes),
            Next::Gone { .. } if stream == StreamId::TTY && self.has_screen => {
                cursor.awaits = Awaits::Screen { gone: true };
                self.effects.push_back(Effect::Snapshot { client: id });
                None
            }
            Next::Gone { to } => self.gap(id, stream, to, None),
            Next::ReadBack if most == 0 => None,
            Next::ReadBack => {
                cursor.awaits = Awaits::ReadBack;
                self.effects.push_back(Effect::ReadBack {
                    client: id,
                    stream,
                    offset: cursor.next,
                    max: most,
                });
                None
            }
        }
    }

    /// Lets a client go on where the bytes are, and says so.
    fn gap(
        &mut self,
        id: ClientId,
        stream: StreamId,
        to: u64,
        reason: Option<GapReason>,
    ) -> Option<Message> {
        let archived = self.streams.get(&stream)?.has_archive();
        let cursor = self.attachment(id)?.cursors.get_mut(&stream)?;
        let from = cursor.next;
        cursor.awaits = Awaits::Nothing;
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

    /// Answers [`Effect::ReadBack`].
    pub fn read_back(&mut self, id: ClientId, stream: StreamId, offset: u64, found: ReadBack) {
        let Some(log) = self.streams.get(&stream) else {
            return;
        };
        let (ring_start, end) = (log.ring_start(), log.end());
        let attachment = self.attachment(id);
        let Some(cursor) = attachment.and_then(|it| it.cursors.get_mut(&stream)) else {
            return;
        };
        if cursor.awaits != Awaits::ReadBack || cursor.next != offset {
            return;
        }
        let (to, reason) = match found {
            ReadBack::Bytes(bytes) if !bytes.is_empty() => {
                cursor.awaits = Awaits::Ready(bytes);
                return;
            }
            ReadBack::Gap { to } if to > offset => (to.min(end), GapReason::Overflow),
            _ => (ring_start.max(offset), GapReason::Damaged),
        };
        if let Some(gap) = self.gap(id, stream, to, Some(reason)) {
            self.say(id, gap);
        }
    }

    /// Answers [`Effect::Snapshot`]; `None` if there is no screen to be had.
    pub fn snapshot(&mut self, id: ClientId, screen: Option<Screen>) {
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
        let Awaits::Screen { gone } = cursor.awaits else {
            return;
        };
        cursor.awaits = Awaits::Nothing;
        let next = cursor.next;
        let usable = |screen: &Screen| (start..=end).contains(&screen.at_offset);
        let Some(screen) = screen.filter(usable) else {
            if next < start
                && let Some(gap) = self.gap(id, stream, start, None)
            {
                self.say(id, gap);
            }
            return;
        };
        if gone && let Some(gap) = self.gap(id, stream, screen.at_offset, None) {
            self.say(id, gap);
        }
        self.cursor_skips(id, screen.at_offset);
        self.say_screen(id, &screen);
    }

    fn cursor_skips(&mut self, id: ClientId, to: u64) {
        let attachment = self.attachment(id);
        if let Some(cursor) = attachment.and_then(|it| it.cursors.get_mut(&StreamId::TTY)) {
            cursor.skip_to(to);
        }
    }

    fn say_screen(&mut self, id: ClientId, screen: &Screen) {
        let total = screen.bytes.len() as u64;
        self.say(
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
            let bytes = rest.split_to(rest.len().min(PIECE_BYTES));
            let more = !rest.is_empty();
            let length = bytes.len() as u64;
            self.say(
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

    /// The exit, for a client that has been sent everything else.
    fn exit_for(&mut self, id: ClientId) -> Option<Message> {
        let notice = self.exit.as_ref()?.notice.clone();
        let attachment = self.attachment(id)?;
        let has_all = |attachment: &Attachment| {
            let mut cursors = attachment.cursors.iter();
            cursors.all(|(stream, cursor)| cursor.next >= notice.ends[stream])
        };
        if attachment.told_exit || !has_all(attachment) {
            return None;
        }
        attachment.told_exit = true;
        Some(Message::Exit(notice))
    }

    fn attachment(&mut self, id: ClientId) -> Option<&mut Attachment> {
        self.clients.get_mut(&id)?.attachment_mut()
    }
}
