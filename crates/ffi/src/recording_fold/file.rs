//! Reads a recorded stream from a file. The first bytes determine the format.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};

use flate2::bufread::MultiGzDecoder;

use super::journal::Journal;
use super::part::{Reader, RecordedPart, read};
use crate::core::journal::{Arrival, SIGNATURE};

/// Size of a read, in bytes.
const READ_SIZE: usize = 256 << 10;

/// The first two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// An open recording, decompressed.
pub(super) enum RecordingFile {
    /// The agent's output.
    Lines(Reader),
    /// A journal in one file.
    Journal(Box<Journal>),
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
            Self::Journal(Box::new(Journal::new(reader)))
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
                Ok(line.map_or(RecordedPart::End { damage: None }, |line| {
                    RecordedPart::Bytes(line, Arrival::default())
                }))
            }
            Self::Journal(journal) => journal.next_part(),
        }
    }
}
