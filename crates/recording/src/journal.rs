//! The agent's output and input in a journal: one segment in a file, or a folder of them.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use bowline_lifecycle::journal::{
    Arrived, Body, Damage, Folder, Header, JournalReader, KeptStreams, Merge, Merged, Record, Scan,
};
use bowline_lifecycle::{Piece, StreamId, exit_ends};
use serde_json::Value;

use crate::chunks::{CHUNK, Chunks};
use crate::streams::SessionStreams;

/// What a journal contains beside the agent's output.
#[derive(Debug)]
pub struct JournalSummary {
    /// When it was created, in milliseconds since the Unix epoch; `None` if its header is damaged.
    pub started_ms: Option<u64>,
    /// The range of offsets that is present of each stream.
    pub streams: KeptStreams,
    /// What cannot be read.
    pub damage: Vec<Damage>,
    /// The ends of the output streams when the agent exited. `None` if the exit, which is the last record
    /// of a whole journal, is missing.
    pub exit_ends: Option<BTreeMap<StreamId, u64>>,
}

impl JournalSummary {
    /// Returns what is lost, one message each.
    #[must_use]
    pub fn losses(&self) -> Vec<String> {
        let ends = self.exit_ends.iter().flatten();
        let missing = ends.filter_map(|(stream, end)| {
            let kept = self.streams.get(stream).map_or(0, |kept| kept.end);
            let lacks = || format!("the journal lacks bytes {kept} to {end} of {stream}, its end");
            (kept < *end).then(lacks)
        });
        self.unreadable().into_iter().chain(missing).collect()
    }

    /// Returns the losses of unknown length.
    #[must_use]
    pub fn unreadable(&self) -> Vec<String> {
        let message = |damage: &Damage| damage_message("journal", &damage.to_string());
        let mut losses: Vec<_> = self.damage.iter().map(message).collect();
        if losses.is_empty() && self.exit_ends.is_none() {
            let output = [StreamId::STDOUT, StreamId::TTY];
            let kept = output.iter().find_map(|id| self.streams.get(id));
            let end = kept.map_or(0, |kept| kept.end);
            losses.push(format!(
                "the journal ends at byte {end} of the output without the agent's exit: it was cut, or is still being written"
            ));
        }
        losses
    }
}

/// Describes damage of a journal or of the log that is made from it.
#[must_use]
pub fn damage_message(what: &str, damage: &str) -> String {
    format!("the {what} is damaged: {damage}, and the rest of that segment was not read")
}

/// A journal that is read from its start to its end.
pub(super) struct Journal {
    segments: Segments,
    merge: Merge,
    /// The lines of the lifecycle stream.
    lifecycle: Vec<u8>,
    /// The ends of the output streams by the session's metadata, for a journal that lacks its exit.
    recorded_ends: Option<BTreeMap<StreamId, u64>>,
    /// Standard error that was read and not taken; `None` if it is left out.
    stderr: Option<Vec<Arrived>>,
    is_over: bool,
}

enum Segments {
    File(JournalFile),
    Folder(JournalFolder),
}

/// One segment of a journal.
struct JournalFile {
    chunks: Chunks,
    scan: Scan,
    /// The gap before this segment was returned.
    has_begun: bool,
}

/// A folder with the segments of a journal.
struct JournalFolder {
    reader: JournalReader<Folder>,
    kept: KeptStreams,
    /// Offsets past the input and the standard error that were read.
    input_end: u64,
    stderr_end: u64,
}

impl Journal {
    /// Reads one segment.
    pub(super) fn of_file(raw: Box<dyn Read + Send>) -> Self {
        let (scan, has_begun) = (Scan::default(), false);
        let file = JournalFile {
            chunks: Chunks::of(raw),
            scan,
            has_begun,
        };
        Self::new(Segments::File(file), None)
    }

    /// Opens a folder.
    pub(super) fn of_folder(path: &Path) -> io::Result<Self> {
        let mut reader = JournalReader::open(Folder::at(path))?;
        let kept = reader.kept()?;
        let recorded_ends = recorded_ends(path);
        if kept.is_empty() && reader.damage().len() == 0 && recorded_ends.is_none() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let folder = JournalFolder {
            reader,
            kept,
            input_end: 0,
            stderr_end: 0,
        };
        Ok(Self::new(Segments::Folder(folder), recorded_ends))
    }

    fn new(segments: Segments, recorded_ends: Option<BTreeMap<StreamId, u64>>) -> Self {
        Self {
            segments,
            merge: Merge::default(),
            lifecycle: Vec::new(),
            recorded_ends,
            stderr: None,
            is_over: false,
        }
    }

    /// Reads standard error, too.
    pub(super) fn keep_stderr(&mut self) {
        self.stderr.get_or_insert_default();
    }

