//! Splits a byte stream into messages of whole frames, by the length in their headers alone.

use bowline_transport::wire::{HEADER_BYTES, MAX_PAYLOAD};
use bytes::{Bytes, BytesMut};

/// Offset of the type in a frame's header.
const TYPE_OFFSET: usize = 4;

/// The type of `Attached`.
const ATTACHED_TYPE: u8 = 4;

/// Maximum size of a message, in bytes: that of a frame, which every client accepts.
const MAX_MESSAGE: usize = HEADER_BYTES + MAX_PAYLOAD;

/// Buffers bytes and returns them as whole frames.
#[derive(Debug, Default)]
pub(crate) struct FrameSplitter(BytesMut);

/// One or more whole frames.
#[derive(Debug)]
pub(crate) struct WholeFrames {
    pub(crate) frames: Bytes,
    /// Whether one of them is `Attached`.
    pub(crate) has_attached: bool,
}

impl FrameSplitter {
    /// The buffer to read into.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.0
    }

    /// Returns as many of the buffered whole frames as fit into one message.
    pub(crate) fn next(&mut self) -> Option<WholeFrames> {
        let (mut end, mut has_attached) = (0, false);
        while let Some(length) = frame_length(self.0.get(end..).unwrap_or_default()) {
            if end + length > MAX_MESSAGE {
                break;
            }
            has_attached |= self.0[end + TYPE_OFFSET] == ATTACHED_TYPE;
            end += length;
        }
        let frames = self.0.split_to(end).freeze();
        (end > 0).then_some(WholeFrames {
            frames,
            has_attached,
        })
    }
}

/// Returns the length of the first frame if all of it is buffered. A length above the maximum is
/// cut to it, since the client refuses such a frame by its header.
fn frame_length(bytes: &[u8]) -> Option<usize> {
    let length: [u8; 4] = *bytes.first_chunk()?;
    let payload = (u32::from_le_bytes(length) as usize).min(MAX_PAYLOAD);
    let length = HEADER_BYTES + payload;
    (bytes.len() >= length).then_some(length)
}

#[cfg(test)]
mod tests {
    use bowline_transport::wire::{Frame, Message, StreamId, encode};

    use super::*;

    fn check(all: &[u8], chunk: usize) {
        let (mut splitter, mut out) = (FrameSplitter::default(), Vec::new());
        for part in all.chunks(chunk) {
            splitter.buffer().extend_from_slice(part);
            while let Some(whole) = splitter.next() {
                assert!(!whole.has_attached && whole.frames.len() <= MAX_MESSAGE);
                let mut rest = &whole.frames[..];
                while let Some(length) = frame_length(rest) {
                    rest = &rest[length..];
                }
                assert!(rest.is_empty(), "split inside a frame");
                out.extend_from_slice(&whole.frames);
            }
        }
        assert_eq!(out, all);
    }

    #[test]
    fn frames_are_whole_for_any_read_size() {
        let mut all = BytesMut::new();
        for nonce in 0..3 {
            encode(&Frame::new(nonce, Message::Ping { nonce }), &mut all);
        }
        (1..all.len()).for_each(|chunk| check(&all, chunk));
    }

    #[test]
    fn message_size_is_bounded() {
        let mut all = BytesMut::new();
        for offset in 0..4 {
            let data = Message::Data {
                stream: StreamId::TTY,
                offset,
                bytes: vec![0; MAX_PAYLOAD - 100 * offset as usize].into(),
                replay: false,
            };
            encode(&Frame::new(0, data), &mut all);
        }
        for chunk in [1000, MAX_MESSAGE, all.len()] {
            check(&all, chunk);
        }
    }
}
