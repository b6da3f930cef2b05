//! The environment of the user's login shell, for hosts that were not started from a shell.
//!
//! The shell runs once as an interactive login shell and prints its environment to a separate
//! descriptor between random markers, so that output of its start-up files cannot be mistaken for
//! it. It runs in a session of its own, without a terminal or input, and its descendants are killed
//! with it. If the shell fails or times out, the result is the environment of this process and the
//! reason.

mod cache;
mod capture;
mod dialect;
mod dump;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::environment::Environment;
use crate::sys;
use dialect::Dialect;
#[cfg(feature = "fuzz")]
pub use dump::fuzz_login;

/// Variable that is set while a shell prints its environment, so that its start-up files can skip
/// slow or interactive parts. Not part of the result.
pub const RESOLVING: &str = "BOWLINE_RESOLVING_ENVIRONMENT";

/// Total time limit of a shell.
const TIME_LIMIT: Duration = Duration::from_secs(8);

/// The shell of a user without an entry in the user database.
const FALLBACK_SHELL: &str = "/bin/sh";

/// A shell that can be run to obtain its environment.
#[derive(Clone, Debug)]
pub struct LoginShell {
    /// Full path of the shell. Its file name selects the dialect.
    pub shell: PathBuf,
    /// Environment that the shell starts with; usually that of this process without the variables
    /// of an outer agent.
    pub env: Environment,
    /// Time limit for both attempts together.
    pub timeout: Duration,
}

impl LoginShell {
    /// Returns the shell in `SHELL`, else of the user database, else `/bin/sh`, with a time limit
    /// of 8 s.
    pub fn of_user() -> Self {
        let named = std::env::var_os("SHELL").filter(|shell| Path::new(shell).is_absolute());
        Self {
            shell: named.map_or_else(shell_of_database, PathBuf::from),
            env: Environment::inherited(),
            timeout: TIME_LIMIT,
        }
    }

    /// Returns the environment of this shell. The result is cached until the modification time or
    /// size of a start-up file changes. Files that those files include are not watched;
    /// [`capture`](Self::capture) bypasses the cache.
    ///
    /// Needs a tokio runtime with I/O and time enabled.
    pub async fn environment(&self) -> LoginEnvironment {
        cache::environment(self).await
    }

    /// Runs the shell and returns its environment, without the cache.
    pub async fn capture(&self) -> LoginEnvironment {
        capture::capture(self).await
    }

    /// Returns the start-up files of this shell, including those that do not exist.
    pub fn files(&self) -> Vec<PathBuf> {
        Dialect::of(&self.shell).files(&self.env.resolve())
    }
}

impl Default for LoginShell {
    fn default() -> Self {
        Self::of_user()
    }
}

fn shell_of_database() -> PathBuf {
    sys::login_shell().unwrap_or_else(|| FALLBACK_SHELL.into())
}

/// An environment and its origin.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginEnvironment {
    /// All variables, except those of an outer agent.
    pub variables: BTreeMap<OsString, OsString>,
    /// Origin of the variables.
    pub provenance: Provenance,
}

impl LoginEnvironment {
    /// Returns an [`Environment`] of exactly these variables, for a
    /// [`Configuration`](crate::Configuration).
    pub fn environment(&self) -> Environment {
        let mut environment = Environment::empty();
        for (name, value) in &self.variables {
            environment.set(name, value);
        }
        environment
    }
}

/// Prints names only: values may be secrets.
impl fmt::Debug for LoginEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginEnvironment")
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .field("provenance", &self.provenance)
            .finish()
    }
}

/// Origin of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provenance {
    /// The shell that was run.
    pub shell: PathBuf,
    /// The attempt that succeeded.
    pub source: LoginSource,
    /// Failures of the attempts before, in order.
    pub failures: Vec<LoginFailure>,
    /// Existing start-up files that a shell of this dialect reads.
    pub files: Vec<PathBuf>,
    /// Time of the capture.
    pub captured: SystemTime,
    /// Duration of the capture.
    pub took: Duration,
}

/// The attempt that produced an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginSource {
    /// The shell as an interactive login shell.
    Interactive,
    /// The shell as a login shell.
    Login,
    /// None: the environment is that of this process.
    Inherited,
}

/// Reason why a shell produced no environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginFailure {
    /// The shell could not be started.
    #[error("the shell was not started: cannot {reason}")]
    NotStarted {
        /// Message of the [`SpawnError`](crate::SpawnError).
        reason: String,
    },
    /// The shell did not answer within the time limit.
    #[error("the shell did not answer within {0:?}, look for what waits in its start-up files")]
    TimedOut(Duration),
    /// The shell ended without an answer: a start-up file exited, or replaced the shell by another
    /// program.
    #[error("the shell ended before it answered, look for exit or exec in its start-up files")]
    Ended,
    /// The answer is malformed.
    #[error("the shell's answer was cut or mixed with other output")]
    Garbled,
}

/// Removes the variables that belong to the shell process itself or to this crate.
fn clean(variables: &mut BTreeMap<OsString, OsString>) {
    for own in [RESOLVING, crate::MARKER, "_", "SHLVL", "PWD", "OLDPWD"] {
        variables.remove(OsStr::new(own));
    }
    variables.retain(|name, _| !crate::environment::is_of_host(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn database_shell_is_absolute() {
        assert!(shell_of_database().is_absolute());
    }

    #[test]
    fn debug_output_omits_values() {
        let environment = LoginEnvironment {
            variables: BTreeMap::from([("API_KEY".into(), "hunter2".into())]),
            provenance: Provenance {
                shell: FALLBACK_SHELL.into(),
                source: LoginSource::Login,
                failures: Vec::new(),
                files: Vec::new(),
                captured: SystemTime::UNIX_EPOCH,
                took: Duration::ZERO,
            },
        };
        let text = format!("{environment:?}");
        assert!(text.contains("API_KEY") && !text.contains("hunter2"));
    }
}
