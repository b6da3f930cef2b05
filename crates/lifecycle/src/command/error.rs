//! Errors of building a command.

use std::path::PathBuf;

/// Why the options of a command are invalid. Nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// Two options exclude each other.
    #[error("{flag} cannot be used with {other}; omit one of them")]
    Conflict {
        /// The flag.
        flag: &'static str,
        /// What it cannot be used with.
        other: &'static str,
    },
    /// An option requires another.
    #[error("{flag} requires {needs}")]
    Needs {
        /// The flag.
        flag: &'static str,
        /// What is missing.
        needs: &'static str,
    },
    /// The agent would refuse or misread a value.
    #[error("pass {flag}: {reason}")]
    Value {
        /// The flag.
        flag: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A file or folder does not exist, or has the wrong type.
    #[error("pass {flag}: {} is not a {wanted}", path.display())]
    Missing {
        /// The flag.
        flag: &'static str,
        /// The path, relative to the agent's working directory.
        path: PathBuf,
        /// `file` or `folder`.
        wanted: &'static str,
    },
    /// An argument is too long for the kernel.
    #[error("pass {flag}: {bytes} bytes exceed the limit of an argument ({limit}); {instead}")]
    TooLong {
        /// The flag, or `the prompt`.
        flag: &'static str,
        /// Its length, in bytes.
        bytes: usize,
        /// The maximum length, in bytes.
        limit: usize,
        /// An alternative.
        instead: &'static str,
    },
}
