//! Folders, read without stopping at what cannot be read.

use std::fs::{self, DirEntry};
use std::path::Path;

use crate::error::Problem;

/// Returns the entries of a folder, in no order.
pub(crate) fn entries(folder: &Path, problems: &mut Vec<Problem>) -> Vec<DirEntry> {
    let found = match fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) => {
            problems.push(Problem::new(folder, error));
            return Vec::new();
        }
    };
    let entry = |entry: Result<DirEntry, _>| match entry {
        Ok(entry) => Some(entry),
        Err(error) => {
            problems.push(Problem::new(folder, error));
            None
        }
    };
    found.filter_map(entry).collect()
}

/// Returns whether an entry is a folder. A symbolic link is not followed, so that none is read twice
/// and no loop is entered.
pub(crate) fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
}
