//! The recordings of the real agent, repeated.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use memchr::memchr;

use super::source::{SourceError, read};

/// Lines of at least this many bytes are left out; `huge` measures them.
const LONGEST: usize = 64 << 10;

/// Folder of the recordings in the repository.
const RECORDINGS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures");

/// Leaves out terminal noise (lines that are not JSON, in recordings of a terminal).
pub(super) fn generate(size: usize) -> Result<Bytes, SourceError> {
    let mut once = Vec::new();
    for file in recordings()? {
        for line in read(&file)?.split(|&byte| byte == b'\n') {
            let line = line.trim_ascii_end();
            if line.starts_with(b"{") && line.ends_with(b"}") && line.len() < LONGEST {
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
