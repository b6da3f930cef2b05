//! The recordings of the real agent, repeated.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use memchr::{memchr, memmem};
use serde::Deserialize;

use super::source::{SourceError, read};

/// Lines of at least this many bytes are left out; `huge` measures them.
const LONGEST: usize = 64 << 10;

/// Length of the longest short recording, in bytes.
const SHORT: usize = 64 << 10;

/// Folder of the recordings in the repository.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures");

/// Which lines of the recordings are repeated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Selection {
    /// All.
    All,
    /// Those of recordings of at most [`SHORT`] bytes without partial messages.
    Short,
    /// Those of one type.
    Type(&'static str),
}

/// What selects a line.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

impl Selection {
    fn has_recording(self, recording: &[u8]) -> bool {
        let is_partial = || memmem::find(recording, b"\"stream_event\"").is_some();
        !matches!(self, Self::Short) || recording.len() <= SHORT && !is_partial()
    }

    fn has_line(self, line: &[u8]) -> bool {
        let Self::Type(wanted) = self else {
            return true;
        };
        let head = serde_json::from_slice::<Head<'_>>(line);
        head.is_ok_and(|it| it.kind.as_deref() == Some(wanted))
    }
}

/// Leaves out terminal noise (lines that are not JSON, in recordings of a terminal).
pub(super) fn generate(size: usize, selection: Selection) -> Result<Bytes, SourceError> {
    let mut once = Vec::new();
    for file in recordings()? {
        let recording = read(&file)?;
        if !selection.has_recording(&recording) {
            continue;
        }
        for line in recording.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii_end();
            let is_whole = line.starts_with(b"{") && line.ends_with(b"}");
            if is_whole && line.len() < LONGEST && selection.has_line(line) {
                once.extend_from_slice(line);
                once.push(b'\n');
            }
        }
    }
    if once.is_empty() {
        return Err(SourceError::Empty(RECORDINGS.into()));
    }
    let mut looped = once.repeat(size / once.len() + 1);
    let end = memchr(b'\n', looped.get(size..).unwrap_or_default());
    looped.truncate(end.map_or(looped.len(), |end| size + end + 1));
    Ok(Bytes::from(looped))
}

fn recordings() -> Result<Vec<PathBuf>, SourceError> {
    let folder = Path::new(RECORDINGS);
    let entries = fs::read_dir(folder).map_err(|error| SourceError::Read(folder.into(), error))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.to_string_lossy();
            name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
        })
        .collect();
    files.sort();
    Ok(files)
}
