//! Diagnostics bundles: what a session was, as one file.
//!
//! A bundle is a tar archive (POSIX.1-1988, ustar), compressed with gzip. Its entries are, in this order:
//!
//! | entry | content |
//! |---|---|
//! | `bowline-bundle.json` | what follows: versions, the system, facts of the session, the streams |
//! | `session.bjl` or `session.jsonl` | the streams as a journal, or the output as lines |
//! | `transcript.json` | the transcript, schema 2 |
//! | `log.txt` | the last log lines, if there are any |

use std::fs::OpenOptions;
use std::io::{self, Cursor, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use bowline_jsonl::Framer;
use bowline_lifecycle::Piece;
use bowline_lifecycle::journal::{Arrived, InputLines, Merged};
use bowline_reducer::dialect::DialectName;
use bowline_reducer::{End, HostEvent, Meta};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::archive::{MANIFEST, SESSION};
use crate::redact::{Redaction, Redactor};
use crate::source::{RecordingSource, meta};
use crate::streams::SessionStreams;
use crate::transcript::RecordedTranscript;

/// The version of the format.
const VERSION: u32 = 1;

/// A session as one file, for a report of a problem. [`write`](Self::write) redacts all of it.
///
/// ```no_run
/// use bowline_recording::{Bundle, RecordingSource, Redaction, Redactor, Secrets};
///
/// let streams = RecordingSource::open("session.bjl".as_ref())?.into_streams()?;
/// let secrets = Secrets::default().with_environment(std::env::vars());
/// let redactor = Redactor::new(Redaction::Content, secrets);
/// Bundle::new(streams).create("report.tar.gz".as_ref(), &redactor)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bundle {
    streams: SessionStreams,
    dialect: Option<DialectName>,
    session: Value,
    log: String,
}

impl Bundle {
    /// Creates a bundle of a session's streams.
    #[must_use]
    pub const fn new(streams: SessionStreams) -> Self {
        Self {
            streams,
            dialect: None,
            session: Value::Null,
            log: String::new(),
        }
    }

    /// Sets the agent's protocol; recognized by the first lines otherwise.
    #[must_use]
    pub const fn with_dialect(mut self, dialect: Option<DialectName>) -> Self {
        self.dialect = dialect;
        self
    }

    /// Sets what is known of the session: a JSON object.
    #[must_use]
    pub fn with_session(mut self, facts: Value) -> Self {
        self.session = facts;
        self
    }

    /// Sets the last log lines.
    #[must_use]
    pub fn with_log(mut self, log: String) -> Self {
        self.log = log;
        self
    }

    /// Writes the bundle into a new file that only this user can read. Blocks.
    ///
    /// # Errors
    ///
    /// Those of the file system; [`io::ErrorKind::AlreadyExists`] if the file exists. After an error there is
    /// no file.
    pub fn create(self, path: &Path, redactor: &Redactor) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let written = self.write(redactor, &file).and_then(|()| file.sync_all());
        if written.is_err() {
            // The error of the write matters more than this one.
            let _ = std::fs::remove_file(path);
        }
        written
    }

    /// Writes the bundle, redacted. The transcript is folded from the redacted streams, so that it has nothing
    /// that they lack. Blocks, and holds the streams in memory.
    ///
    /// # Errors
    ///
    /// Those of the output.
    pub fn write(mut self, redactor: &Redactor, output: impl Write) -> io::Result<()> {
        self.streams.redact(redactor);
        let mut session = self.session.to_string().into_bytes();
        redactor.redact(&mut session);
        let session: Value = serde_json::from_slice(&session)?;
        let manifest = json!({
            "bundle": VERSION,
            "created_ms": now_ms(),
            "bowline": env!("CARGO_PKG_VERSION"),
            "system": { "os": std::env::consts::OS, "arch": std::env::consts::ARCH },
            "redacted": match redactor.redaction() {
                Redaction::Secrets => "secrets",
                Redaction::Content => "content",
            },
            "started_ms": self.streams.started_ms,
            "session": session,
            "streams": self.streams.summary(),
        });
        let streams = self.streams.encode();
        let transcript = transcript(&streams, self.streams.is_lines, self.dialect)?;
        let form = if self.streams.is_lines {
            "jsonl"
        } else {
            "bjl"
        };
        // The log has no content of the session.
        let log = redactor.redact_secrets(&self.log);
        let compressed = GzEncoder::new(output, Compression::default());
        let mut archive = tar::Builder::new(compressed);
        append(&mut archive, MANIFEST, format!("{manifest:#}\n").as_bytes())?;
        append(&mut archive, &format!("{SESSION}{form}"), &streams)?;
        append(&mut archive, "transcript.json", transcript.as_bytes())?;
        if !log.is_empty() {
            append(&mut archive, "log.txt", log.as_bytes())?;
        }
        archive.into_inner()?.finish()?.flush()
    }
}

fn append<W: Write>(archive: &mut tar::Builder<W>, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(0o600);
    header.set_mtime(now_ms() / 1000);
    archive.append_data(&mut header, name, bytes)
}

/// Folds streams into a transcript as JSON.
fn transcript(streams: &[u8], is_lines: bool, dialect: Option<DialectName>) -> io::Result<String> {
    let mut source = RecordingSource::of(Box::new(Cursor::new(streams.to_vec())), !is_lines);
    let mut recorded = RecordedTranscript::new(dialect);
    let (mut framer, mut input) = (Framer::default(), InputLines::default());
    let mut at = Meta::default();
    loop {
        let piece = source.next_piece()?;
        let (is_over, mut gap) = (piece.is_none(), None);
        match piece {
            None => framer.finish(),
            Some(Merged::Input(Arrived { arrival, piece })) => match piece {
                Piece::Bytes { bytes, .. } => input.push(&bytes, |line| {
                    recorded.apply_input(line, meta(arrival));
                }),
                Piece::Gap { .. } => input.skip(),
            },
            Some(Merged::Output(Arrived { arrival, piece })) => {
                at = meta(arrival);
                match piece {
                    Piece::Bytes { bytes, .. } => framer.push(bytes),
                    Piece::Gap { from, to } => {
                        framer.skip_to(to);
                        gap = Some(HostEvent::Gap { from, to });
                    }
                }
            }
        }
        while let Some(frame) = framer.next_frame() {
            frame.items().for_each(|item| recorded.apply(&item, at));
        }
        if let Some(gap) = gap {
            recorded.transcript_mut().apply_host(gap, Meta::default());
        }
        if is_over {
            break;
        }
    }
    let transcript = recorded.transcript_mut();
    transcript.end(End::Recording, Meta::default());
    Ok(transcript.to_json())
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}
