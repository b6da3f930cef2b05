//! Where a recorded stream comes from. What a file is, is told by its first bytes and not by its
//! name.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::Path;

use bowline_lifecycle::journal::{
    Body, Folder, Header, JournalReader, KeptStreams, SIGNATURE, Scan, Stop,
};
use bowline_lifecycle::{Piece, StreamId};
use flate2::read::MultiGzDecoder;

/// How much is read at once, in bytes.
const CHUNK: usize = 256 << 10;

/// The first two bytes of a gzip file (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A recorded stream, piece by piece.
pub(super) enum Source {
    Lines(Lines),
    File(Box<JournalFile>),
    Folder(Box<JournalFolder>),
}

/// What a journal was.
#[derive(Debug)]
pub(crate) struct Journal {
    /// When it was begun, in milliseconds since 1970.
    pub(crate) started_ms: u64,
    /// What there is of each stream.
    pub(crate) streams: KeptStreams,
    /// Why the rest of it, if there is one, cannot be read.
    pub(crate) broken: Option<&'static str>,
}

/// The agent's output as it was.
pub(super) struct Lines {
    raw: Box<dyn Read>,
    at: u64,
}

/// A journal that is one file.
pub(super) struct JournalFile {
    raw: Box<dyn Read>,
    scan: Scan,
    /// Whether it was told what is missing before this segment.
    has_begun: bool,
}

/// A journal that is a folder of segments.
pub(super) struct JournalFolder {
    reader: JournalReader<Folder>,
    kept: KeptStreams,
    said: StreamId,
    at: u64,
}

/// Opens what there is at a path; `None` for a terminal, which is nothing to read from.
pub(super) fn source(path: &Path) -> io::Result<Option<Source>> {
    let raw: Box<dyn Read> = if path == Path::new("-") {
        if io::stdin().is_terminal() {
            return Ok(None);
        }
        Box::new(io::stdin())
    } else if path.is_dir() {
        return JournalFolder::open(path).map(|folder| Some(Source::Folder(Box::new(folder))));
    } else {
        Box::new(File::open(path)?)
    };
    let (is_gzip, raw) = starts_with(raw, &GZIP)?;
    if is_gzip {
        recorded(Box::new(MultiGzDecoder::new(raw))).map(Some)
    } else {
        recorded(raw).map(Some)
    }
}

fn recorded(raw: Box<dyn Read>) -> io::Result<Source> {
    let (is_journal, raw) = starts_with(raw, &SIGNATURE)?;
    Ok(if is_journal {
        let scan = Scan::default();
        Source::File(Box::new(JournalFile {
            raw,
            scan,
            has_begun: false,
        }))
    } else {
        Source::Lines(Lines { raw, at: 0 })
    })
}

/// Whether a stream begins with some bytes, and the stream from its beginning. Waits for no more of a
/// slow one than it takes to tell.
fn starts_with(mut raw: Box<dyn Read>, wanted: &[u8]) -> io::Result<(bool, Box<dyn Read>)> {
    let mut head = vec![0; wanted.len()];
    let mut length = 0;
    while length < wanted.len() && head[..length] == wanted[..length] {
        match read(&mut *raw, &mut head[length..])? {
            0 => break,
            more => length += more,
        }
    }
    head.truncate(length);
    let is_so = head == wanted;
    Ok((is_so, Box::new(io::Cursor::new(head).chain(raw))))
}

impl Source {
    /// The next piece of what the agent said.
    pub(super) fn next(&mut self) -> io::Result<Option<Piece>> {
        match self {
            Self::Lines(lines) => lines.next(),
            Self::File(file) => file.next(),
            Self::Folder(folder) => folder.next(),
        }
    }

    /// What the journal was, if it is one.
    pub(super) fn journal(&mut self) -> Option<Journal> {
        match self {
            Self::Lines(_) => None,
            Self::File(file) => file.journal(),
            Self::Folder(folder) => folder.journal(),
        }
    }
}

impl Lines {
    fn next(&mut self) -> io::Result<Option<Piece>> {
        let mut chunk = vec![0; CHUNK];
        let length = read(&mut *self.raw, &mut chunk)?;
        chunk.truncate(length);
        let (offset, bytes) = (self.at, chunk.into());
        self.at += length as u64;
        Ok((length > 0).then_some(Piece::Bytes { offset, bytes }))
    }
}

impl JournalFile {
    /// A dialogue is said on a terminal or on standard output, never on both.
    fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            if let Some(gap) = self.lead() {
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
            let is_said = matches!(record.stream, StreamId::TTY | StreamId::STDOUT);
            let from = record.offset;
            match record.body {
                _ if !is_said => {}
                Body::Bytes(bytes) => {
                    return Ok(Some(Piece::Bytes {
                        offset: from,
                        bytes,
                    }));
                }
                Body::Gap { to, .. } => return Ok(Some(Piece::Gap { from, to })),
            }
        }
    }

    /// What was said before this segment, if it is not a journal's first.
    fn lead(&mut self) -> Option<Piece> {
        let header = self.scan.header().filter(|_| !self.has_begun)?;
        let to = header
            .begin(StreamId::TTY)
            .max(header.begin(StreamId::STDOUT));
        self.has_begun = true;
        (to > 0).then_some(Piece::Gap { from: 0, to })
    }

    fn journal(&mut self) -> Option<Journal> {
        let started_ms = self
            .scan
            .header()
            .map(|header: &Header| header.started_ms)?;
        let broken = match self.scan.stop() {
            Stop::End => None,
            Stop::Torn => Some("the last record is cut"),
            Stop::Bad => Some("what follows is damaged"),
            Stop::Version(_) => Some("another version of bowline wrote it"),
        };
        let streams = self.scan.kept();
        Some(Journal {
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
        let has_output = kept.contains_key(&StreamId::STDOUT);
        let said = if has_output {
            StreamId::STDOUT
        } else {
            StreamId::TTY
        };
        Ok(Self {
            reader,
            kept,
            said,
            at: 0,
        })
    }

    fn next(&mut self) -> io::Result<Option<Piece>> {
        let piece = self.reader.read(self.said, self.at, CHUNK)?;
        match &piece {
            Some(Piece::Bytes { offset, bytes }) => self.at = offset + bytes.len() as u64,
            Some(Piece::Gap { to, .. }) => self.at = *to,
            None => {}
        }
        Ok(piece)
    }

    fn journal(&mut self) -> Option<Journal> {
        let started_ms = self.reader.started_ms()?;
        let (streams, broken) = (self.kept.clone(), None);
        Some(Journal {
            started_ms,
            streams,
            broken,
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
