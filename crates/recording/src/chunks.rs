//! Reads of a stream, all with one buffer.

use std::io::{self, Read};

/// Most bytes of one read.
pub(crate) const CHUNK: usize = 256 << 10;

/// A stream in the pieces in which it arrives.
pub(crate) struct Chunks {
    raw: Box<dyn Read + Send>,
    /// Room for one piece, made at the first read.
    room: Vec<u8>,
}

impl Chunks {
    pub(crate) const fn of(raw: Box<dyn Read + Send>) -> Self {
        let room = Vec::new();
        Self { raw, room }
    }

    /// Returns the next piece, empty at the end of the stream.
    pub(crate) fn read(&mut self) -> io::Result<&[u8]> {
        self.room.resize(CHUNK, 0);
        let length = read(&mut *self.raw, &mut self.room)?;
        Ok(&self.room[..length])
    }
}

/// Reads from a stream; retries after a signal.
pub(crate) fn read(raw: &mut dyn Read, room: &mut [u8]) -> io::Result<usize> {
    loop {
        match raw.read(room) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
