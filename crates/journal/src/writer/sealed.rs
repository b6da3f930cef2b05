//! Complete segments, which are kept until the size limit requires their space.

use std::collections::VecDeque;
use std::io;

use super::super::{Disk, Header};
use super::segment::Segment;
use bowline_wire::StreamId;

#[derive(Debug, Default)]
pub(super) struct SealedSegments {
    /// Headers and lengths in bytes, oldest first.
    segments: VecDeque<(Header, u64)>,
    bytes: u64,
    next: u32,
}

impl SealedSegments {
    /// Returns an unused segment number.
    pub(super) fn next_number(&mut self) -> u32 {
        let number = self.next;
        self.next += 1;
        number
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn push<F>(&mut self, segment: &Segment<F>) {
        self.bytes += segment.bytes;
        self.segments
            .push_back((segment.header.clone(), segment.bytes));
    }

    /// Returns the offset at which a stream begins in the oldest segment; `None` without segments.
    pub(super) fn begin(&self, stream: StreamId) -> Option<u64> {
        let (oldest, _) = self.segments.front()?;
        Some(oldest.begin(stream))
    }

    pub(super) fn drop_oldest<D: Disk>(&mut self, disk: &D) -> io::Result<()> {
        let Some((oldest, bytes)) = self.segments.front() else {
            return Ok(());
        };
        match disk.remove(oldest.segment) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => {
                self.bytes -= bytes;
                self.segments.pop_front();
                Ok(())
            }
        }
    }
}
