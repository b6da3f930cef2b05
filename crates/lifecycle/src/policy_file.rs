//! Reads the file of a policy.

use std::io;
use std::path::{Path, PathBuf};

use crate::policy::{Policy, PolicyError};

/// Why the file of a policy cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyFileError {
    /// It cannot be read.
    #[error("cannot read the policy {}; check its path and permissions", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
    /// It is not a policy.
    #[error(transparent)]
    Parse(#[from] PolicyError),
}

/// Reads a policy from a file. `~` in its patterns is the user's home. Blocks.
///
/// # Errors
///
/// The file cannot be read, or is not a policy.
pub fn read_policy(path: &Path) -> Result<Policy, PolicyFileError> {
    let text = std::fs::read_to_string(path).map_err(|error| PolicyFileError::Read {
        path: path.to_owned(),
        error,
    })?;
    parse_policy(&text, &path.to_string_lossy()).map_err(PolicyFileError::Parse)
}

/// Parses a policy for this machine: `~` in its patterns is the user's home. `source` is a name by which errors and
/// transcripts refer to it.
///
/// # Errors
///
/// As [`Policy::parse`].
pub fn parse_policy(text: &str, source: &str) -> Result<Policy, PolicyError> {
    let policy = Policy::parse(text, source)?;
    Ok(match std::env::home_dir() {
        Some(home) => policy.with_home(home.to_string_lossy()),
        None => policy,
    })
}

/// Returns the user's policy, `$XDG_CONFIG_HOME/bowline/policy.toml` or `~/.config/bowline/policy.toml`, if there
/// is one. Blocks.
#[must_use]
pub fn default_policy_path() -> Option<PathBuf> {
    let configured = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let configured = configured.filter(|it| it.is_absolute());
    let folder = configured.or_else(|| Some(std::env::home_dir()?.join(".config")))?;
    let path = folder.join("bowline/policy.toml");
    // One that cannot be seen is reported when it is read.
    path.try_exists().unwrap_or(true).then_some(path)
}
