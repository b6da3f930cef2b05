//! The files of conversations: `projects/<slug>/<id>.jsonl`.

use std::path::{Path, PathBuf};

use crate::error::Problem;
use crate::walk::{entries, is_folder};

/// Prefix of the files of sub-agents. Older agents keep them beside the conversations.
pub(super) const AGENT_PREFIX: &str = "agent-";

/// Returns the files of the conversations below `projects`.
pub(crate) fn conversations(projects: &Path, problems: &mut Vec<Problem>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for project in entries(projects, problems) {
        if is_folder(&project) {
            let files = entries(&project.path(), problems);
            let named = files.into_iter().filter(|file| {
                let name = file.file_name();
                let name = name.to_string_lossy();
                name.ends_with(".jsonl") && !name.starts_with(AGENT_PREFIX)
            });
            found.extend(named.map(|file| file.path()));
        }
    }
    found
}
