//! Entries that the transcript's window has evicted, read again from the recording.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_jsonl::Framer;
use bowline_reducer::{Meta, Page, Transcript};
use bowline_transport::Piece;
use bowline_transport::journal::Arrived;
use bowline_transport::wire::StreamId;
use tokio::task::spawn_blocking;

use super::handle::DialogueSession;
use super::recorded_output::OutputSource;
use super::recording::{OutputSources, output_stream};

/// Bytes per read of the recording.
const CHUNK: usize = 256 << 10;

/// Why evicted entries cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// The session has no recording.
    #[error("read older entries: the session has no recording; start it with `record`")]
    NoRecording,
    /// A part of the recording is missing.
    #[error(
        "read older entries: bytes {from} to {to} are missing from {}",
        path.display()
    )]
    Missing {
        /// The recording.
        path: PathBuf,
        /// Offset of the first missing byte.
        from: u64,
        /// Offset after the last missing byte.
        to: u64,
    },
    /// The recording cannot be read.
    #[error("read older entries in {}", path.display())]
    Io {
        /// The recording.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
}

impl DialogueSession {
    /// Returns a page of entries that the session's
    /// [window](crate::DialogueConfiguration::window) has evicted: the newest page before the entry
    /// with the number `before`, of all threads, or the newest of all. Returns `None` when there is
    /// none. For the page before that, pass the number of the page's first entry.
    ///
    /// A tool call may be on another page than its message. Items that were open when their
    /// neighbours were evicted are also in the window, with the same number.
    ///
    /// Entries are folded again from the session's recording, and equal the evicted ones except for
    /// their times: those of a journal's records, and 0 in a recording of the output alone. In a journal,
    /// the output has to be searched.
    ///
    /// # Errors
    ///
    /// The session has no recording of what was evicted, or the recording is incomplete or cannot be read.
    pub async fn entries_before(&self, before: Option<u32>) -> Result<Option<Page>, PageError> {
        let page = self.inspect(move |it| newest_before(it, before)).await;
        let Some(page) = page else { return Ok(None) };
        let reader = PageReader {
            sources: Arc::clone(&self.sources),
            stream: output_stream(self.terminal.kind()),
            max_line: self.max_line,
        };
        reader.fill(page).await.map(Some)
    }
}

fn newest_before(transcript: &Transcript, before: Option<u32>) -> Option<Page> {
    let is_before = |first: u32| before.is_none_or(|before| first < before);
    let found = transcript
        .evicted()
        .rev()
        .find(|it| is_before(it.first.number()))?;
    transcript.page(found.first)
}

/// Folds parts of a recording again.
#[derive(Clone)]
struct PageReader {
    sources: Arc<OutputSources>,
    /// The stream of a journal that holds the output.
    stream: StreamId,
    max_line: usize,
}

impl PageReader {
    async fn fill(self, mut page: Page) -> Result<Page, PageError> {
        while let Some((run, wanted)) = page.next_range() {
            let source = self.source(run, &wanted).await?;
            let reader = self.clone();
            let folded = spawn_blocking(move || reader.fold(page, source, wanted)).await;
            page = folded.map_err(|error| self.failed(io::Error::other(error)))??;
        }
        Ok(page)
    }

    /// Returns where a run is read from, once that has the wanted range.
    async fn source(&self, run: u32, wanted: &Range<u64>) -> Result<OutputSource, PageError> {
        match (run, &self.sources.history) {
            (0, Some(history)) => return Ok(OutputSource::History(history.clone())),
            (0, None) | (1, Some(_)) => {}
            // A session is one run of the agent.
            _ => return Err(self.missing(wanted.clone())),
        }
        let recorded = self.sources.log.recorded();
        let recorded = recorded.ok_or(PageError::NoRecording)?;
        let mut end = recorded.end.clone();
        // Fails if the recording has ended: then it is read as far as it goes.
        let _ = end.wait_for(|end| *end >= wanted.end).await;
        OutputSource::open(&recorded, self.stream).map_err(|error| self.failed(error))
    }

    fn fold(
        &self,
        mut page: Page,
        mut source: OutputSource,
        wanted: Range<u64>,
    ) -> Result<Page, PageError> {
        let mut framer = Framer::at(self.max_line, wanted.start, 1);
        let mut at = wanted.start;
        while at < wanted.end {
            let length = usize::try_from(wanted.end - at).map_or(CHUNK, |left| left.min(CHUNK));
            let read = source
                .read(at, length)
                .map_err(|error| self.failed(error))?;
            let Some(Arrived {
                arrival,
                piece: Piece::Bytes { bytes, .. },
            }) = read
            else {
                return Err(self.missing(at..wanted.end));
            };
            let at_ms = arrival.at_ms.unwrap_or(0);
            at += bytes.len() as u64;
            framer.push(bytes);
            if at == wanted.end {
                framer.finish();
            }
            while let Some(frame) = framer.next_frame() {
                for item in frame.items() {
                    page.apply(&item, Meta { at_ms });
                }
            }
        }
        // A page that wants the same range again would want it forever.
        match page.next_range() {
            Some((_, again)) if again == wanted => Err(self.missing(wanted)),
            _ => Ok(page),
        }
    }

    fn path(&self) -> PathBuf {
        let recorded = self.sources.log.recorded();
        recorded.map(|it| it.path).unwrap_or_default()
    }

    fn missing(&self, range: Range<u64>) -> PageError {
        PageError::Missing {
            path: self.path(),
            from: range.start,
            to: range.end,
        }
    }

    fn failed(&self, source: io::Error) -> PageError {
        PageError::Io {
            path: self.path(),
            source,
        }
    }
}
