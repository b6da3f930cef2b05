//! The child's environment: what it inherits, what is taken away, what is set.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

/// Variables that an outer agent leaves to everything it starts, and that change how an inner one
/// behaves (protocol notes, section C; some versions refuse to start with `CLAUDECODE`).
/// `NODE_OPTIONS` would load the host's hooks into the agent's runtime.
const OUTER_AGENT: [&str; 6] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_PID",
    "NODE_OPTIONS",
];

/// Start of the names of an outer agent's message channel.
const OUTER_AGENT_PREFIX: &str = "CLAUDE_CODE_MESSAGING_";

/// The child's environment. Starts from the host's, or empty; `set` and `remove` change it.
///
/// The variables of an outer agent are taken out of what is inherited; one that is `set` stays.
#[derive(Clone, Default)]
pub struct Environment {
    empty: bool,
    changes: BTreeMap<OsString, Option<OsString>>,
}

impl Environment {
    /// The host's environment at the time the session is made, without an outer agent's variables.
    pub fn inherited() -> Self {
        Self::default()
    }

    /// No variable at all.
    pub fn empty() -> Self {
        Self {
            empty: true,
            ..Self::default()
        }
    }

    /// Sets a variable. Also keeps one that would be taken away.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> &mut Self {
        self.changes.insert(name.into(), Some(value.into()));
        self
    }

    /// Takes a variable away.
    pub fn remove(&mut self, name: impl Into<OsString>) -> &mut Self {
        self.changes.insert(name.into(), None);
        self
    }

    /// What the child would find in a variable if it were made now.
    #[must_use]
    pub fn value(&self, name: impl AsRef<OsStr>) -> Option<OsString> {
        let name = name.as_ref();
        match self.changes.get(name) {
            Some(changed) => changed.clone(),
            None if self.empty || is_outer_agent(name) => None,
            None => std::env::var_os(name),
        }
    }

    /// Whether it begins with the host's, and what is changed about it then.
    pub fn parts(&self) -> (bool, &BTreeMap<OsString, Option<OsString>>) {
        (!self.empty, &self.changes)
    }

    pub(crate) fn resolve(&self) -> BTreeMap<OsString, OsString> {
        let mut variables = BTreeMap::new();
        if !self.empty {
            variables.extend(std::env::vars_os().filter(|(name, _)| !is_outer_agent(name)));
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

/// Names only: values may be secrets.
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

pub(crate) fn is_outer_agent(name: &OsStr) -> bool {
    OUTER_AGENT.iter().any(|outer| name == *outer)
        || name.as_bytes().starts_with(OUTER_AGENT_PREFIX.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_what_the_child_will_find() {
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
    fn an_outer_agent_is_known_by_name() {
        for name in [
            "CLAUDECODE",
            "CLAUDE_PID",
            "NODE_OPTIONS",
            "CLAUDE_CODE_MESSAGING_SOCKET",
        ] {
            assert!(is_outer_agent(OsStr::new(name)), "{name}");
        }
        for name in [
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_MAX_RETRIES",
            "PATH",
            "CLAUDECODE2",
        ] {
            assert!(!is_outer_agent(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn what_is_set_stays_and_what_is_removed_goes() {
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
    fn debug_shows_no_value() {
        let mut environment = Environment::empty();
        environment.set("API_KEY", "hunter2");
        let text = format!("{environment:?}");
        assert!(text.contains("API_KEY") && !text.contains("hunter2"));
    }
}
