//! The files of conversations, and the names that users gave them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::Problem;
use crate::file::read;
use crate::lines::{parse, text};
use crate::walk::{entries, is_folder};

/// Length of a thread's id, a UUID, at the end of a file's name.
const ID: usize = 36;

/// Returns the rollouts below `sessions`, those of sub-agents included.
pub(crate) fn conversations(sessions: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
    let mut folders = vec![sessions.to_owned()];
    // Year, month, day.
    for _ in 0..3 {
        let inside = folders.iter().flat_map(|folder| entries(folder, problems));
        let inside = inside.filter(is_folder).map(|entry| entry.path());
        folders = inside.collect();
    }
    let files = folders.iter().flat_map(|folder| entries(folder, problems));
    let rollouts = files.filter(|file| {
        let name = file.file_name();
        let name = name.to_string_lossy();
        name.starts_with("rollout-") && name.ends_with(".jsonl")
    });
    rollouts.map(|file| file.path()).collect()
}

/// Returns the id of a rollout's thread.
pub(crate) fn id(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    stem.get(stem.len().checked_sub(ID)?..)
}

/// Returns the rollouts by the id of their thread.
pub(super) fn by_thread(sessions: &Path) -> HashMap<String, PathBuf> {
    let files = conversations(sessions, &mut Vec::new()).into_iter();
    files
        .filter_map(|path| Some((id(&path)?.to_owned(), path)))
        .collect()
}

/// Returns the names that threads were given, by their id. The last one of a thread counts.
pub(crate) fn names(home: &Path) -> HashMap<String, String> {
    let data = read(&home.join("session_index.jsonl")).unwrap_or_default();
    let lines = data.split(|&byte| byte == b'\n').filter_map(parse);
    let named = lines.filter_map(|line| Some((text(line, "id")?, text(line, "thread_name")?)));
    named.collect()
}
