//! The policy of `bowline run`, `bowline chat` and `bowline serve`.

use std::path::{Path, PathBuf};

use bowline_lifecycle::{Policy, default_policy_path, read_policy};

use crate::failure::Failure;

/// Reads the policy in a file, or else that of the user, if there is one.
pub(crate) fn policy(path: Option<&Path>) -> Result<Policy, Failure> {
    match file(path) {
        Some(path) => read(&path),
        None => Ok(Policy::default()),
    }
}

/// Reads the text of the same policy, for a session that another program drives. It is checked here, where its
/// file can be named.
pub(crate) fn policy_text(path: Option<&Path>) -> Result<Option<String>, Failure> {
    let Some(path) = file(path) else {
        return Ok(None);
    };
    read(&path)?;
    let text = std::fs::read_to_string(&path);
    let failed = |error| {
        Failure::usage(format!(
            "cannot read the policy {}: {error}",
            path.display()
        ))
    };
    text.map(Some).map_err(failed)
}

fn file(path: Option<&Path>) -> Option<PathBuf> {
    path.map(Path::to_owned).or_else(default_policy_path)
}

fn read(path: &Path) -> Result<Policy, Failure> {
    read_policy(path).map_err(|error| Failure::usage(bowline_lifecycle::error_chain(&error)))
}
