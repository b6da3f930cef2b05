//! The environment of the user's login shell.

use std::collections::HashMap;
use std::path::PathBuf;

use crate::core;
use crate::environment::EnvironmentChanges;
use crate::limits::duration;
use crate::mirror::mirror;
use crate::outcome::millis;

/// Which shell to query and how.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct LoginShellQuery {
    /// The shell's absolute path; the user's login shell when absent.
    #[uniffi(default = None)]
    pub shell: Option<String>,
    /// How long the shell may take, in milliseconds; 8,000 when absent.
    #[uniffi(default = None)]
    pub timeout_ms: Option<u64>,
    /// Whether to run the shell even if there is a cached result.
    #[uniffi(default = false)]
    pub ignores_cache: bool,
}

mirror! {
    /// How an environment was obtained.
    LoginSource = core::LoginSource {
        /// From an interactive login shell.
        Interactive,
        /// From a login shell that is not interactive.
        Login,
        /// From the host's own environment, since the shell failed.
        Inherited,
    }
}

/// The environment of a login shell and where it comes from.
#[derive(Clone, PartialEq, Eq, uniffi::Record)]
pub struct LoginEnvironmentView {
    /// The environment, for a configuration: exactly the shell's variables.
    pub environment: EnvironmentChanges,
    /// The shell that was run.
    pub shell: String,
    /// How the environment was obtained.
    pub source: LoginSource,
    /// Why earlier attempts failed, in order.
    pub failures: Vec<String>,
    /// The startup files that a shell of this kind reads and that exist.
    pub startup_files: Vec<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Prints the names of the variables only, since values may be secrets.
impl std::fmt::Debug for LoginEnvironmentView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let variables: Vec<_> = self.environment.set.keys().collect();
        f.debug_struct("LoginEnvironmentView")
            .field("variables", &variables)
            .field("shell", &self.shell)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

pub(crate) async fn capture(query: LoginShellQuery) -> LoginEnvironmentView {
    let mut shell = core::LoginShell::of_user();
    if let Some(path) = query.shell {
        shell.shell = path.into();
    }
    if let Some(timeout) = query.timeout_ms {
        shell.timeout = duration(timeout);
    }
    let environment = if query.ignores_cache {
        shell.capture().await
    } else {
        shell.environment().await
    };
    environment.into()
}

impl From<core::LoginEnvironment> for LoginEnvironmentView {
    fn from(it: core::LoginEnvironment) -> Self {
        let text = |it: &std::ffi::OsStr| it.to_string_lossy().into_owned();
        let path = |it: PathBuf| text(it.as_os_str());
        let variables = it.variables.iter();
        let set: HashMap<_, _> = variables.map(|(name, it)| (text(name), text(it))).collect();
        let provenance = it.provenance;
        Self {
            environment: EnvironmentChanges {
                is_empty: true,
                set,
                remove: Vec::new(),
            },
            shell: path(provenance.shell),
            source: provenance.source.into(),
            failures: provenance
                .failures
                .iter()
                .map(ToString::to_string)
                .collect(),
            startup_files: provenance.files.into_iter().map(path).collect(),
            duration_ms: millis(provenance.took),
        }
    }
}
