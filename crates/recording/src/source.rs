//! Where a recording is read from. Its form is detected from its first bytes, not from its name.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bowline_lifecycle::journal::{Arrival, Arrived, Merged, SIGNATURE};
use bowline_lifecycle::{Piece, StreamId};
use bowline_reducer::Meta;
use bytes::Bytes;
use flate2::read::MultiGzDecoder;

use crate::archive::{MANIFEST, session_of};
use crate::chunks::{Chunks, read};
use crate::journal::{Journal, JournalSummary};
use crate::streams::SessionStreams;

/// The first two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The agent's output in a recording, and the input that a journal has.
pub struct RecordingSource(Form);

enum Form {
    Lines(Lines),
    Journal(Box<Journal>),
}

/// Plain lines.
struct Lines {
    chunks: Chunks,
    offset: u64,
}

impl fmt::Debug for RecordingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let form = match self.0 {
            Form::Lines(_) => "Lines",
            Form::Journal(_) => "Journal",
        };
        f.debug_tuple("RecordingSource").field(&form).finish()
    }
}

impl RecordingSource {
    /// Opens a file with lines or with one segment of a journal, plain or gzip, a [bundle](crate::Bundle), or a
    /// folder with a journal.
    ///
    /// # Errors
    ///
    /// Those of the file system. [`io::ErrorKind::IsADirectory`] means a folder without a journal, and
    /// [`io::ErrorKind::Unsupported`] a journal of a newer version, also from later reads.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            let journal = Journal::of_folder(path)?;
            return Ok(Self(Form::Journal(Box::new(journal))));
        }
        let is_journal = path.extension().is_some_and(|it| it == "bjl");
        Self::detect(Box::new(File::open(path)?), is_journal)
    }

    /// Reads a stream, such as standard input. Waits for its first bytes.
    ///
    /// # Errors
    ///
    /// Those of the stream.
    pub fn from_reader(raw: impl Read + Send + 'static) -> io::Result<Self> {
        Self::detect(Box::new(raw), false)
    }

    fn detect(raw: Box<dyn Read + Send>, is_journal: bool) -> io::Result<Self> {
        let (head, raw) = peek(raw, GZIP_MAGIC.len(), |head| GZIP_MAGIC.starts_with(head))?;
        if head == GZIP_MAGIC {
            Self::uncompressed(Box::new(MultiGzDecoder::new(raw)), is_journal)
        } else {
            Self::uncompressed(raw, is_journal)
        }
    }

    /// `is_journal` says what an empty stream is: a segment that a crash has left empty, or no lines.
    fn uncompressed(raw: Box<dyn Read + Send>, is_journal: bool) -> io::Result<Self> {
        let (head, raw) = peek(raw, SIGNATURE.len(), may_be_signature)?;
        let is_journal = match head.len() {
            0 => is_journal,
            length => length > 1 && may_be_signature(&head),
        };
        let (head, raw) = peek(raw, MANIFEST.len(), |head| {
            MANIFEST.as_bytes().starts_with(head)
        })?;
        if head == MANIFEST.as_bytes() {
            let (session, is_journal) = session_of(raw)?;
            return Ok(Self::of(Box::new(session), is_journal));
        }
        Ok(Self::of(raw, is_journal))
    }

    /// Reads a journal or lines. The form is not detected: lines can begin as another form does.
    pub(crate) fn of(raw: Box<dyn Read + Send>, is_journal: bool) -> Self {
        Self(if is_journal {
            Form::Journal(Box::new(Journal::of_file(raw)))
        } else {
            let chunks = Chunks::of(raw);
            Form::Lines(Lines { chunks, offset: 0 })
        })
    }

    /// Returns the next piece of the agent's output, or of a journal's input at its place; `None` at the
    /// end. Blocks.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn next_piece(&mut self) -> io::Result<Option<Merged>> {
        match &mut self.0 {
            Form::Lines(lines) => Ok(lines.next()?.map(|piece| Merged::Output(piece.into()))),
            Form::Journal(journal) => journal.next(),
        }
    }

    /// Keeps the standard error that a journal has, for [`take_stderr`](Self::take_stderr).
    pub fn keep_stderr(&mut self) {
        if let Form::Journal(journal) = &mut self.0 {
            journal.keep_stderr();
        }
    }

    /// Takes the standard error that was read so far. After the last piece it returns the rest part by part, then
    /// nothing. Blocks.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn take_stderr(&mut self) -> io::Result<Vec<Arrived>> {
        match &mut self.0 {
            Form::Lines(_) => Ok(Vec::new()),
            Form::Journal(journal) => journal.take_stderr(),
        }
    }

    /// Reads all streams into memory. Blocks.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn into_streams(self) -> io::Result<SessionStreams> {
        match self.0 {
            Form::Journal(journal) => journal.into_streams(),
            Form::Lines(mut lines) => {
                let mut streams = SessionStreams::of_lines();
                while let Some(piece) = lines.next()? {
                    streams.push(StreamId::STDOUT, piece.into());
                }
                Ok(streams)
            }
        }
    }

    /// Returns what the journal contains, as far as it was read; `None` for lines.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open).
    pub fn journal(&mut self) -> io::Result<Option<JournalSummary>> {
        match &mut self.0 {
            Form::Lines(_) => Ok(None),
            Form::Journal(journal) => journal.summary().map(Some),
        }
    }

    /// Returns whether the recording consists of lines.
    #[must_use]
    pub const fn has_lines(&self) -> bool {
        matches!(self.0, Form::Lines(_))
    }
}

/// Returns the time of an arrival; 0 if it is unknown.
#[must_use]
pub fn meta(arrival: Arrival) -> Meta {
    let at_ms = arrival.at_ms.unwrap_or(0);
    Meta { at_ms }
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
    mut raw: Box<dyn Read + Send>,
    max: usize,
    wanted: impl Fn(&[u8]) -> bool,
) -> io::Result<(Vec<u8>, Box<dyn Read + Send>)> {
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
        let bytes = Bytes::copy_from_slice(self.chunks.read()?);
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        Ok((!bytes.is_empty()).then_some(Piece::Bytes { offset, bytes }))
    }
}
