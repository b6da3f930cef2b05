//! Decodes bytes into messages.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::encode::{DATA, DETACH, EXIT_ACK, INPUT, LAST, SNAPSHOT_CHUNK};
use super::header::{Header, flags};
use super::{Frame, HEADER_BYTES, MAX_MESSAGE, Message, WireError};

/// Assembles messages from chunks of any length.
///
/// A frame within one chunk shares its memory; only a frame that spans several chunks is copied.
#[derive(Debug, Default)]
pub struct Decoder {
    chunks: VecDeque<Bytes>,
    /// The beginning of an incomplete frame.
    partial: BytesMut,
    /// The type and the parts of an incomplete message.
    parts: Option<(u8, BytesMut)>,
    failed: Option<WireError>,
}

impl Decoder {
    /// Returns an empty decoder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends received bytes.
    pub fn push(&mut self, bytes: Bytes) {
        if !bytes.is_empty() {
            self.chunks.push_back(bytes);
        }
    }

    /// Returns the next complete message, if there is one.
    ///
    /// # Errors
    ///
    /// The bytes are not a valid frame. All later calls return the same error.
    #[expect(
        clippy::should_implement_trait,
        reason = "an iterator must not resume after `None`, and this does when more bytes arrive"
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

    /// Returns whether no incomplete frame or message is buffered.
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

    /// Returns the bytes of the next complete frame.
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

    /// Returns the message that the frame is, or completes.
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
        let has_more = header.flags & flags::MORE != 0;
        let json = if has_more || self.parts.is_some() {
            let (_, mut parts) = self.parts.take().unwrap_or_else(|| (kind, BytesMut::new()));
            if parts.len() + payload.len() > MAX_MESSAGE {
                return Err(WireError::TooLong);
            }
            parts.extend_from_slice(&payload);
            if has_more {
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
                "the payload is a message of type {}",
                message.kind()
            )));
        }
        Ok(Some(message))
    }
}

/// Returns the header, if it is complete.
fn read(bytes: &[u8]) -> Result<Option<Header>, WireError> {
    bytes.first_chunk().map(Header::read).transpose()
}

/// Splits the first frame off a chunk, if it is complete.
fn split(chunk: &mut Bytes) -> Result<Option<(Header, Bytes)>, WireError> {
    let header = read(chunk)?;
    let whole = header.filter(|header| chunk.len() >= HEADER_BYTES + header.length);
    Ok(whole.map(|header| (header, chunk.split_to(HEADER_BYTES + header.length))))
}
