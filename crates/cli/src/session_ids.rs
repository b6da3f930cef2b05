//! Completion of session ids.

use std::ffi::OsStr;

use bowline_runner::StateDir;
use clap_complete::CompletionCandidate;

/// Returns the ids of this user's sessions that begin with what was typed, from the state folder.
pub(crate) fn session_ids(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else {
        return Vec::new();
    };
    let sessions = StateDir::from_environment().ok();
    let sessions = sessions.and_then(|it| it.sessions().ok());
    let ids = sessions.unwrap_or_default().into_iter();
    let ids = ids.map(|it| it.to_string());
    ids.filter(|it| it.starts_with(typed))
        .map(CompletionCandidate::new)
        .collect()
}
