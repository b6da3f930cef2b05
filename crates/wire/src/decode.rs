//! Bytes to messages.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::encode::{DATA, DETACH, EXIT_ACK, INPUT, LAST, SNAPSHOT_CHUNK};
use super::header::{Header, flags};
use super::{Frame, HEADER_BYTES, MAX_MESSAGE, Message, WireError};

/// Puts messages together from bytes as they come. The bytes of a frame that lies whole in one
/// chunk are shared with it; no other copy is made than that of a frame over several chunks.
#[derive(Debug, Default)]
pub struct Decoder {
    chunks: VecDeque<Bytes>,
    /// A frame whose end has not come.
    partial: BytesMut,
    /// A message whose last part has not come, and its type.
    parts: Option<(u8, BytesMut)>,
    failed: Option<WireError>,
}

impl Decoder {
    /// A decoder that has been fed nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes what has come, of any length.
    pub fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.chunks.push_back(bytes);
        }
    }

    /// The next message, if all of it has come.
    ///
    /// # Errors
    ///
    /// What came is no frame. The same error is given from then on.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator that ends may not go on, and this one does when more has come"
    )]
    pub fn next(&mut self) -> Result<Option<Frame>, WireError> {
        if let Some(failed) = &self.failed {
            return Err(failed.clone());
        }
        self.frame().inspect_err(|error| {
            self.failed = Some(error.clone());
            self.chunks.clear();
            self.partial = BytesMut::new();
            self.parts = None;
        })
    }

    /// Whether nothing waits for its rest.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty() && self.partial.is_empty() && self.parts.is_none()
    }

    fn frame(&mut self) -> Result<Option<Frame>, WireError> {
        while let Some((header, frame)) = self.whole()? {
            header.check(&frame)?;
            if let Some(message) = self.message(header, frame.slice(HEADER_BYTES..))? {
                return Ok(Some(Frame::new(header.generation, message)));
            }
        }
        Ok(None)
    }

    /// The next frame's bytes, if they are all there.
    fn whole(&mut self) -> Result<Option<(Header, Bytes)>, WireError> {
        loop {
            let header = read(&self.partial)?;
            let length = HEADER_BYTES + header.map_or(0, |header| header.length);
            if let Some(header) = header
                && self.partial.len() == length
            {
                return Ok(Some((header, self.partial.split().freeze())));
            }
            let Some(chunk) = self.chunks.front_mut() else {
                return Ok(None);
            };
            let frame = if self.partial.is_empty() {
                split(chunk)?
            } else {
                None
            };
            if frame.is_none() {
                let missing = (length - self.partial.len()).min(chunk.len());
                self.partial.extend_from_slice(&chunk.split_to(missing));
            }
            if chunk.is_empty() {
                self.chunks.pop_front();
            }
            if frame.is_some() {
                return Ok(frame);
            }
        }
    }

    /// The message that a frame is, or is the last part of.
    fn message(&mut self, header: Header, payload: Bytes) -> Result<Option<Message>, WireError> {
        let kind = header.kind;
        if let Some((begun, _)) = &self.parts
            && *begun != kind
        {
            return Err(WireError::Interrupted { kind });
        }
        if matches!(kind, DATA | INPUT | SNAPSHOT_CHUNK) {
            header.check_end()?;
        }
        match kind {
            DATA => Ok(Some(Message::Data {
                stream: header.stream,
                offset: header.offset,
                bytes: payload,
                replay: header.flags & flags::REPLAY != 0,
            })),
            INPUT => Ok(Some(Message::Input {
                offset: header.offset,
                bytes: payload,
            })),
            SNAPSHOT_CHUNK => Ok(Some(Message::SnapshotChunk {
                offset: header.offset,
                bytes: payload,
                more: header.flags & flags::MORE != 0,
            })),
            EXIT_ACK => Ok(Some(Message::ExitAck)),
            DETACH => Ok(Some(Message::Detach)),
            1..=LAST => self.json(header, payload),
            _ if header.flags & flags::OPTIONAL != 0 => Ok(None),
            _ => Err(WireError::UnknownType { kind }),
        }
    }

    fn json(&mut self, header: Header, payload: Bytes) -> Result<Option<Message>, WireError> {
        let kind = header.kind;
        let goes_on = header.flags & flags::MORE != 0;
        let json = if goes_on || self.parts.is_some() {
            let (_, mut parts) = self.parts.take().unwrap_or_else(|| (kind, BytesMut::new()));
            if parts.len() + payload.len() > MAX_MESSAGE {
                return Err(WireError::TooLong);
            }
            parts.extend_from_slice(&payload);
            if goes_on {
                self.parts = Some((kind, parts));
                return Ok(None);
            }
            parts.freeze()
        } else {
            payload
        };
        let refuse = |reason: String| WireError::Payload { kind, reason };
        let message: Message =
            serde_json::from_slice(&json).map_err(|error| refuse(error.to_string()))?;
        if message.kind() != kind {
            return Err(refuse(format!(
                "it is a message of type {}",
                message.kind()
            )));
        }
        Ok(Some(message))
    }
}

/// The header, if all of it is there.
fn read(bytes: &[u8]) -> Result<Option<Header>, WireError> {
    bytes.first_chunk().map(Header::read).transpose()
}

/// Takes the first frame from a chunk, if all of it is there.
fn split(chunk: &mut Bytes) -> Result<Option<(Header, Bytes)>, WireError> {
    let header = read(chunk)?;
    let whole = header.filter(|header| chunk.len() >= HEADER_BYTES + header.length);
    Ok(whole.map(|header| (header, chunk.split_to(HEADER_BYTES + header.length))))
}
