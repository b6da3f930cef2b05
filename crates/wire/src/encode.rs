//! Encodes messages as frames.

use bytes::BytesMut;

use super::header::{Header, flags};
use super::{Frame, MAX_PAYLOAD, Message, StreamId};

/// Appends a message to `into`, as one frame or as several if it exceeds one payload.
pub fn encode(frame: &Frame, into: &mut BytesMut) {
    let message = &frame.message;
    let (stream, offset) = message.place();
    let mut header = Header {
        length: 0,
        kind: message.kind(),
        flags: 0,
        stream,
        offset,
        generation: frame.generation,
        checksum: 0,
    };
    match message {
        Message::Data { bytes, replay, .. } => {
            header.flags = if *replay { flags::REPLAY } else { 0 };
            raw(header, bytes, false, into);
        }
        Message::Input { bytes, .. } => raw(header, bytes, false, into),
        Message::SnapshotChunk { bytes, more, .. } => {
            header.flags = if *more { flags::MORE } else { 0 };
            raw(header, bytes, true, into);
        }
        Message::ExitAck | Message::Detach => header.write(&[], into),
        other => {
            let json = serde_json::to_vec(other).expect("every message is representable in JSON");
            parts(header, &json, into);
        }
    }
}

/// Writes several messages, each at its own offset. All chunks of a screen but the last have `MORE`.
fn raw(header: Header, bytes: &[u8], is_chunk: bool, into: &mut BytesMut) {
    let mut rest = bytes;
    let mut offset = header.offset;
    loop {
        let (part, remaining) = rest.split_at(rest.len().min(MAX_PAYLOAD));
        let has_more = is_chunk && !remaining.is_empty();
        let more = if has_more { flags::MORE } else { 0 };
        let flags = header.flags | more;
        let header = Header {
            flags,
            offset,
            ..header
        };
        header.write(part, into);
        offset += part.len() as u64;
        rest = remaining;
        if rest.is_empty() {
            return;
        }
    }
}

/// Writes the parts of one message.
fn parts(header: Header, payload: &[u8], into: &mut BytesMut) {
    let mut parts = payload.chunks(MAX_PAYLOAD).peekable();
    while let Some(part) = parts.next() {
        let has_more = parts.peek().is_some();
        let flags = header.flags | if has_more { flags::MORE } else { 0 };
        Header { flags, ..header }.write(part, into);
    }
}

impl Message {
    /// Returns the type number of the message.
    #[must_use]
    pub const fn kind(&self) -> u8 {
        match self {
            Self::Hello(_) => 1,
            Self::Welcome(_) => 2,
            Self::Attach(_) => 3,
            Self::Attached(_) => 4,
            Self::Gap { .. } => 5,
            Self::Snapshot { .. } => 6,
            Self::SnapshotChunk { .. } => SNAPSHOT_CHUNK,
            Self::Data { .. } => DATA,
            Self::Ack { .. } => 9,
            Self::Credit { .. } => 10,
            Self::Input { .. } => INPUT,
            Self::InputEnd { .. } => 12,
            Self::InputAck { .. } => 13,
            Self::InputRefused { .. } => 14,
            Self::Prompt(_) => 15,
            Self::PromptState { .. } => 16,
            Self::Resize { .. } => 17,
            Self::Signal { .. } => 18,
            Self::Kill { .. } => 19,
            Self::Killed { .. } => 20,
            Self::Exit(_) => 21,
            Self::ExitAck => EXIT_ACK,
            Self::Ping { .. } => 23,
            Self::Pong { .. } => 24,
            Self::Fenced { .. } => 25,
            Self::Degraded { .. } => 26,
            Self::Error { .. } => 27,
            Self::Detach => DETACH,
            Self::GoAway { .. } => 29,
            Self::Arrival { .. } => LAST,
        }
    }

    /// Returns the stream and the offset of the header, which relays read without decoding the payload.
    const fn place(&self) -> (StreamId, u64) {
        match self {
            Self::Data { stream, offset, .. }
            | Self::Arrival { stream, offset, .. }
            | Self::Ack { stream, offset } => (*stream, *offset),
            Self::Gap { stream, from, .. } => (*stream, *from),
            Self::Credit { stream, .. } => (*stream, 0),
            Self::Input { offset, .. }
            | Self::InputEnd { offset }
            | Self::InputAck { offset, .. } => (StreamId::INPUT, *offset),
            Self::InputRefused { from, .. } => (StreamId::INPUT, *from),
            Self::SnapshotChunk { offset, .. } => (StreamId::TTY, *offset),
            Self::Snapshot { at_offset, .. } => (StreamId::TTY, *at_offset),
            _ => (StreamId(0), 0),
        }
    }
}

pub(super) const SNAPSHOT_CHUNK: u8 = 7;
pub(super) const DATA: u8 = 8;
pub(super) const INPUT: u8 = 11;
pub(super) const EXIT_ACK: u8 = 22;
pub(super) const DETACH: u8 = 28;
/// The highest type number of this version.
pub(super) const LAST: u8 = 30;