    /// Takes the standard error that was read since it was taken last.
    pub(super) fn take_stderr(&mut self) -> io::Result<Vec<Arrived>> {
        let Some(stderr) = &mut self.stderr else {
            return Ok(Vec::new());
        };
        if let Segments::Folder(folder) = &mut self.segments
            && self.is_over
        {
            return folder.next_stderr();
        }
        Ok(std::mem::take(stderr))
    }

    /// Returns the next piece of the agent's output or input, in one order. Output that the agent wrote
    /// before its exit, but that is missing at the end, is a gap.
    pub(super) fn next(&mut self) -> io::Result<Option<Merged>> {
        while !self.is_over {
            if let Some(piece) = self.next_read()? {
                return Ok(Some(piece));
            }
            self.is_over = true;
            if let Some(gap) = self.missing_end()? {
                self.merge.push_output(gap.into());
            }
        }
        Ok(self.merge.rest())
    }

    fn next_read(&mut self) -> io::Result<Option<Merged>> {
        loop {
            let is_over = match &mut self.segments {
                Segments::File(_) if !self.merge.needs_output() => false,
                Segments::File(file) => {
                    let stderr = self.stderr.as_mut();
                    !file.fill(&mut self.merge, &mut self.lifecycle, stderr)?
                }
                Segments::Folder(folder) => !folder.fill(&mut self.merge)?,
            };
            let piece = self.merge.next_piece();
            if piece.is_some() || is_over {
                return Ok(piece);
            }
        }
    }

    /// Returns the gap between what was read and the end of the output, as the exit recorded it.
    fn missing_end(&mut self) -> io::Result<Option<Piece>> {
        if let Segments::Folder(folder) = &mut self.segments {
            self.lifecycle = folder.read_lifecycle()?;
        }
        let ends = self.exit_ends().unwrap_or_default();
        let output = ends.get(&StreamId::STDOUT);
        let output = output.or_else(|| ends.get(&StreamId::TTY));
        let (from, to) = (self.merge.output_end(), output.copied().unwrap_or_default());
        Ok((from < to).then_some(Piece::Gap { from, to }))
    }

    fn exit_ends(&self) -> Option<BTreeMap<StreamId, u64>> {
        exit_ends(&self.lifecycle).or_else(|| self.recorded_ends.clone())
    }

    /// Reads all streams.
    pub(super) fn into_streams(mut self) -> io::Result<SessionStreams> {
        match &mut self.segments {
            Segments::File(file) => file.all_streams(),
            Segments::Folder(folder) => folder.all_streams(),
        }
    }

    /// Returns what was read.
    pub(super) fn summary(&mut self) -> io::Result<JournalSummary> {
        let exit_ends = self.exit_ends();
        Ok(match &mut self.segments {
            Segments::File(file) => JournalSummary {
                started_ms: file.scan.header().map(|header| header.started_ms),
                streams: file.scan.kept(),
                damage: file.damage()?.into_iter().collect(),
                exit_ends,
            },
            Segments::Folder(folder) => JournalSummary {
                started_ms: folder.reader.started_ms(),
                streams: folder.kept.clone(),
                damage: folder.reader.damage().cloned().collect(),
                exit_ends,
            },
        })
    }
}

impl JournalFile {
    /// Reads more of the file, and adds its records. A session has its output on the terminal or on standard
    /// output, never on both. Returns whether there was more.
    fn fill(
        &mut self,
        merge: &mut Merge,
        lifecycle: &mut Vec<u8>,
        mut stderr: Option<&mut Vec<Arrived>>,
    ) -> io::Result<bool> {
        let has_more = self.read_more()?;
        if let Some(gap) = self.leading_gap() {
            merge.push_output(gap.into());
        }
        while let Some(record) = self.scan.next_record() {
            let (stream, piece) = piece_of(record);
            match stream {
                StreamId::LIFECYCLE => {
                    if let Piece::Bytes { bytes, .. } = &piece.piece {
                        lifecycle.extend_from_slice(bytes);
                    }
                }
                StreamId::TTY | StreamId::STDOUT => merge.push_output(piece),
                StreamId::INPUT => merge.push_input(piece),
                StreamId::STDERR => {
                    if let Some(stderr) = &mut stderr {
                        stderr.push(piece);
                    }
                }
                _ => {}
            }
        }
        Ok(has_more)
    }

