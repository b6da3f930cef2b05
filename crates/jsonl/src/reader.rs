//! State that lasts from one frame of a framer to the next.

use crate::event::LineTemplate;

/// The position of the next line, and the template of the last one.
#[derive(Clone, Debug)]
pub(crate) struct LineReader {
    line: u64,
    /// Bytes of the current frame that were read.
    read: usize,
    pub(crate) template: LineTemplate,
}

impl LineReader {
    pub(crate) fn at(line: u64) -> Self {
        Self {
            line,
            read: 0,
            template: LineTemplate::default(),
        }
    }

    /// Number of the next line, from 1.
    pub(crate) const fn line(&self) -> u64 {
        self.line
    }

    /// Bytes of the current frame that were read.
    pub(crate) const fn read(&self) -> usize {
        self.read
    }

    /// Counts one line of `length` bytes.
    pub(crate) const fn advance(&mut self, length: usize) {
        self.line += 1;
        self.read += length;
    }

    /// Skips bytes that belong to no line.
    pub(crate) const fn skip(&mut self, length: usize) {
        self.read += length;
    }

    /// Continues with the next frame, after `unread` lines of this one.
    pub(crate) const fn end_frame(&mut self, unread: u64) {
        self.line += unread;
        self.read = 0;
    }
}
