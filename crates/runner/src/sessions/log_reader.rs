//! Reads streams of a session from its shim.

use std::collections::BTreeMap;

use bowline_transport::Piece;
use bowline_transport::journal::{Arrival, Arrived};
use bowline_transport::wire::{Message, StreamId};

use super::shim_link::{ShimLink, ShimLinkError};

/// Reads streams of a session up to given ends, over a link that is attached to them.
#[derive(Debug)]
pub(crate) struct LogReader {
    link: ShimLink,
    /// Arrival of the next piece of each stream.
    arrivals: BTreeMap<StreamId, Arrival>,
    /// Offset of the next byte of each stream, and the end.
    ends: BTreeMap<StreamId, (u64, u64)>,
}

impl LogReader {
    /// Returns a reader of the streams in `ends`, each from its first offset to its second one.
    pub(crate) const fn new(link: ShimLink, ends: BTreeMap<StreamId, (u64, u64)>) -> Self {
        Self {
            link,
            arrivals: BTreeMap::new(),
            ends,
        }
    }

    /// Returns the next piece of any attached stream; `None` once each stream has reached its end. The last piece
    /// may exceed the end.
    pub(crate) async fn next(&mut self) -> Result<Option<(StreamId, Arrived)>, ShimLinkError> {
        while self.ends.values().any(|(next, end)| next < end) {
            let message = self.link.next().await?;
            let Some((stream, piece)) = self.piece(message) else {
                continue;
            };
            let arrival = self.arrivals.get(&stream).copied().unwrap_or_default();
            let piece = Arrived { arrival, piece };
            if let Some((next, _)) = self.ends.get_mut(&stream) {
                *next = piece.end();
            }
            return Ok(Some((stream, piece)));
        }
        Ok(None)
    }

    /// Handles a message. Returns its piece of a stream, if it has one.
    fn piece(&mut self, message: Message) -> Option<(StreamId, Piece)> {
        match message {
            Message::Arrival {
                stream,
                at_ms,
                output,
                ..
            } => {
                self.arrivals.insert(stream, Arrival { at_ms, output });
                None
            }
            Message::Data {
                stream,
                offset,
                bytes,
                ..
            } => {
                let n = bytes.len() as u64;
                self.link.queue(Message::Credit { stream, n });
                Some((stream, Piece::Bytes { offset, bytes }))
            }
            Message::Gap {
                stream, from, to, ..
            } => Some((stream, Piece::Gap { from, to })),
            // A screen replaces the bytes before it, which are not available any more.
            Message::Snapshot { at_offset: to, .. } => {
                let from = self.ends.get(&StreamId::TTY)?.0;
                (from < to).then_some((StreamId::TTY, Piece::Gap { from, to }))
            }
            _ => None,
        }
    }
}
