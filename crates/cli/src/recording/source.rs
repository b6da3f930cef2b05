//! Where a recording is read from. Its form is detected from its first bytes, not from its name.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use bowline_lifecycle::Piece;
use bowline_lifecycle::journal::SIGNATURE;
use flate2::read::MultiGzDecoder;

use super::journal::{CHUNK, Journal, JournalSummary, read};

/// The first two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes of a recording.
pub(super) enum RecordingSource {
    Lines(Lines),
    Journal(Box<Journal>),
}

/// Plain lines.
pub(super) struct Lines {
    raw: Box<dyn Read>,
    offset: u64,
}

impl RecordingSource {
    /// Opens a path, or standard input for `-`. `None` if standard input is a terminal.
    pub(super) fn open(path: &Path) -> io::Result<Option<Self>> {
        let raw: Box<dyn Read> = if path == Path::new("-") {
            if io::stdin().is_terminal() {
                return Ok(None);
            }
            Box::new(io::stdin())
        } else if path.is_dir() {
            return Journal::of_folder(path).map(|journal| Some(Self::Journal(Box::new(journal))));
        } else {
            Box::new(File::open(path)?)
        };
        let (is_gzip, raw) = starts_with(raw, &GZIP_MAGIC, 0)?;
        if is_gzip {
            Self::uncompressed(Box::new(MultiGzDecoder::new(raw))).map(Some)
        } else {
            Self::uncompressed(raw).map(Some)
        }
    }

    fn uncompressed(raw: Box<dyn Read>) -> io::Result<Self> {
        // A journal with one wrong byte in its signature is a damaged one, not text.
        let (is_journal, raw) = starts_with(raw, &SIGNATURE, 1)?;
        Ok(if is_journal {
            Self::Journal(Box::new(Journal::of_file(raw)))
        } else {
            Self::Lines(Lines { raw, offset: 0 })
        })
    }

    /// Returns the next piece of the agent's output. Blocks.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::Journal(journal) => journal.next(),
        }
    }

    /// Returns what the journal contains, if it is one.
    pub(super) fn journal(&mut self) -> io::Result<Option<JournalSummary>> {
        match self {
            Self::Lines(_) => Ok(None),
            Self::Journal(journal) => journal.summary().map(Some),
        }
    }
}

/// Returns whether a stream starts with `prefix`, of which `tolerated` bytes may differ, and the stream
/// from its start. Reads no further than that is decided, so that a slow pipe is not waited for.
fn starts_with(
    mut raw: Box<dyn Read>,
    prefix: &[u8],
    tolerated: usize,
) -> io::Result<(bool, Box<dyn Read>)> {
    let mut head = vec![0; prefix.len()];
    let mut length = 0;
    let differing = |head: &[u8]| head.iter().zip(prefix).filter(|(a, b)| a != b).count();
    while length < prefix.len() && differing(&head[..length]) <= tolerated {
        match read(&mut *raw, &mut head[length..])? {
            0 => break,
            more => length += more,
        }
    }
    head.truncate(length);
    let matches = length > tolerated && differing(&head) <= tolerated;
    Ok((matches, Box::new(io::Cursor::new(head).chain(raw))))
}

impl Lines {
    fn next(&mut self) -> io::Result<Option<Piece>> {
        let mut chunk = vec![0; CHUNK];
        let length = read(&mut *self.raw, &mut chunk)?;
        chunk.truncate(length);
        let (offset, bytes) = (self.offset, chunk.into());
        self.offset += length as u64;
        Ok((length > 0).then_some(Piece::Bytes { offset, bytes }))
    }
}
