//! Reads a recorded stream from a file. The first bytes determine the format.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;

use crate::core::StreamId;
use crate::core::journal::{Body, SIGNATURE, Scan};

/// Size of a read, in bytes.
const READ_SIZE: usize = 256 << 10;

/// The first two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

type Reader = Box<dyn BufRead + Send>;

/// An open recording, decompressed.
pub(super) enum RecordingFile {
    /// The agent's output.
    Lines(Reader),
    /// A journal in one file.
    Journal(Reader, Box<Scan>),
}

/// A part of the recorded output.
pub(super) enum RecordedPart {
    /// Output bytes: at most one line.
    Bytes(Bytes),
    /// Missing output, from byte offset `from` up to and without `to`.
    Gap { from: u64, to: u64 },
    /// The end of the recording.
    End,
}

impl RecordingFile {
    pub(super) fn open(path: &str) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(READ_SIZE, File::open(path)?);
        let mut reader: Reader = if file.fill_buf()?.starts_with(&GZIP_MAGIC) {
            let plain: Box<dyn Read + Send> = Box::new(MultiGzDecoder::new(file));
            Box::new(BufReader::with_capacity(READ_SIZE, plain))
        } else {
            Box::new(file)
        };
        Ok(if reader.fill_buf()?.starts_with(&SIGNATURE) {
            Self::Journal(reader, Box::default())
        } else {
            Self::Lines(reader)
        })
    }

    pub(super) fn next_part(&mut self) -> io::Result<RecordedPart> {
        match self {
            Self::Lines(reader) => {
                let line = read(reader, |chunk| {
                    let line = chunk.iter().position(|&byte| byte == b'\n');
                    line.map_or(chunk.len(), |at| at + 1)
                })?;
                Ok(line.map_or(RecordedPart::End, RecordedPart::Bytes))
            }
            Self::Journal(reader, scan) => next_of_journal(reader, scan),
        }
    }
}

/// A journaled dialogue has its output on the terminal or on standard output, never on both.
fn next_of_journal(reader: &mut Reader, scan: &mut Scan) -> io::Result<RecordedPart> {
    loop {
        let Some(record) = scan.next_record() else {
            match read(reader, <[u8]>::len)? {
                Some(bytes) if !scan.is_over() => scan.push(&bytes),
                _ => return Ok(RecordedPart::End),
            }
            continue;
        };
        let is_output = matches!(record.stream, StreamId::TTY | StreamId::STDOUT);
        match record.body {
            _ if !is_output => {}
            Body::Bytes(bytes) => return Ok(RecordedPart::Bytes(bytes)),
            Body::Gap { to, .. } => {
                let from = record.offset;
                return Ok(RecordedPart::Gap { from, to });
            }
        }
    }
}

/// Reads the part of the buffered bytes whose length `length` returns, or `None` at the end of file.
fn read(reader: &mut Reader, length: impl Fn(&[u8]) -> usize) -> io::Result<Option<Bytes>> {
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
