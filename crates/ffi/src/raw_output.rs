//! The bytes of a session's streams.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::{sleep, timeout_at};

use crate::core;
use crate::counters::{CountGuard, ObjectKind};
use crate::error::{BowlineError, Result};
use crate::runtime::abortable;

/// One of the output streams of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Enum)]
pub enum OutputKind {
    /// Standard output; on a terminal, all of the output.
    #[default]
    Output,
    /// Standard error, where it is apart: not on a terminal.
    Errors,
}

impl From<OutputKind> for core::Stream {
    fn from(kind: OutputKind) -> Self {
        match kind {
            OutputKind::Output => Self::Output,
            OutputKind::Errors => Self::Errors,
        }
    }
}

/// A part of a stream of bytes.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum RawPiece {
    /// Bytes that follow each other.
    Bytes {
        /// The offset of the first byte.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Bytes that are no longer kept, or that were dropped before they were read.
    Gap {
        /// The offset of the first missing byte.
        from: u64,
        /// The offset after the last missing byte.
        to: u64,
    },
}

/// Consecutive pieces of a stream of bytes.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RawBatch {
    /// The pieces in order.
    pub pieces: Vec<RawPiece>,
    /// The offset after them, from which to read on.
    pub offset: u64,
}

/// A reader of the bytes of a session.
///
/// Reading does not consume: each call names the offset to read from. A reader never holds the program
/// back: bytes that it does not read in time are a gap. Memory per reader is bounded by a batch. It does
/// not keep its session alive.
#[derive(uniffi::Object)]
pub struct RawStream {
    source: Arc<RawSource>,
    stopped: watch::Sender<bool>,
}

struct RawSource {
    reader: Mutex<core::RawOutput>,
    _guard: CountGuard,
}

impl std::fmt::Debug for RawStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawStream").finish_non_exhaustive()
    }
}

impl RawStream {
    pub(crate) fn new(reader: core::RawOutput) -> Arc<Self> {
        Arc::new(Self {
            source: Arc::new(RawSource {
                reader: Mutex::new(reader),
                _guard: CountGuard::new(ObjectKind::Stream),
            }),
            stopped: watch::Sender::new(false),
        })
    }
}

#[uniffi::export]
impl RawStream {
    /// Waits for bytes from `offset` on and returns them as one batch.
    ///
    /// Pass 0 for the beginning of the stream, and the offset of the last batch from then on. An offset
    /// past the end is the end. After the first piece the call waits `coalesceForMs` milliseconds for
    /// more. A batch has about `maxBytes` bytes at most: at least one piece, and no piece begins past
    /// that. Returns nothing once the stream was stopped or released, or has ended and was read.
    ///
    /// Cancel safe: the offset stays with the caller.
    ///
    /// # Errors
    ///
    /// `Invalid` if `maxBytes` is 0.
    pub async fn next(
        self: Arc<Self>,
        offset: u64,
        max_bytes: u32,
        coalesce_for_ms: u32,
    ) -> Result<Option<RawBatch>> {
        if max_bytes == 0 {
            return Err(BowlineError::invalid(
                "read 0 bytes: pass a maxBytes of at least 1",
            ));
        }
        let (source, mut stopped) = (Arc::clone(&self.source), self.stopped.subscribe());
        // Releasing the last handle ends the read.
        drop(self);
        let coalesce_for = Duration::from_millis(coalesce_for_ms.into());
        abortable(async move {
            tokio::select! {
                biased;
                // An error means that the stream was dropped, which stops it as well.
                _ = stopped.wait_for(|it| *it) => Ok(None),
                batch = source.next(offset, max_bytes as usize, coalesce_for) => Ok(batch),
            }
        })
        .await
    }

    /// Stops the stream: pending and later calls of `next` return nothing.
    ///
    /// May be called more than once and from any thread. The session is not affected.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }
}

impl RawSource {
    async fn next(
        &self,
        offset: u64,
        max_bytes: usize,
        coalesce_for: Duration,
    ) -> Option<RawBatch> {
        let mut reader = self.reader.lock().await;
        if reader.offset() != offset {
            *reader = reader.at(offset);
        }
        let mut pieces = vec![reader.next().await?];
        let mut bytes = length(&pieces[0]);
        if !coalesce_for.is_zero() && bytes < max_bytes {
            sleep(coalesce_for).await;
        }
        // A deadline in the past: take what is ready without waiting.
        let now = tokio::time::Instant::now();
        while bytes < max_bytes {
            let Some(piece) = timeout_at(now, reader.next()).await.ok().flatten() else {
                break;
            };
            bytes += length(&piece);
            pieces.push(piece);
        }
        Some(RawBatch {
            pieces: joined(pieces),
            offset: reader.offset(),
        })
    }
}

fn length(piece: &core::Piece) -> usize {
    match piece {
        core::Piece::Bytes { bytes, .. } => bytes.len(),
        core::Piece::Gap { .. } => 0,
    }
}

/// Joins pieces that follow each other, since each one costs the host an object.
fn joined(pieces: Vec<core::Piece>) -> Vec<RawPiece> {
    let mut all: Vec<RawPiece> = Vec::new();
    for piece in pieces {
        match (all.last_mut(), piece) {
            (Some(RawPiece::Bytes { bytes, .. }), core::Piece::Bytes { bytes: more, .. }) => {
                bytes.extend_from_slice(&more);
            }
            (Some(RawPiece::Gap { to, .. }), core::Piece::Gap { to: end, .. }) => *to = end,
            (_, core::Piece::Bytes { offset, bytes }) => all.push(RawPiece::Bytes {
                offset,
                bytes: bytes.into(),
            }),
            (_, core::Piece::Gap { from, to }) => all.push(RawPiece::Gap { from, to }),
        }
    }
    all
}
