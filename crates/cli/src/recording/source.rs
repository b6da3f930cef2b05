//! Where a recording is read from. Its form is detected from its first bytes, not from its name.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use bowline_lifecycle::journal::{
    Body, Folder, Header, JournalReader, KeptStreams, SIGNATURE, Scan, Stop,
};
use bowline_lifecycle::{Piece, StreamId};
use flate2::read::MultiGzDecoder;

/// Bytes of one read.
const CHUNK: usize = 256 << 10;

/// The first two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes of a recording.
pub(super) enum RecordingSource {
    Lines(Lines),
    File(Box<JournalFile>),
    Folder(Box<JournalFolder>),
}

/// What a journal contains beside the agent's output.
#[derive(Debug)]
pub(crate) struct JournalSummary {
    /// When it was created, in milliseconds since the Unix epoch.
    pub(crate) started_ms: u64,
    /// The range of offsets that is present of each stream.
    pub(crate) streams: KeptStreams,
    /// Why the rest of it cannot be read.
    pub(crate) broken: Option<&'static str>,
}

/// Plain lines.
pub(super) struct Lines {
    raw: Box<dyn Read>,
    offset: u64,
}

/// One segment of a journal.
pub(super) struct JournalFile {
    raw: Box<dyn Read>,
    scan: Scan,
    /// The gap before this segment was returned.
    has_begun: bool,
}

/// A folder with the segments of a journal.
pub(super) struct JournalFolder {
    reader: JournalReader<Folder>,
    kept: KeptStreams,
    /// The stream of the agent's output.
    output: StreamId,
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
            return JournalFolder::open(path).map(|folder| Some(Self::Folder(Box::new(folder))));
        } else {
            Box::new(File::open(path)?)
        };
        let (is_gzip, raw) = starts_with(raw, &GZIP_MAGIC)?;
        if is_gzip {
            Self::uncompressed(Box::new(MultiGzDecoder::new(raw))).map(Some)
        } else {
            Self::uncompressed(raw).map(Some)
        }
    }

    fn uncompressed(raw: Box<dyn Read>) -> io::Result<Self> {
        let (is_journal, raw) = starts_with(raw, &SIGNATURE)?;
        Ok(if is_journal {
            Self::File(Box::new(JournalFile {
                raw,
                scan: Scan::default(),
                has_begun: false,
            }))
        } else {
            Self::Lines(Lines { raw, offset: 0 })
        })
    }

    /// Returns the next piece of the agent's output. Blocks.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::File(file) => file.next(),
            Self::Folder(folder) => folder.next(),
        }
    }

    /// Returns what the journal contains, if it is one.
    pub(super) fn journal(&mut self) -> Option<JournalSummary> {
        match self {
            Self::Lines(_) => None,
            Self::File(file) => file.summary(),
            Self::Folder(folder) => folder.summary(),
        }
    }
}

/// Returns whether a stream starts with `prefix`, and the stream from its start. Reads no further
/// than the first difference, so that a slow pipe is not waited for.
fn starts_with(mut raw: Box<dyn Read>, prefix: &[u8]) -> io::Result<(bool, Box<dyn Read>)> {
    let mut head = vec![0; prefix.len()];
    let mut length = 0;
    while length < prefix.len() && head[..length] == prefix[..length] {
        match read(&mut *raw, &mut head[length..])? {
            0 => break,
            more => length += more,
        }
    }
    head.truncate(length);
    let matches = head == prefix;
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

impl JournalFile {
    /// Returns the next piece of the terminal or of standard output; a session has only one of them.
    fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            if let Some(gap) = self.leading_gap() {
                return Ok(Some(gap));
            }
            let Some(record) = self.scan.next_record() else {
                let mut chunk = vec![0; CHUNK];
                let length = read(&mut *self.raw, &mut chunk)?;
                if length == 0 || self.scan.is_over() {
                    return Ok(None);
                }
                self.scan.push(&chunk[..length]);
                continue;
            };
            if !matches!(record.stream, StreamId::TTY | StreamId::STDOUT) {
                continue;
            }
            let offset = record.offset;
            return Ok(Some(match record.body {
                Body::Bytes(bytes) => Piece::Bytes { offset, bytes },
                Body::Gap { to, .. } => Piece::Gap { from: offset, to },
            }));
        }
    }

    /// Returns the output before this segment as a gap, once, if it is not the first segment.
    fn leading_gap(&mut self) -> Option<Piece> {
        let header = self.scan.header().filter(|_| !self.has_begun)?;
        let to = header
            .begin(StreamId::TTY)
            .max(header.begin(StreamId::STDOUT));
        self.has_begun = true;
        (to > 0).then_some(Piece::Gap { from: 0, to })
    }

    fn summary(&mut self) -> Option<JournalSummary> {
        let header = self.scan.header();
        let started_ms = header.map(|header: &Header| header.started_ms)?;
        let broken = match self.scan.stop() {
            Stop::End => None,
            Stop::Torn => Some("the last record is cut"),
            Stop::Bad => Some("what follows is damaged"),
            Stop::Version(_) => Some("another version of bowline wrote it"),
        };
        let streams = self.scan.kept();
        Some(JournalSummary {
            started_ms,
            streams,
            broken,
        })
    }
}

impl JournalFolder {
    fn open(path: &Path) -> io::Result<Self> {
        let mut reader = JournalReader::open(Folder::at(path))?;
        let kept = reader.kept()?;
        if kept.is_empty() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let has_stdout = kept.contains_key(&StreamId::STDOUT);
        let output = if has_stdout {
            StreamId::STDOUT
        } else {
            StreamId::TTY
        };
        Ok(Self {
            reader,
            kept,
            output,
            offset: 0,
        })
    }

    fn next(&mut self) -> io::Result<Option<Piece>> {
        let piece = self.reader.read(self.output, self.offset, CHUNK)?;
        match &piece {
            Some(Piece::Bytes { offset, bytes }) => self.offset = offset + bytes.len() as u64,
            Some(Piece::Gap { to, .. }) => self.offset = *to,
            None => {}
        }
        Ok(piece)
    }

    fn summary(&mut self) -> Option<JournalSummary> {
        Some(JournalSummary {
            started_ms: self.reader.started_ms()?,
            streams: self.kept.clone(),
            broken: None,
        })
    }
}

fn read(raw: &mut dyn Read, chunk: &mut [u8]) -> io::Result<usize> {
    loop {
        match raw.read(chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
