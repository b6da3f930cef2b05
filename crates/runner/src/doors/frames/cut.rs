//! Cuts what a shim says into messages of whole frames, by their lengths alone.

use bowline_transport::wire::{HEADER_BYTES, MAX_PAYLOAD};
use bytes::{Bytes, BytesMut};

/// Where the type stands in a frame's header.
const TYPE_AT: usize = 4;

/// The type of `Attached`.
const ATTACHED: u8 = 4;

/// The longest message, in bytes: the longest frame, so that every client takes it.
const LONGEST: usize = HEADER_BYTES + MAX_PAYLOAD;

/// Bytes as they come, whole frames as they go.
#[derive(Debug, Default)]
pub(crate) struct Cutter(BytesMut);

/// Whole frames.
#[derive(Debug)]
pub(crate) struct Cut {
    pub(crate) frames: Bytes,
    /// Whether one of them says `Attached`.
    pub(crate) has_attached: bool,
}

impl Cutter {
    /// Where bytes are read to.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.0
    }

    /// The next frames that are whole, as many as one message takes.
    pub(crate) fn next(&mut self) -> Option<Cut> {
        let (mut end, mut has_attached) = (0, false);
        while let Some(length) = frame(self.0.get(end..).unwrap_or_default()) {
            if end + length > LONGEST {
                break;
            }
            has_attached |= self.0[end + TYPE_AT] == ATTACHED;
            end += length;
        }
        let frames = self.0.split_to(end).freeze();
        (end > 0).then_some(Cut {
            frames,
            has_attached,
        })
    }
}

/// The length of the frame in front, if all of it is there. One that is longer than any may be is
/// passed on as it is: the client refuses it.
fn frame(bytes: &[u8]) -> Option<usize> {
    let length: [u8; 4] = *bytes.first_chunk()?;
    let payload = (u32::from_le_bytes(length) as usize).min(MAX_PAYLOAD);
    let length = HEADER_BYTES + payload;
    (bytes.len() >= length).then_some(length)
}

#[cfg(test)]
mod tests {
    use bowline_transport::wire::{Frame, Message, StreamId, encode};

    use super::*;

    fn check(all: &[u8], step: usize) {
        let (mut cutter, mut out) = (Cutter::default(), Vec::new());
        for part in all.chunks(step) {
            cutter.buffer().extend_from_slice(part);
            while let Some(cut) = cutter.next() {
                assert!(!cut.has_attached && cut.frames.len() <= LONGEST);
                let mut rest = &cut.frames[..];
                while let Some(length) = frame(rest) {
                    rest = &rest[length..];
                }
                assert!(rest.is_empty(), "cut inside of a frame");
                out.extend_from_slice(&cut.frames);
            }
        }
        assert_eq!(out, all);
    }

    #[test]
    fn frames_come_out_whole_however_they_come_in() {
        let mut all = BytesMut::new();
        for nonce in 0..3 {
            encode(&Frame::new(nonce, Message::Ping { nonce }), &mut all);
        }
        (1..all.len()).for_each(|step| check(&all, step));
    }

    #[test]
    fn no_message_is_longer_than_the_longest_frame() {
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
        for step in [1000, LONGEST, all.len()] {
            check(&all, step);
        }
    }
}
