//! The segments that were written and are kept until the cap asks for their space.

use std::collections::VecDeque;
use std::io;

use super::super::{Disk, Header};
use super::segment::Segment;
use bowline_wire::StreamId;

#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// Headers and lengths, oldest first.
    segments: VecDeque<(Header, u64)>,
    bytes: u64,
    next: u32,
}

impl Shelf {
    /// A number that no segment has had.
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

    /// Where a stream begins in the oldest segment; `None` if there is none.
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
