//! Environment of a child: inheritance, removal and assignment of variables.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

/// Variables that an agent passes to its children and that change the behavior of an agent started
/// below it. Some versions refuse to start with `CLAUDECODE` set. `NODE_OPTIONS` would load the
/// host's hooks into the agent's runtime.
const OUTER_AGENT: [&str; 6] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_PID",
    "NODE_OPTIONS",
];

/// Variables that macOS gives to an app. Its children would be taken for the app, or load its libraries
/// (dyld(1)).
const APP: [&str; 2] = ["__CFBundleIdentifier", "DYLD_INSERT_LIBRARIES"];

/// Prefixes of the variables of an outer agent's message channel, and of those of launchd for a service.
const PREFIXES: [&str; 2] = ["CLAUDE_CODE_MESSAGING_", "XPC_"];

/// Returns whether this process is an app in the App Sandbox of macOS, which gets the name of its container in
/// a variable.
pub fn is_sandboxed() -> bool {
    cfg!(target_os = "macos") && std::env::var_os("APP_SANDBOX_CONTAINER_ID").is_some()
}

/// Environment of a child, built from the host's environment or from an empty one.
///
/// The variables of an outer agent, and those that macOS gives to an app, are not inherited. One that is
/// [`set`](Self::set) is kept.
#[derive(Clone, Default)]
pub struct Environment {
    empty: bool,
    changes: BTreeMap<OsString, Option<OsString>>,
}

impl Environment {
    /// Returns the host's environment as of the start of the child, without the variables of an
    /// outer agent.
    pub fn inherited() -> Self {
        Self::default()
    }

    /// Returns an environment without variables.
    pub fn empty() -> Self {
        Self {
            empty: true,
            ..Self::default()
        }
    }

    /// Sets a variable. Also keeps a variable that would not be inherited.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.changes.insert(name.into(), Some(value.into()));
        self
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: impl Into<OsString>) -> &mut Self {
        self.changes.insert(name.into(), None);
        self
    }

    /// Returns the value that a child started now would get for a variable.
    #[must_use]
    pub fn value(&self, name: impl AsRef<OsStr>) -> Option<OsString> {
        let name = name.as_ref();
        match self.changes.get(name) {
            Some(changed) => changed.clone(),
            None if self.empty || is_of_host(name) => None,
            None => std::env::var_os(name),
        }
    }

    /// Returns whether the host's environment is inherited, and the changes applied to it. `None`
    /// in the map removes a variable.
    pub fn parts(&self) -> (bool, &BTreeMap<OsString, Option<OsString>>) {
        (!self.empty, &self.changes)
    }

    pub(crate) fn resolve(&self) -> BTreeMap<OsString, OsString> {
        let mut variables = BTreeMap::new();
        if !self.empty {
            variables.extend(std::env::vars_os().filter(|(name, _)| !is_of_host(name)));
        }
        for (name, value) in &self.changes {
            match value {
                Some(value) => variables.insert(name.clone(), value.clone()),
                None => variables.remove(name),
            };
        }
        variables
    }
}

/// Prints names only: values may be secrets.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |set: bool| {
            let with = self
                .changes
                .iter()
                .filter(move |(_, value)| value.is_some() == set);
            with.map(|(name, _)| name).collect::<Vec<_>>()
        };
        f.debug_struct("Environment")
            .field("empty", &self.empty)
            .field("set", &names(true))
            .field("removed", &names(false))
            .finish()
    }
}

/// Returns whether a variable concerns the host, or the agent that runs it, and not its children.
pub(crate) fn is_of_host(name: &OsStr) -> bool {
    let mut names = OUTER_AGENT.iter().chain(&APP);
    names.any(|outer| name == *outer)
        || PREFIXES
            .iter()
            .any(|prefix| name.as_bytes().starts_with(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_matches_resolved_environment() {
        let mut env = Environment::inherited();
        env.set("CLAUDE_PID", "7").remove("HOME");
        let resolved = env.resolve();
        for name in ["PATH", "HOME", "CLAUDE_PID", "CLAUDECODE", "NO_SUCH"] {
            assert_eq!(
                env.value(name).as_ref(),
                resolved.get(OsStr::new(name)),
                "{name}"
            );
        }
        assert!(env.value("PATH").is_some());
        assert_eq!(Environment::empty().value("PATH"), None);
    }

    #[test]
    fn variables_of_outer_agent_and_app_are_recognized() {
        for name in [
            "CLAUDECODE",
            "CLAUDE_PID",
            "NODE_OPTIONS",
            "CLAUDE_CODE_MESSAGING_SOCKET",
            "__CFBundleIdentifier",
            "XPC_SERVICE_NAME",
            "DYLD_INSERT_LIBRARIES",
        ] {
            assert!(is_of_host(OsStr::new(name)), "{name}");
        }
        for name in [
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_MAX_RETRIES",
            "PATH",
            "CLAUDECODE2",
        ] {
            assert!(!is_of_host(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn set_and_remove_are_applied() {
        let mut environment = Environment::inherited();
        environment.set("NODE_OPTIONS", "--trace").remove("PATH");
        let variables = environment.resolve();
        assert_eq!(
            variables.get(OsStr::new("NODE_OPTIONS")),
            Some(&"--trace".into())
        );
        assert_eq!(variables.get(OsStr::new("PATH")), None);
        assert!(Environment::empty().resolve().is_empty());
    }

    #[test]
    fn debug_output_omits_values() {
        let mut environment = Environment::empty();
        environment.set("API_KEY", "hunter2");
        let text = format!("{environment:?}");
        assert!(text.contains("API_KEY") && !text.contains("hunter2"));
    }
}
