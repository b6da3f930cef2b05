//! The index: summaries of files that have not changed since.
//!
//! The file has a line with the version and a checksum, then JSON.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use crate::conversation::Summary;
use crate::file::{metadata, read};

/// Version of what a summary says. Raise it when the same file gives another summary.
const VERSION: u32 = 1;

/// Size and modification time of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970.
    modified_ns: u64,
}

impl Stamp {
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let data = metadata(path)?;
        let modified = data
            .modified()?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Ok(Self {
            bytes: data.len(),
            modified_ns: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX),
        })
    }

    pub(crate) const fn modified_ms(self) -> u64 {
        self.modified_ns / 1_000_000
    }
}

/// Summaries by file.
#[derive(Debug, Default)]
pub(crate) struct Index {
    entries: HashMap<PathBuf, (Stamp, Summary)>,
}

impl Index {
    /// Reads the index in a folder; an empty one if there is none, or if it is damaged or of another
    /// version.
    pub(crate) fn load(folder: &Path) -> Self {
        let data = read(&file(folder)).unwrap_or_default();
        let entries = data.iter().position(|&byte| byte == b'\n').and_then(|end| {
            let (head, body) = data.split_at(end + 1);
            let entries: Vec<_> = serde_json::from_slice(body).ok()?;
            (head == header(body).as_bytes()).then(|| entries.into_iter().collect())
        });
        Self {
            entries: entries.unwrap_or_default(),
        }
    }

    /// Stores the index, in place of the one that is there.
    pub(crate) fn store(&self, folder: &Path) -> io::Result<()> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let entries: Vec<_> = self.entries.iter().collect();
        let body = serde_json::to_vec(&entries)?;
        let mut data = header(&body).into_bytes();
        data.extend(body);
        // Under a name of its own: a reader never sees a part, nor does another writer add to it.
        let path = file(folder);
        let partial = path.with_extension(std::process::id().to_string());
        let stored = write_private(&partial, &data).and_then(|()| fs::rename(&partial, path));
        if stored.is_err() {
            // What is there of it is of no use, and may be why the disk is full.
            let _ = fs::remove_file(&partial);
        }
        stored
    }

    pub(crate) fn get(&self, path: &Path, stamp: Stamp) -> Option<&Summary> {
        let (known, summary) = self.entries.get(path)?;
        (*known == stamp).then_some(summary)
    }

    pub(crate) fn insert(&mut self, path: PathBuf, stamp: Stamp, summary: Summary) {
        self.entries.insert(path, (stamp, summary));
    }

    /// Removes the files that do not exist any more.
    pub(crate) fn forget_missing(&mut self) {
        self.entries.retain(|path, _| path.exists());
    }
}

/// Writes a file that only its owner can read: titles are the beginnings of prompts.
fn write_private(path: &Path, data: &[u8]) -> io::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)?.write_all(data)
}

fn file(folder: &Path) -> PathBuf {
    folder.join("history.index")
}

fn header(body: &[u8]) -> String {
    format!("bowline-history {VERSION} {:08x}\n", crc32c::crc32c(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_index_is_empty() {
        let folder = tempfile::tempdir().unwrap();
        let stamp = Stamp {
            bytes: 1,
            modified_ns: 2,
        };
        let mut index = Index::default();
        let summary = Summary {
            turns: 7,
            ..Summary::default()
        };
        index.insert("/a".into(), stamp, summary.clone());
        index.store(folder.path()).unwrap();
        let loaded = Index::load(folder.path());
        assert_eq!(loaded.get(Path::new("/a"), stamp), Some(&summary));
        let other = Stamp {
            modified_ns: 3,
            ..stamp
        };
        assert_eq!(loaded.get(Path::new("/a"), other), None);
        let whole = fs::read(file(folder.path())).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(file(folder.path()), &damaged).unwrap();
            assert_eq!(Index::load(folder.path()).entries, HashMap::new(), "{at}");
            fs::write(file(folder.path()), &whole[..at]).unwrap();
            assert_eq!(Index::load(folder.path()).entries, HashMap::new(), "{at}");
        }
    }
}