    fn all_streams(&mut self) -> io::Result<SessionStreams> {
        while self.read_more()? {}
        let mut streams = SessionStreams::new(self.scan.header().map(|it| it.started_ms));
        // What came before this segment is missing also of a stream that has no record in it.
        let begins = self.scan.header().into_iter().flat_map(|it| &it.streams);
        for (&stream, at) in begins.filter(|(_, at)| at.begin > 0) {
            let (from, to) = (0, at.begin);
            streams.push(stream, Piece::Gap { from, to }.into());
        }
        while let Some(record) = self.scan.next_record() {
            let (stream, piece) = piece_of(record);
            streams.push(stream, piece);
        }
        Ok(streams)
    }

    /// Reads more of the file, and returns whether there was more.
    fn read_more(&mut self) -> io::Result<bool> {
        // A version that cannot be read is an error.
        self.scan.damage()?;
        if self.scan.is_over() {
            return Ok(false);
        }
        let chunk = self.chunks.read()?;
        self.scan.push(chunk);
        Ok(!chunk.is_empty())
    }

    fn damage(&self) -> io::Result<Option<Damage>> {
        let damage = |kind| Damage {
            segment: 0,
            offset: self.scan.valid_bytes(),
            kind,
        };
        Ok(self.scan.damage()?.map(damage))
    }

    /// Returns the output before this segment as a gap, once, if it is not the first segment.
    fn leading_gap(&mut self) -> Option<Piece> {
        let header = self.scan.header().filter(|_| !self.has_begun)?;
        let to = output_begin(header);
        self.has_begun = true;
        (to > 0).then_some(Piece::Gap { from: 0, to })
    }
}

fn piece_of(record: Record) -> (StreamId, Arrived) {
    let Record {
        stream,
        offset,
        arrival,
        body,
    } = record;
    let piece = match body {
        Body::Bytes(bytes) => Piece::Bytes { offset, bytes },
        Body::Gap { to, .. } => Piece::Gap { from: offset, to },
    };
    (stream, Arrived { arrival, piece })
}

fn output_begin(header: &Header) -> u64 {
    header
        .begin(StreamId::TTY)
        .max(header.begin(StreamId::STDOUT))
}

impl JournalFolder {
    /// Returns the next part of standard error; nothing at its end.
    fn next_stderr(&mut self) -> io::Result<Vec<Arrived>> {
        let at = self.stderr_end;
        let piece = self.reader.read_arrived(StreamId::STDERR, at, CHUNK)?;
        if let Some(piece) = &piece {
            self.stderr_end = piece.end();
        }
        Ok(Vec::from_iter(piece))
    }

    /// Reads what the order of output and input depends on. Returns whether there was any of it.
    fn fill(&mut self, merge: &mut Merge) -> io::Result<bool> {
        if merge.needs_input() {
            let at = self.input_end;
            if let Some(piece) = self.reader.read_arrived(StreamId::INPUT, at, CHUNK)? {
                self.input_end = piece.end();
                merge.push_input(piece);
            }
        }
        if merge.needs_output() {
            let has_stdout = self.kept.contains_key(&StreamId::STDOUT);
            let output = if has_stdout {
                StreamId::STDOUT
            } else {
                StreamId::TTY
            };
            let piece = self
                .reader
                .read_arrived(output, merge.output_end(), CHUNK)?;
            let has_more = piece.is_some();
            piece.into_iter().for_each(|piece| merge.push_output(piece));
            return Ok(has_more);
        }
        Ok(true)
    }

    fn all_streams(&mut self) -> io::Result<SessionStreams> {
        let mut streams = SessionStreams::new(self.reader.started_ms());
        for (stream, kept) in self.kept.clone() {
            let mut at = 0;
            while at < kept.end
                && let Some(piece) = self.reader.read_arrived(stream, at, CHUNK)?
            {
                at = piece.end();
                streams.push(stream, piece);
            }
        }
        Ok(streams)
    }

    fn read_lifecycle(&mut self) -> io::Result<Vec<u8>> {
        let (mut lines, mut offset) = (Vec::new(), 0);
        while let Some(piece) = self.reader.read(StreamId::LIFECYCLE, offset, CHUNK)? {
            match piece {
                Piece::Bytes { offset: at, bytes } => {
                    lines.extend_from_slice(&bytes);
                    offset = at + bytes.len() as u64;
                }
                Piece::Gap { to, .. } => offset = to,
            }
        }
        Ok(lines)
    }
}

/// Returns the ends of the streams by the exit in the metadata of a session at a runner, which lies
/// beside the folder of its journal. A full disk may have kept the exit out of the journal.
fn recorded_ends(journal: &Path) -> Option<BTreeMap<StreamId, u64>> {
    let info = std::fs::read(journal.join("../info.json")).ok()?;
    let mut info: Value = serde_json::from_slice(&info).ok()?;
    let exit = info.get_mut("exit").filter(|exit| exit.is_object())?;
    Some(serde_json::from_value(exit["ends"].take()).unwrap_or_default())
}
