//! Assembly of a screen from its chunks.

use bytes::{Bytes, BytesMut};

use crate::screen::Screen;
use bowline_process::WindowSize;

/// Size limit of a screen, in bytes: the largest window (1,000 by 1,000) with 16 bytes per cell.
const MAX_SCREEN_BYTES: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct SnapshotAssembler {
    offset: u64,
    size: WindowSize,
    hash: u32,
    total: u64,
    bytes: BytesMut,
}

impl SnapshotAssembler {
    /// Starts a screen of `total` bytes with the CRC-32C `hash`. Fails if it is too long.
    pub(super) fn new(
        offset: u64,
        size: WindowSize,
        hash: u32,
        total: u64,
    ) -> Result<Self, &'static str> {
        if total > MAX_SCREEN_BYTES {
            return Err("a snapshot exceeds the size limit");
        }
        let bytes = BytesMut::new();
        Ok(Self {
            offset,
            size,
            hash,
            total,
            bytes,
        })
    }

    /// Adds a chunk and returns the screen once it is complete.
    pub(super) fn add(
        &mut self,
        offset: u64,
        chunk: &Bytes,
    ) -> Result<Option<Screen>, &'static str> {
        if offset != self.bytes.len() as u64 || offset + chunk.len() as u64 > self.total {
            return Err("a snapshot chunk has the wrong offset");
        }
        self.bytes.extend_from_slice(chunk);
        if (self.bytes.len() as u64) < self.total {
            return Ok(None);
        }
        if crc32c::crc32c(&self.bytes) != self.hash {
            return Err("a snapshot has the wrong checksum");
        }
        Ok(Some(Screen {
            offset: self.offset,
            size: self.size,
            bytes: self.bytes.split().freeze(),
        }))
    }
}
