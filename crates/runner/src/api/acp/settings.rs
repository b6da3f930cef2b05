//! Modes and options of a session.

use bowline_reducer::dialect::DialectName;
use bowline_reducer::model::{Choice, SessionOption};
use bowline_reducer::owned::SessionValue;

/// Id of the setting that is the permission mode.
pub(super) const MODE: &str = "mode";

/// The permission modes that Claude Code can be set to at any time. It does not list them
/// (`crates/jsonl/PROTOCOL.md`, Control requests of the host).
const CLAUDE_MODES: [(&str, &str); 3] = [
    ("default", "Always ask"),
    ("acceptEdits", "Accept edits"),
    ("plan", "Plan"),
];

/// Options that an editor may set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Settings {
    options: Vec<SessionOption>,
}

impl Settings {
    /// Returns the settings of a session. Switches are left out for editors that do not declare them.
    pub(super) fn of(session: &SessionValue, has_switches: bool) -> Self {
        let is_shown = |it: &&SessionOption| has_switches || !it.choices.is_empty();
        let options = session.options.iter().filter(is_shown);
        let mut options: Vec<_> = options.cloned().collect();
        let has_mode = options.iter().any(is_mode);
        if session.dialect == DialectName::Claude && !has_mode {
            options.push(claude_mode(session.permission_mode.as_deref()));
        }
        Self { options }
    }

    /// Returns whether an option may have a value.
    pub(super) fn accepts(&self, option: &str, value: &str) -> bool {
        let option = self.options.iter().find(|it| it.id == option);
        option.is_some_and(|it| match it.choices.as_slice() {
            [] => matches!(value, "true" | "false"),
            choices => choices.iter().any(|choice| choice.id == value),
        })
    }

    /// Records a value that the agent accepted; the transcript may have it later.
    pub(super) fn set(&mut self, option: &str, value: &str) {
        let option = self.options.iter_mut().find(|it| it.id == option);
        if let Some(option) = option {
            option.value = Some(value.to_owned());
        }
    }

    /// Returns the permission mode.
    pub(super) fn mode(&self) -> Option<&SessionOption> {
        self.options.iter().find(|it| is_mode(it))
    }

    /// Returns all options.
    pub(super) fn options(&self) -> &[SessionOption] {
        &self.options
    }
}

fn is_mode(option: &SessionOption) -> bool {
    option.category.as_deref().unwrap_or(&option.id) == MODE
}

fn claude_mode(current: Option<&str>) -> SessionOption {
    let current = current.unwrap_or("default");
    let choice = |id: &str, name: &str| Choice {
        id: id.to_owned(),
        name: name.to_owned(),
        description: None,
    };
    let mut choices: Vec<_> = CLAUDE_MODES.map(|(id, name)| choice(id, name)).into();
    if choices.iter().all(|it| it.id != current) {
        choices.push(choice(current, current));
    }
    SessionOption {
        id: MODE.to_owned(),
        name: "Mode".to_owned(),
        category: Some(MODE.to_owned()),
        value: Some(current.to_owned()),
        choices,
    }
}
