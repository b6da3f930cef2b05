//! Conversations that are kept in a folder, one file each, for a later process.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::clock;

/// What a conversation has said, in the terms of its dialect.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Past {
    pub(crate) title: String,
    pub(crate) cwd: String,
    pub(crate) updated_at: String,
    pub(crate) records: Vec<Value>,
}

impl Past {
    /// Reads a conversation; `None` if it is not in the folder.
    pub(crate) fn load(folder: &Path, id: &str) -> Option<Self> {
        let text = fs::read_to_string(file(folder, id)?).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Writes the conversation. A file that is there is replaced at once.
    pub(crate) fn save(&mut self, folder: &Path, id: &str) -> io::Result<()> {
        let Some(file) = file(folder, id) else {
            return Ok(());
        };
        self.updated_at = clock::timestamp();
        fs::create_dir_all(folder)?;
        let draft = file.with_extension("draft");
        fs::write(&draft, serde_json::to_string(self)?)?;
        fs::rename(&draft, &file)
    }

    /// Returns the ids of the conversations in the folder, in order.
    pub(crate) fn ids(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut ids: Vec<String> = names
            .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
            .collect();
        ids.sort();
        ids
    }
}

/// An id that a host gives is no path.
fn file(folder: &Path, id: &str) -> Option<PathBuf> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = !id.is_empty() && id.chars().all(is_plain);
    is_name.then(|| folder.join(format!("{id}.json")))
}
