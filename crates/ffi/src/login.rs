//! The environment that the user's own shell makes, for hosts that were not started from one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::core;

use crate::environment::EnvironmentChanges;
use crate::mirror::mirror;

/// Which shell is asked, and how.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct LoginShellQuery {
    /// The shell, by its full path; the user's own when absent.
    #[uniffi(default = None)]
    pub shell: Option<String>,
    /// How long it may take, in milliseconds; 8,000 when absent.
    #[uniffi(default = None)]
    pub patience_ms: Option<u64>,
    /// Ask it in any case: an answer that was had before does not count.
    #[uniffi(default = false)]
    pub is_fresh: bool,
}

mirror! {
    /// Which way of asking was answered.
    LoginSource = core::LoginSource {
        /// The shell, as a login and interactively.
        Interactive,
        /// The shell, as a login.
        Login,
        /// None: the host's own environment.
        Inherited,
    }
}

/// An environment, and where it is from.
#[derive(Clone, PartialEq, Eq, uniffi::Record)]
pub struct LoginEnvironmentView {
    /// For a configuration: these variables and no other.
    pub changes: EnvironmentChanges,
    /// The shell that was asked.
    pub shell: String,
    /// Which way of asking was answered.
    pub source: LoginSource,
    /// What came of the ways that were tried before, in their order.
    pub failures: Vec<String>,
    /// The files that the shell read at its start, as far as its kind tells and they exist.
    pub files: Vec<String>,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
}

/// Names only: values may be secrets.
impl std::fmt::Debug for LoginEnvironmentView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginEnvironmentView")
            .field("variables", &self.changes.set.keys().collect::<Vec<_>>())
            .field("shell", &self.shell)
            .field("source", &self.source)
            .finish_non_exhaustive()
    }
}

pub(crate) async fn ask(query: LoginShellQuery) -> LoginEnvironmentView {
    let mut shell = core::LoginShell::of_user();
    if let Some(path) = query.shell {
        shell.shell = path.into();
    }
    if let Some(patience) = query.patience_ms {
        shell.patience = Duration::from_millis(patience);
    }
    let answer = if query.is_fresh {
        shell.capture().await
    } else {
        shell.environment().await
    };
    answer.into()
}

impl From<core::LoginEnvironment> for LoginEnvironmentView {
    fn from(it: core::LoginEnvironment) -> Self {
        let text = |it: &std::ffi::OsStr| it.to_string_lossy().into_owned();
        let path = |it: PathBuf| text(it.as_os_str());
        let variables = it.variables.iter();
        let set: HashMap<_, _> = variables.map(|(name, it)| (text(name), text(it))).collect();
        let provenance = it.provenance;
        Self {
            changes: EnvironmentChanges {
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
            files: provenance.files.into_iter().map(path).collect(),
            took_ms: u64::try_from(provenance.took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}
