//! Reads recordings: lines or a journal, from a file or standard input, plain or gzip.

mod line_name;

use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_jsonl::{Event, Framer, Item};
use bowline_lifecycle::Piece;
use bowline_lifecycle::journal::{Arrived, InputLines, Merged};
use bowline_recording::{JournalSummary, RecordingSource, TraceLine, meta};
use bowline_reducer::Meta;
use bowline_reducer::dialect::recognize;
use rustix::io::Errno;

use crate::failure::Failure;
use crate::stdio::eprint;

pub(crate) use line_name::line_name;

/// A recording that is open for reading.
pub(crate) struct Recording {
    path: PathBuf,
    source: RecordingSource,
}

/// Receives the contents of a recording.
pub(crate) trait LineReader {
    /// Called for every line of output, in order, with its time of arrival.
    fn on_line(&mut self, item: &Item<'_>, at: Meta);

    /// Called for every line of a journal's input, at its place between the lines of output.
    fn on_input(&mut self, line: &str, at: Meta);

    /// Called where bytes of the stream are missing, with their offsets.
    fn on_gap(&mut self, from: u64, to: u64);

    /// Called at the end of a journal; never for plain lines.
    fn on_journal(&mut self, journal: JournalSummary);

    /// Called before a read that may block, for output that must not wait.
    fn flush(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Recording {
    /// Opens a file, a folder with a journal, or standard input for `-`.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let source = if path != Path::new("-") {
            RecordingSource::open(path)
        } else if io::stdin().is_terminal() {
            return Err(Failure::usage(
                "standard input is a terminal; pipe a recording in, or name a file",
            ));
        } else {
            RecordingSource::from_reader(io::stdin())
        };
        let source = source.map_err(|error| cannot_read(path, &error))?;
        let path = path.to_owned();
        Ok(Self { path, source })
    }

    /// Returns whether the recording consists of lines.
    pub(crate) const fn has_lines(&self) -> bool {
        self.source.has_lines()
    }

    /// Returns the next piece of the output, or of a journal's input at its place; `None` at the end.
    pub(crate) fn next_piece(&mut self) -> Result<Option<Merged>, Failure> {
        let piece = self.source.next_piece();
        piece.map_err(|error| cannot_read(&self.path, &error))
    }

    /// Keeps the standard error that a journal has, for [`take_stderr`](Self::take_stderr).
    pub(crate) fn keep_stderr(&mut self) {
        self.source.keep_stderr();
    }

    /// Takes the standard error that was read so far; at the end, the rest by parts, then nothing.
    pub(crate) fn take_stderr(&mut self) -> Result<Vec<Arrived>, Failure> {
        let stderr = self.source.take_stderr();
        stderr.map_err(|error| cannot_read(&self.path, &error))
    }

    /// Returns what of a journal cannot be read, as far as it was read, one message each.
    pub(crate) fn losses(&mut self) -> Result<Vec<String>, Failure> {
        let journal = self.source.journal();
        let journal = journal.map_err(|error| cannot_read(&self.path, &error))?;
        let losses = journal.as_ref().map(JournalSummary::losses);
        Ok(losses.unwrap_or_default())
    }

    /// Returns the losses of unknown length, which no gap stands for.
    pub(crate) fn unreadable(&mut self) -> Result<Vec<String>, Failure> {
        let journal = self.source.journal();
        let journal = journal.map_err(|error| cannot_read(&self.path, &error))?;
        let unreadable = journal.as_ref().map(JournalSummary::unreadable);
        Ok(unreadable.unwrap_or_default())
    }

    /// Passes every line to `reader`, and returns what of a journal cannot be read, one message each.
    /// Flushes nothing before the first known event, so that no output appears for a file that is no
    /// recording.
    ///
    /// # Errors
    /// If the file cannot be read, is neither empty nor a recording, or `reader` fails.
    pub(crate) fn read_into(
        mut self,
        reader: &mut impl LineReader,
    ) -> Result<Vec<String>, Failure> {
        let (mut framer, mut input) = (Framer::default(), InputLines::default());
        let mut at = Meta::default();
        let (mut is_empty, mut has_events, mut has_gap) = (true, false, false);
        loop {
            let piece = self.source.next_piece();
            let piece = piece.map_err(|error| cannot_read(&self.path, &error))?;
            let is_over = piece.is_none();
            is_empty &= is_over;
            let mut gap = None;
            match piece {
                None => framer.finish(),
                Some(Merged::Input(Arrived { arrival, piece })) => {
                    let at = meta(arrival);
                    match piece {
                        Piece::Bytes { bytes, .. } => {
                            input.push(&bytes, |line| reader.on_input(line, at));
                        }
                        Piece::Gap { .. } => input.skip(),
                    }
                }
                Some(Merged::Output(Arrived { arrival, piece })) => {
                    at = meta(arrival);
                    match piece {
                        Piece::Bytes { bytes, .. } => framer.push(bytes),
                        Piece::Gap { from, to } => {
                            framer.skip_to(to);
                            gap = Some((from, to));
                            has_gap = true;
                        }
                    }
                }
            }
            while let Some(frame) = framer.next_frame() {
                for item in frame.items() {
                    has_events |= item.event.as_ref().is_ok_and(is_of_agent);
                    reader.on_line(&item, at);
                }
            }
            if let Some((from, to)) = gap {
                reader.on_gap(from, to);
            }
            if has_events {
                reader.flush()?;
            }
            if is_over {
                break;
            }
        }
        if is_empty && self.source.has_lines() {
            let path = self.path.display();
            let line = Failure::failed(format!("{path}: the recording is empty")).line();
            eprint(&format!("bowline: {line}\n"));
        }
        let journal = self.source.journal();
        let journal = journal.map_err(|error| cannot_read(&self.path, &error))?;
        let losses = journal.as_ref().map(JournalSummary::losses);
        let losses = losses.unwrap_or_default();
        if let Some(journal) = journal {
            reader.on_journal(journal);
        }
        // A session whose output was not recorded, such as on a full disk, still has an end.
        if has_events || is_empty || has_gap || !losses.is_empty() {
            return Ok(losses);
        }
        Err(Failure::failed(format!(
            "{} contains no line of an agent; give its recorded output (.jsonl)",
            self.path.display()
        )))
    }
}

/// Whether an agent writes such lines, or a recorder of both directions.
fn is_of_agent(event: &Event<'_>) -> bool {
    event.is_known() || TraceLine::parse(event.raw).is_some() || recognize([event.raw]).is_some()
}

/// Prints what is lost of a recording or a session to standard error, and returns the exit code: a
/// failure only if `is_strict`.
pub(crate) fn report_losses(source: &str, losses: &[String], is_strict: bool) -> ExitCode {
    for loss in losses {
        let line = Failure::failed(format!("{source}: {loss}")).line();
        eprint(&format!("bowline: {line}\n"));
    }
    if is_strict && !losses.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn cannot_read(path: &Path, error: &io::Error) -> Failure {
    let path = path.display();
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "no such file; check the path",
        io::ErrorKind::PermissionDenied => "permission denied; check the file's mode",
        io::ErrorKind::IsADirectory => "it is a folder without a journal; give a file in it",
        io::ErrorKind::Unsupported => {
            return Failure::failed(format!("cannot read {path}: {error}; update bowline"));
        }
        io::ErrorKind::UnexpectedEof => "the gzip data is truncated; copy the file again",
        _ if Errno::from_io_error(error) == Some(Errno::LOOP) => {
            "a symbolic link leads back to itself; give the file that it stands for"
        }
        _ => {
            return Failure::failed(format!(
                "cannot read {path}: {error}; copy the recording to a file, and give that"
            ));
        }
    };
    Failure::failed(format!("cannot read {path}: {reason}"))
}
