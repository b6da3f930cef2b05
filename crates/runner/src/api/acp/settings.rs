//! Modes and options of a session.

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionMode,
    SessionModeState,
};
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

/// What an editor may set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Settings {
    options: Vec<SessionOption>,
}

impl Settings {
    pub(super) fn of(session: &SessionValue) -> Self {
        let mut options = session.options.clone();
        let has_mode = options.iter().any(is_mode);
        if session.dialect == DialectName::Claude && !has_mode {
            options.push(claude_mode(session.permission_mode.as_deref()));
        }
        Self { options }
    }

    /// Returns the id of the option that is the permission mode.
    pub(super) fn mode_id(&self) -> Option<&str> {
        self.options
            .iter()
            .find(|it| is_mode(it))
            .map(|it| it.id.as_str())
    }

    /// Returns whether an option may have a value.
    pub(super) fn accepts(&self, option: &str, value: &str) -> bool {
        let option = self.options.iter().find(|it| it.id == option);
        option.is_some_and(|it| match it.choices.as_slice() {
            [] => matches!(value, "true" | "false"),
            choices => choices.iter().any(|choice| choice.id == value),
        })
    }

    /// Notes a value that the agent accepted; the transcript may say so later.
    pub(super) fn set(&mut self, option: &str, value: &str) {
        let option = self.options.iter_mut().find(|it| it.id == option);
        if let Some(option) = option {
            option.value = Some(value.to_owned());
        }
    }

    /// Returns the current mode.
    pub(super) fn mode(&self) -> Option<&str> {
        let mode = self.options.iter().find(|it| is_mode(it));
        mode?.value.as_deref()
    }

    /// Returns the modes, for editors that do not use options.
    pub(super) fn modes(&self) -> Option<SessionModeState> {
        let option = self.options.iter().find(|it| is_mode(it))?;
        let current = option.value.clone()?;
        let modes = option.choices.iter().map(|choice| {
            SessionMode::new(choice.id.clone(), choice.name.clone())
                .description(choice.description.clone())
        });
        Some(SessionModeState::new(current, modes.collect()))
    }

    /// Returns all options. Switches are left out for editors that do not declare them.
    pub(super) fn options(&self, has_switches: bool) -> Vec<SessionConfigOption> {
        let options = self.options.iter();
        options.filter_map(|it| config(it, has_switches)).collect()
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

fn config(option: &SessionOption, has_switches: bool) -> Option<SessionConfigOption> {
    let value = option.value.clone()?;
    let (id, name) = (option.id.clone(), option.name.clone());
    let config = if option.choices.is_empty() {
        let is_on = value.parse().ok().filter(|_| has_switches)?;
        SessionConfigOption::boolean(id, name, is_on)
    } else {
        let choices = option.choices.iter().map(|choice| {
            SessionConfigSelectOption::new(choice.id.clone(), choice.name.clone())
                .description(choice.description.clone())
        });
        SessionConfigOption::select(id, name, value, choices.collect::<Vec<_>>())
    };
    let category = option.category.as_deref().map(|category| match category {
        "mode" => SessionConfigOptionCategory::Mode,
        "model" => SessionConfigOptionCategory::Model,
        "model_config" => SessionConfigOptionCategory::ModelConfig,
        "thought_level" => SessionConfigOptionCategory::ThoughtLevel,
        other => SessionConfigOptionCategory::Other(other.to_owned()),
    });
    Some(config.category(category))
}
