//! The parts that a recorded stream is read in.

use std::io::{self, BufRead};

use bytes::Bytes;

use crate::core::journal::Arrival;

/// The bytes of a recording, decompressed.
pub(super) type Reader = Box<dyn BufRead + Send>;

/// A part of the recorded output.
pub(super) enum RecordedPart {
    /// Output bytes: at most one line of a plain recording. With their arrival.
    Bytes(Bytes, Arrival),
    /// Input bytes, which come before the output that follows. With their arrival.
    Input(Bytes, Arrival),
    /// Missing input.
    InputGap,
    /// Missing output, from byte offset `from` up to and without `to`.
    Gap { from: u64, to: u64 },
    /// The end of the recording.
    End {
        /// What of the recording cannot be read, if something cannot.
        damage: Option<String>,
    },
}

/// Reads the part of the buffered bytes whose length `length` returns, or `None` at the end of file.
pub(super) fn read(
    reader: &mut Reader,
    length: impl Fn(&[u8]) -> usize,
) -> io::Result<Option<Bytes>> {
    loop {
        let chunk = match reader.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() {
            return Ok(None);
        }
        let taken = length(chunk);
        let bytes = Bytes::copy_from_slice(chunk.get(..taken).unwrap_or_default());
        reader.consume(taken);
        return Ok(Some(bytes));
    }
}
