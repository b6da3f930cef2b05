//! The environment that the user's own shell makes, for hosts that were not started from one.
//!
//! The shell is run once, as a login and interactively, and lists its environment on a descriptor
//! of its own between random marks, so that nothing that its files print can be taken for it. It
//! has a session of its own, no terminal and nothing to read; what it starts ends with it. A shell
//! that does not do its part in time is done without: the answer then is this process's own
//! environment, and says why.

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
use dialect::Dialect;

/// Set while a shell is asked for its environment, so that its files can leave out what is slow or
/// only for people. Not part of the answer.
pub const RESOLVING: &str = "BOWLINE_RESOLVING_ENVIRONMENT";

/// How long a shell may take over all: editors give theirs 10 s, and people notice.
const PATIENCE: Duration = Duration::from_secs(8);

/// Where the user database is (passwd(5)), and the shell of those who have none there.
const USERS: &str = "/etc/passwd";
const LAST_SHELL: &str = "/bin/sh";

/// A shell to be asked for its environment.
#[derive(Clone, Debug)]
pub struct LoginShell {
    /// The shell, by its full path. What it understands is told by its name.
    pub shell: PathBuf,
    /// What it starts from; this process's own without an outer agent's variables, as a rule.
    pub env: Environment,
    /// How long it may take, both ways of asking together.
    pub patience: Duration,
}

impl LoginShell {
    /// The shell of `SHELL`, else of the user database, else `/bin/sh`; 8 s.
    pub fn of_user() -> Self {
        let named = std::env::var_os("SHELL").filter(|shell| Path::new(shell).is_absolute());
        Self {
            shell: named.map_or_else(shell_of_database, PathBuf::from),
            env: Environment::inherited(),
            patience: PATIENCE,
        }
    }

    /// The environment that this shell makes. Asked for once: later callers get the same as long as
    /// none of the files that the shell reads at its start has another time or size. What those
    /// files read in turn is not watched; [`capture`](Self::capture) asks in any case.
    ///
    /// Needs a tokio runtime with I/O and time enabled.
    pub async fn environment(&self) -> LoginEnvironment {
        cache::environment(self).await
    }

    /// Asks the shell now.
    pub async fn capture(&self) -> LoginEnvironment {
        capture::capture(self).await
    }

    /// The files that this shell reads at its start, where they are now; those that do not exist
    /// are among them, for they may.
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
    let users = std::fs::read_to_string(USERS).unwrap_or_default();
    let own = rustix::process::getuid().as_raw().to_string();
    let shell = users.lines().find_map(|user| {
        let mut fields = user.split(':').skip(2);
        let is_own = fields.next()? == own;
        fields
            .nth(3)
            .filter(|shell| is_own && shell.starts_with('/'))
    });
    shell.unwrap_or(LAST_SHELL).into()
}

/// An environment, and where it is from.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoginEnvironment {
    /// Every variable, without those of an outer agent.
    pub variables: BTreeMap<OsString, OsString>,
    /// Where they are from.
    pub provenance: Provenance,
}

impl LoginEnvironment {
    /// For a [`Configuration`](crate::Configuration): these variables and no other.
    pub fn environment(&self) -> Environment {
        let mut environment = Environment::empty();
        for (name, value) in &self.variables {
            environment.set(name, value);
        }
        environment
    }
}

/// Names only: values may be secrets.
impl fmt::Debug for LoginEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginEnvironment")
            .field("variables", &self.variables.keys().collect::<Vec<_>>())
            .field("provenance", &self.provenance)
            .finish()
    }
}

/// Where an environment is from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provenance {
    /// The shell that was asked.
    pub shell: PathBuf,
    /// Which way of asking was answered.
    pub source: LoginSource,
    /// What came of the ways that were tried before, in their order.
    pub failures: Vec<LoginFailure>,
    /// The files that the shell read at its start, as far as its kind tells and they exist.
    pub files: Vec<PathBuf>,
    /// When it was asked.
    pub captured: SystemTime,
    /// How long it took.
    pub took: Duration,
}

/// Which way of asking was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginSource {
    /// The shell, as a login and interactively.
    Interactive,
    /// The shell, as a login.
    Login,
    /// None: this process's own environment.
    Inherited,
}

/// Why a shell gave no environment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginFailure {
    /// It could not be started, for the reason given.
    #[error("the shell was not started: {reason}")]
    NotStarted {
        /// What [`SpawnError`](crate::SpawnError) said.
        reason: String,
    },
    /// It did not answer in the time it had.
    #[error("the shell did not answer within {0:?}, look for what waits in its start-up files")]
    TimedOut(Duration),
    /// It ended without an answer: one of its files ended it, or ran another program in its place.
    #[error("the shell ended before it answered, look for exit or exec in its start-up files")]
    Ended,
    /// It answered in a form that no shell gives.
    #[error("the shell's answer was cut or mixed with other output")]
    Garbled,
}

/// Takes out what is the shell's own affair, or ours.
fn clean(variables: &mut BTreeMap<OsString, OsString>) {
    for own in [RESOLVING, crate::MARKER, "_", "SHLVL", "PWD", "OLDPWD"] {
        variables.remove(OsStr::new(own));
    }
    variables.retain(|name, _| !crate::environment::is_outer_agent(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_has_a_shell_in_the_database() {
        assert!(shell_of_database().is_absolute());
    }

    #[test]
    fn debug_shows_no_value() {
        let environment = LoginEnvironment {
            variables: BTreeMap::from([("API_KEY".into(), "hunter2".into())]),
            provenance: Provenance {
                shell: LAST_SHELL.into(),
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
