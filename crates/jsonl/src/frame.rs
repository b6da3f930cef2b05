//! What a framer cuts a stream into.

use crate::items::{Items, Reader};

/// One cut of the stream, lent by its framer.
#[derive(Debug)]
pub enum Frame<'a> {
    /// Whole lines.
    Lines(Window<'a>),
    /// A line over the limit; it was skipped to its LF.
    Oversize(Oversize<'a>),
}

/// Whole lines that lie together in memory.
#[derive(Debug)]
pub struct Window<'a> {
    /// The lines, each with its LF; only a tail has none.
    pub bytes: &'a [u8],
    /// Offset in the stream of the first byte.
    pub offset: u64,
    /// Number of the first line, from 1.
    pub line: u64,
    /// Whether the input ended without an LF behind this line.
    pub is_tail: bool,
    pub(crate) reader: &'a mut Reader,
}

/// A line over the limit.
#[derive(Debug)]
pub struct Oversize<'a> {
    /// Offset in the stream of its first byte.
    pub offset: u64,
    /// Number of the line, from 1.
    pub line: u64,
    /// Length without the LF, in bytes.
    pub length: u64,
    /// The limit, in bytes.
    pub limit: u64,
    /// Whether the input ended without an LF behind it.
    pub is_tail: bool,
    /// The first bytes of the line.
    pub head: &'a [u8],
    pub(crate) reader: &'a mut Reader,
}

impl<'a> Frame<'a> {
    /// The lines of the frame, parsed one by one as they are asked for. Those that nobody asks for
    /// are passed over.
    #[must_use]
    pub fn items(self) -> Items<'a> {
        Items::new(self)
    }
}
