//! Where a recording is read from. Its form is detected from its first bytes, not from its name.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use bowline_lifecycle::Piece;
use bowline_lifecycle::journal::{Merged, SIGNATURE};
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
        let (head, raw) = peek(raw, GZIP_MAGIC.len(), |head| GZIP_MAGIC.starts_with(head))?;
        if head == GZIP_MAGIC {
            Self::uncompressed(Box::new(MultiGzDecoder::new(raw)), path).map(Some)
        } else {
            Self::uncompressed(raw, path).map(Some)
        }
    }

    fn uncompressed(raw: Box<dyn Read>, path: &Path) -> io::Result<Self> {
        let (head, raw) = peek(raw, SIGNATURE.len(), may_be_signature)?;
        let is_journal = if head.is_empty() {
            // A segment that a crash has left empty.
            path.extension().is_some_and(|it| it == "bjl")
        } else {
            head.len() > 1 && may_be_signature(&head)
        };
        Ok(if is_journal {
            Self::Journal(Box::new(Journal::of_file(raw)))
        } else {
            Self::Lines(Lines { raw, offset: 0 })
        })
    }

    /// Returns the next piece of the agent's output, or of a journal's input. Blocks.
    pub(super) fn next(&mut self) -> io::Result<Option<Merged>> {
        match self {
            Self::Lines(lines) => Ok(lines.next()?.map(|piece| Merged::Output(piece.into()))),
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

/// Returns whether bytes begin a journal. One with a wrong byte in its signature is damaged, and so is
/// one whose first bytes never reached the disk and are read as zeros, which text does not contain.
fn may_be_signature(head: &[u8]) -> bool {
    let wrong = |(byte, expected): &(&u8, &u8)| byte != expected && **byte != 0;
    head.iter().zip(&SIGNATURE).filter(wrong).count() <= 1
}

/// Returns at most `max` bytes of a stream, and the stream from its start. Reads on only while more bytes
/// are `wanted`, so that a slow pipe is not waited for.
fn peek(
    mut raw: Box<dyn Read>,
    max: usize,
    wanted: impl Fn(&[u8]) -> bool,
) -> io::Result<(Vec<u8>, Box<dyn Read>)> {
    let mut head = vec![0; max];
    let mut length = 0;
    while length < max && wanted(&head[..length]) {
        match read(&mut *raw, &mut head[length..])? {
            0 => break,
            more => length += more,
        }
    }
    head.truncate(length);
    let whole = io::Cursor::new(head.clone()).chain(raw);
    Ok((head, Box::new(whole)))
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
