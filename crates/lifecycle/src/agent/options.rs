//! Options that some versions of the agent do not have.

use bowline_jsonl::AgentVersion;

const fn v(major: u32, minor: u32, patch: u32) -> AgentVersion {
    AgentVersion::new(major, minor, patch)
}

/// Options that were added after the agent's first release, each with a version that has it. It may
/// exist in an earlier one, which was not tried.
const ADDED: &[(&str, AgentVersion)] = &[
    ("--replay-user-messages", v(1, 0, 86)),
    ("--include-partial-messages", v(1, 0, 109)),
    ("--max-budget-usd", v(2, 0, 28)),
    ("--disable-slash-commands", v(2, 0, 60)),
    ("--agent", v(2, 0, 77)),
    ("--allow-dangerously-skip-permissions", v(2, 0, 77)),
    ("--append-system-prompt-file", v(2, 0, 77)),
    ("--betas", v(2, 0, 77)),
    ("--json-schema", v(2, 0, 77)),
    ("--max-thinking-tokens", v(2, 0, 77)),
    ("--no-session-persistence", v(2, 0, 77)),
    ("--plugin-dir", v(2, 0, 77)),
    ("--tools", v(2, 0, 77)),
    ("--worktree", v(2, 1, 49)),
    ("--name", v(2, 1, 76)),
    ("--bare", v(2, 1, 81)),
    ("--exclude-dynamic-system-prompt-sections", v(2, 1, 98)),
    ("--debug-file", v(2, 1, 100)),
    ("--effort", v(2, 1, 100)),
    ("--file", v(2, 1, 100)),
    ("--include-hook-events", v(2, 1, 100)),
    ("--session-mirror", v(2, 1, 100)),
    ("--task-budget", v(2, 1, 100)),
    ("--thinking", v(2, 1, 100)),
    ("--plugin-url", v(2, 1, 129)),
    ("--managed-settings", v(2, 1, 150)),
    ("--safe-mode", v(2, 1, 169)),
    ("--plugin-dir-no-mcp", v(2, 1, 175)),
    ("--prompt-suggestions", v(2, 1, 175)),
    ("--forward-subagent-text", v(2, 1, 211)),
    ("--append-subagent-system-prompt", v(2, 1, 219)),
    ("--await-initialize", v(2, 1, 330)),
    ("--permission-prompts", v(2, 1, 330)),
    ("--project-config-root", v(2, 1, 330)),
    ("--restricted", v(2, 1, 330)),
    ("--resume-drops-turn", v(2, 1, 330)),
    ("--system-prompt-snapshot", v(2, 1, 330)),
];

/// An option of the command line that the agent refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent does not know {option}; {}", remedy(.added.as_ref()))]
#[non_exhaustive]
pub struct UnknownOption {
    /// The option, without its value.
    pub option: String,
    /// A version that has the option, if one is known.
    pub added: Option<AgentVersion>,
}

fn remedy(added: Option<&AgentVersion>) -> String {
    match added {
        Some(version) => format!("update it to {version} or later, or omit the option"),
        None => "omit the option".to_owned(),
    }
}

impl UnknownOption {
    /// Finds the message of a refused option in the agent's standard error. The value of the option,
    /// which may be a secret, is left out.
    pub(crate) fn find(stderr: &str) -> Option<Self> {
        let named = |line: &str| {
            let rest = line.trim().strip_prefix("error: unknown option '")?;
            let word = rest.split(['\'', '=', ' ']).next()?;
            word.starts_with('-').then(|| word.to_owned())
        };
        let option = stderr.lines().find_map(named)?;
        let known = ADDED.iter().find(|(name, _)| *name == option);
        let added = known.map(|(_, version)| *version);
        Some(Self { option, added })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_option_names_its_version() {
        let stderr =
            "warning: low disk\nerror: unknown option '--effort=high'\n(Did you mean --x?)\n";
        let found = UnknownOption::find(stderr).unwrap();
        assert_eq!(
            (found.option.as_str(), found.added),
            ("--effort", Some(v(2, 1, 100)))
        );
        assert_eq!(
            found.to_string(),
            "the agent does not know --effort; update it to 2.1.100 or later, or omit the option"
        );
    }

    #[test]
    fn value_of_refused_option_is_left_out() {
        let found = UnknownOption::find("error: unknown option '--token=secret'").unwrap();
        assert_eq!((found.option.as_str(), found.added), ("--token", None));
        assert_eq!(
            found.to_string(),
            "the agent does not know --token; omit the option"
        );
    }

    #[test]
    fn other_errors_name_no_option() {
        for stderr in [
            "",
            "error: option '--effort <level>' argument missing",
            "error: unknown option",
            "the tool said: error: unknown option '--effort'",
        ] {
            assert_eq!(UnknownOption::find(stderr), None, "{stderr}");
        }
    }

    #[test]
    fn options_are_in_order_of_version() {
        assert!(ADDED.is_sorted_by_key(|(_, version)| version));
    }
}
