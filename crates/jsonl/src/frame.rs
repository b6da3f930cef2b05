//! Frames: what a framer cuts a stream into.

use crate::reader::LineReader;

/// A piece of the stream, borrowed from its framer.
#[derive(Debug)]
pub enum Frame<'a> {
    /// Whole lines.
    Lines(Window<'a>),
    /// A line over the limit, which was skipped.
    Oversize(Oversize<'a>),
}

/// Whole lines that are contiguous in memory.
#[derive(Debug)]
pub struct Window<'a> {
    /// The lines, each with its LF; a tail has none.
    pub bytes: &'a [u8],
    /// Offset of the first byte in the stream.
    pub offset: u64,
    /// Number of the first line, from 1.
    pub line: u64,
    /// Whether the input ended without an LF after this line.
    pub is_tail: bool,
    pub(crate) reader: &'a mut LineReader,
}

/// A line over the limit.
#[derive(Debug)]
pub struct Oversize<'a> {
    /// Offset of its first byte in the stream.
    pub offset: u64,
    /// Number of the line, from 1.
    pub line: u64,
    /// Length without the LF, in bytes.
    pub length: u64,
    /// The limit, in bytes.
    pub limit: u64,
    /// Whether the input ended without an LF after it.
    pub is_tail: bool,
    /// The first bytes of the line.
    pub head: &'a [u8],
    pub(crate) reader: &'a mut LineReader,
}
