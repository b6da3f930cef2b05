//! Why a command was not built.

use std::path::PathBuf;

/// What is wrong with the options of a command. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Two options exclude each other.
    #[error("use {flag} together with {other}: they exclude each other, leave one out")]
    Conflict {
        /// The flag.
        flag: &'static str,
        /// What it cannot be used with.
        other: &'static str,
    },
    /// An option means nothing without another.
    #[error("use {flag} by itself: it needs {needs}")]
    Needs {
        /// The flag.
        flag: &'static str,
        /// What is missing.
        needs: &'static str,
    },
    /// A value that the agent refuses or would misread.
    #[error("pass {flag}: {reason}")]
    Value {
        /// The flag.
        flag: &'static str,
        /// What is wrong, and what is wanted instead.
        reason: String,
    },
    /// A file or folder is not there, or is not the right one of the two.
    #[error("pass {flag}: {} is not a {wanted}, check the path", path.display())]
    Missing {
        /// The flag.
        flag: &'static str,
        /// The path, from the agent's working directory.
        path: PathBuf,
        /// `file` or `folder`.
        wanted: &'static str,
    },
    /// An argument is longer than the kernel takes.
    #[error("pass {flag}: {bytes} bytes are too long for an argument ({limit} at most), {instead}")]
    TooLong {
        /// The flag, or `the prompt`.
        flag: &'static str,
        /// Its length, in bytes.
        bytes: usize,
        /// The most that an argument may have, in bytes.
        limit: usize,
        /// The way around it.
        instead: &'static str,
    },
}
