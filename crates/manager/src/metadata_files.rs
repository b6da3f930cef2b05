//! The files with the texts that a host keeps with its sessions, one for each.

use std::path::{Path, PathBuf};

use bowline_shell::ManagedId;
use tokio::task::spawn_blocking;

use crate::error::ManagerError;
use crate::lease::create_directory;
use crate::store::replace_file;

fn directory(state: &Path) -> PathBuf {
    state.join("metadata")
}

/// Returns the path of the text of a session.
pub(super) fn path(state: &Path, id: ManagedId) -> PathBuf {
    directory(state).join(id.to_string())
}

/// Replaces the text of a session, or removes it.
pub(super) fn write(state: &Path, id: ManagedId, text: Option<&str>) -> Result<(), ManagerError> {
    let (folder, name) = (directory(state), id.to_string());
    let failed = |source| ManagerError::state("write", folder.join(&name))(source);
    match text {
        Some(text) => {
            create_directory(&folder)?;
            replace_file(&folder, &name, text.as_bytes()).map_err(failed)
        }
        None => match std::fs::remove_file(folder.join(&name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        },
    }
}

/// Removes the text of a session that is not in the list any more.
pub(super) async fn remove(state: &Path, id: ManagedId) {
    let path = path(state, id);
    // A file that stays is removed when the list is opened again.
    let _ = spawn_blocking(move || std::fs::remove_file(path)).await;
}

/// Removes the texts of sessions that are not in the list.
pub(super) fn remove_others(state: &Path, is_listed: impl Fn(ManagedId) -> bool) {
    let files = std::fs::read_dir(directory(state)).into_iter().flatten();
    for file in files.flatten() {
        let id = file.file_name().to_str().and_then(|name| name.parse().ok());
        if !id.is_some_and(&is_listed) {
            let _ = std::fs::remove_file(file.path());
        }
    }
}
