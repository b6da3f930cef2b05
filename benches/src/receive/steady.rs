//! A stream without end through the receive path: what stays in memory.

use std::io;

use bowline_jsonl::Framer;
use bowline_transport::Piece;
use serde::{Deserialize, Serialize};

use super::{Role, agent, one_reactor, status};

/// Resident memory along a stream.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Steady {
    /// Bytes of the stream.
    pub bytes: u64,
    /// Resident memory when each tenth of it was folded, in bytes.
    pub resident: Vec<u64>,
}

impl Steady {
    /// The last tenth over the second one: what a stream that is five times as long adds.
    #[must_use]
    pub fn growth(&self) -> f64 {
        match (self.resident.get(1), self.resident.last()) {
            (Some(&early), Some(&late)) => late as f64 / early as f64,
            _ => f64::NAN,
        }
    }
}

/// Streams so many bytes from a child through pipe, tap, framer and parser; each event is counted
/// and forgotten, since a transcript that keeps all of them grows with what they say.
///
/// # Errors
///
/// The child cannot be started, or its lines are not all there and whole.
pub fn steady(bytes: u64) -> io::Result<Steady> {
    one_reactor().block_on(async {
        let (_session, mut tap) = agent::tapped(Role::Chunks(bytes))?;
        let (mut framer, mut resident) = (Framer::default(), Vec::new());
        let mut end = 0;
        while let Some((_, piece)) = tap.next().await {
            let Some(Piece::Bytes {
                offset,
                bytes: more,
            }) = piece
            else {
                continue;
            };
            if offset != end {
                return Err(io::Error::other("bytes of the stream are missing"));
            }
            end = offset + more.len() as u64;
            framer.push(more);
            while let Some(frame) = framer.next_frame() {
                if frame.items().any(|item| item.event.is_err()) {
                    return Err(io::Error::other("a line of the stream is broken"));
                }
            }
            let tenths = resident.len() as u64 + 1;
            if tenths <= 10 && end >= bytes / 10 * tenths {
                resident.push(status::resident());
            }
        }
        Ok(Steady {
            bytes: end,
            resident,
        })
    })
}
