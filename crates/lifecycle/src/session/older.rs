//! Entries that the window has given up, had again from the recording.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bowline_jsonl::Framer;
use bowline_reducer::{Meta, Page, Transcript};
use bowline_transport::Piece;
use bowline_transport::journal::{JournalReader, OneFile};
use bowline_transport::wire::StreamId;
use bytes::Bytes;
use tokio::task::spawn_blocking;

use super::DialogueSession;
use super::record::{Copied, said_on};

/// How much is read at once, in bytes.
const CHUNK: usize = 256 << 10;

/// Why older entries cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OlderError {
    /// The session writes none.
    #[error("read older entries: the session keeps no recording, start it with `record`")]
    NoRecording,
    /// The recording does not have what it takes.
    #[error("read older entries: {path:?} lacks bytes {from} to {to}, see why it is not whole")]
    Missing {
        /// The recording.
        path: PathBuf,
        /// The first byte.
        from: u64,
        /// The first behind them.
        to: u64,
    },
    /// The recording cannot be read.
    #[error("read older entries in {path:?}: {source}, check the file")]
    Io {
        /// The recording.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl DialogueSession {
    /// The newest entries that the session's [window](crate::DialogueConfiguration::window) has
    /// given up and that stand before the entry of the number `before`, of all threads; the newest of
    /// all without it. None when nothing older was given up. What is asked for `before` next is the
    /// number of the page's first entry. A tool call may be on another page than the message that
    /// made it, and what was open when its neighbours were given up is in the window as well, under
    /// the same number.
    ///
    /// They come from the session's recording, by the fold that has made them first, and are as they
    /// were, but for their times: a recording has no clock, and says 0. From a journal costs a look
    /// through the file.
    ///
    /// # Errors
    ///
    /// The session has no recording, or not all of it.
    pub async fn older(&self, before: Option<u32>) -> Result<Option<Page>, OlderError> {
        let page = self.inspect(move |it| newest_before(it, before)).await;
        let Some(page) = page else { return Ok(None) };
        let copied = self.copied.clone().ok_or(OlderError::NoRecording)?;
        let again = Again {
            copied,
            said: said_on(self.terminal.kind()),
            max_line: self.max_line,
        };
        again.folded(page).await.map(Some)
    }
}

fn newest_before(transcript: &mut Transcript, before: Option<u32>) -> Option<Page> {
    let is_before = |first: u32| before.is_none_or(|before| first < before);
    let found = transcript
        .evicted()
        .rev()
        .find(|it| is_before(it.first.number()))?;
    transcript.page(found.first)
}

/// Reads what was said once more.
#[derive(Clone)]
struct Again {
    copied: Arc<Copied>,
    said: StreamId,
    max_line: usize,
}

impl Again {
    async fn folded(self, mut page: Page) -> Result<Page, OlderError> {
        while let Some((run, wanted)) = page.wants() {
            // One process is one run.
            if run != 0 {
                return Err(self.missing(wanted));
            }
            let mut written = self.copied.written.clone();
            // A recording that has ended has all that it ever will.
            let _ = written.wait_for(|end| *end >= wanted.end).await;
            let again = self.clone();
            let work = spawn_blocking(move || again.fold(page, wanted));
            page = work
                .await
                .map_err(|error| self.failed(io::Error::other(error)))??;
        }
        Ok(page)
    }

    fn fold(&self, mut page: Page, wanted: Range<u64>) -> Result<Page, OlderError> {
        let mut framer = Framer::at(self.max_line, wanted.start, 1);
        let mut source = Source::open(self).map_err(|error| self.failed(error))?;
        let mut at = wanted.start;
        while at < wanted.end {
            let most = usize::try_from(wanted.end - at).map_or(CHUNK, |left| left.min(CHUNK));
            let bytes = source.read(at, most).map_err(|error| self.failed(error))?;
            let bytes = bytes.ok_or_else(|| self.missing(at..wanted.end))?;
            at += bytes.len() as u64;
            framer.push(bytes);
            if at == wanted.end {
                framer.finish();
            }
            while let Some(frame) = framer.next_frame() {
                for item in frame.items() {
                    page.apply(&item, Meta { at_ms: 0 });
                }
            }
        }
        // It says so when it wants the same again.
        match page.wants() {
            Some((_, again)) if again == wanted => Err(self.missing(wanted)),
            _ => Ok(page),
        }
    }

    fn missing(&self, range: Range<u64>) -> OlderError {
        OlderError::Missing {
            path: self.copied.path.clone(),
            from: range.start,
            to: range.end,
        }
    }

    fn failed(&self, source: io::Error) -> OlderError {
        OlderError::Io {
            path: self.copied.path.clone(),
            source,
        }
    }
}

enum Source {
    Output(File),
    Journal(JournalReader<OneFile>, StreamId),
}

impl Source {
    fn open(again: &Again) -> io::Result<Self> {
        let path = &again.copied.path;
        Ok(if again.copied.is_journal {
            Self::Journal(JournalReader::open(OneFile::at(path))?, again.said)
        } else {
            Self::Output(File::open(path)?)
        })
    }

    /// Some bytes from an offset; none where there are none.
    fn read(&mut self, at: u64, most: usize) -> io::Result<Option<Bytes>> {
        match self {
            Self::Output(file) => {
                let mut bytes = vec![0; most];
                let length = file.read_at(&mut bytes, at)?;
                bytes.truncate(length);
                Ok((length > 0).then(|| bytes.into()))
            }
            Self::Journal(reader, said) => Ok(match reader.read(*said, at, most)? {
                Some(Piece::Bytes { bytes, .. }) => Some(bytes),
                _ => None,
            }),
        }
    }
}
