//! A screen that comes in chunks.

use bytes::{Bytes, BytesMut};

use crate::screen::Screen;
use bowline_process::WindowSize;

/// The longest screen, in bytes: that of the largest window (1,000 by 1,000) with 16 bytes a cell.
const MAX_SCREEN: u64 = 16 << 20;

#[derive(Debug)]
pub(super) struct Painting {
    offset: u64,
    size: WindowSize,
    hash: u32,
    total: u64,
    bytes: BytesMut,
}

impl Painting {
    /// Begins one. Answers why it cannot be.
    pub(super) fn new(
        offset: u64,
        size: WindowSize,
        hash: u32,
        total: u64,
    ) -> Result<Self, &'static str> {
        if total > MAX_SCREEN {
            return Err("a screen is longer than any may be");
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

    /// Adds a chunk; answers the screen when it is whole.
    pub(super) fn add(
        &mut self,
        offset: u64,
        chunk: &Bytes,
    ) -> Result<Option<Screen>, &'static str> {
        if offset != self.bytes.len() as u64 || offset + chunk.len() as u64 > self.total {
            return Err("a screen's chunk is out of its place");
        }
        self.bytes.extend_from_slice(chunk);
        if (self.bytes.len() as u64) < self.total {
            return Ok(None);
        }
        if crc32c::crc32c(&self.bytes) != self.hash {
            return Err("a screen is damaged");
        }
        Ok(Some(Screen {
            offset: self.offset,
            size: self.size,
            bytes: self.bytes.split().freeze(),
        }))
    }
}
