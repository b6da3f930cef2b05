//! Where a recorded stream comes from. What a file is, is told by its first bytes.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

use crate::core::StreamId;
use crate::core::journal::{Body, SIGNATURE, Scan};
use bytes::Bytes;
use flate2::bufread::MultiGzDecoder;

/// How much is read at once, in bytes.
const CHUNK: usize = 256 << 10;

/// The first two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

type Raw = Box<dyn BufRead + Send>;

/// A recorded stream.
pub(super) enum Source {
    /// The agent's output as it was.
    Lines(Raw),
    /// A journal that is one file.
    Journal(Raw, Box<Scan>),
}

/// A part of what the agent said.
pub(super) enum Part {
    /// A line, or a part of one.
    Line(Bytes),
    /// Bytes are missing.
    Gap {
        /// The first of them.
        from: u64,
        /// The first behind them.
        to: u64,
    },
    /// There is no more.
    End,
}

impl Source {
    pub(super) fn open(path: &str) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(CHUNK, File::open(path)?);
        let mut raw: Raw = if file.fill_buf()?.starts_with(&GZIP) {
            let plain: Box<dyn Read + Send> = Box::new(MultiGzDecoder::new(file));
            Box::new(BufReader::with_capacity(CHUNK, plain))
        } else {
            Box::new(file)
        };
        Ok(if raw.fill_buf()?.starts_with(&SIGNATURE) {
            Self::Journal(raw, Box::default())
        } else {
            Self::Lines(raw)
        })
    }

    pub(super) fn next(&mut self) -> io::Result<Part> {
        match self {
            Self::Lines(raw) => {
                let line = read(raw, |chunk| {
                    let line = chunk.iter().position(|&byte| byte == b'\n');
                    line.map_or(chunk.len(), |at| at + 1)
                })?;
                Ok(line.map_or(Part::End, Part::Line))
            }
            Self::Journal(raw, scan) => journaled(raw, scan),
        }
    }
}

/// A dialogue is said on a terminal or on standard output, never on both.
fn journaled(raw: &mut Raw, scan: &mut Scan) -> io::Result<Part> {
    loop {
        let Some(record) = scan.next_record() else {
            match read(raw, <[u8]>::len)? {
                Some(bytes) if !scan.is_over() => scan.push(&bytes),
                _ => return Ok(Part::End),
            }
            continue;
        };
        let is_said = matches!(record.stream, StreamId::TTY | StreamId::STDOUT);
        match record.body {
            _ if !is_said => {}
            Body::Bytes(bytes) => return Ok(Part::Line(bytes)),
            Body::Gap { to, .. } => {
                let from = record.offset;
                return Ok(Part::Gap { from, to });
            }
        }
    }
}

/// As much of what is at hand as `length` says; none at the end.
fn read(raw: &mut Raw, length: impl Fn(&[u8]) -> usize) -> io::Result<Option<Bytes>> {
    loop {
        let chunk = match raw.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() {
            return Ok(None);
        }
        let taken = length(chunk);
        let bytes = Bytes::copy_from_slice(chunk.get(..taken).unwrap_or_default());
        raw.consume(taken);
        return Ok(Some(bytes));
    }
}
