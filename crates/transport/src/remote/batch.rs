//! Groups frames into messages of bounded size.

use bowline_wire::{HEADER_BYTES, MAX_PAYLOAD};
use bytes::{Bytes, BytesMut};

/// Size limit of a sent message, in bytes: one frame of the maximum size, or several shorter ones.
const BATCH_BYTES: usize = HEADER_BYTES + MAX_PAYLOAD;

/// Removes as many whole frames from `out` as fit into one message.
pub(super) fn batch(out: &mut BytesMut) -> Bytes {
    let mut end = 0;
    while let Some(length) = out[end..].first_chunk().map(|it| u32::from_le_bytes(*it)) {
        let next = end + HEADER_BYTES + length as usize;
        if next > BATCH_BYTES && end > 0 {
            break;
        }
        end = next;
    }
    let batch = out.split_to(end).freeze();
    if out.is_empty() {
        // The batch shares the old buffer, which could not be reused.
        *out = BytesMut::new();
    }
    batch
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_wire::{Decoder, Frame, Message as WireMessage, StreamId, encode};

    #[test]
    fn messages_hold_whole_frames_and_are_bounded() {
        let mut out = BytesMut::new();
        for offset in 0..10 {
            let message = WireMessage::Data {
                stream: StreamId::STDOUT,
                offset,
                bytes: vec![7; 100_000].into(),
                replay: false,
            };
            encode(&Frame::new(1, message), &mut out);
        }
        let (mut messages, mut frames) = (0, 0);
        while !out.is_empty() {
            let message = batch(&mut out);
            assert!(message.len() <= BATCH_BYTES);
            let mut decoder = Decoder::new();
            decoder.push(message);
            while decoder.next().unwrap().is_some() {
                frames += 1;
            }
            assert!(decoder.is_empty());
            messages += 1;
        }
        assert_eq!((messages, frames), (5, 10));
    }
}
