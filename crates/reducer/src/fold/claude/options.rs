//! The models and modes that Claude Code can be set to (`crates/jsonl/PROTOCOL.md`, Control requests of the host).

use bowline_jsonl::RawJson;

use crate::model::{Choice, SessionOption};
use crate::transcript::Transcript;

/// The modes that can be set at any time. The agent does not list them.
const MODES: [(&str, &str); 3] = [
    ("default", "Always ask"),
    ("acceptEdits", "Accept edits"),
    ("plan", "Plan"),
];

/// The id and category of the option that is the model.
const MODEL: &str = "model";

/// The id and category of the option that is the permission mode.
const MODE: &str = "mode";

impl Transcript {
    /// Takes the options from the agent's answer to `initialize`, which lists its models.
    pub(crate) fn note_options(&mut self, answer: RawJson<'_>, models: RawJson<'_>) {
        let names = models.elements().filter_map(|model| {
            let resolved = text(model, "resolvedModel")?;
            Some((text(model, "value")?, resolved))
        });
        let names = names.collect();
        self.set_neutral(|it| &mut it.model_names, names);
        let mode = text(answer, "current_permission_mode");
        let modes = MODES.map(|(id, name)| choice(id, name)).into();
        let options = vec![
            option(
                MODEL,
                "Model",
                models.elements().filter_map(model_choice).collect(),
            ),
            SessionOption {
                value: Some(mode.unwrap_or_else(|| "default".to_owned())),
                ..option(MODE, "Mode", modes)
            },
        ];
        let listed = options.iter().map(|option| option.choices.len()).collect();
        self.set_neutral(|it| &mut it.listed_choices, listed);
        self.set_options(options);
        self.update_options();
    }

    /// Sets the current values of the options, after the model or the mode has changed.
    pub(crate) fn update_options(&mut self) {
        if self.session.neutral.options.is_empty() {
            return;
        }
        let name = |it| self.names.str(it).to_owned();
        let model = self.session.model.map(name);
        let mode = self.session.permission_mode.map(name);
        let mut options = self.session.neutral.options.clone();
        for (option, &listed) in options.iter_mut().zip(&self.session.neutral.listed_choices) {
            option.choices.truncate(listed);
            match &*option.id {
                MODEL => {
                    let value = model.as_deref().map(|it| self.model_choice_of(it, option));
                    option.value = value.or_else(|| option.value.take());
                }
                MODE => option.value = mode.clone().or_else(|| option.value.take()),
                _ => {}
            }
            add_current(option);
        }
        self.set_options(options);
    }

    /// Returns the choice that stands for a model: the current one if it does, since several may.
    fn model_choice_of(&self, model: &str, option: &SessionOption) -> String {
        let is_it = |value: &str| {
            let mut names = self.session.neutral.model_names.iter();
            value == model || names.any(|(it, resolved)| it == value && resolved == model)
        };
        let ids = option.choices.iter().map(|it| &*it.id);
        let mut candidates = option.value.as_deref().into_iter().chain(ids);
        candidates.find(|it| is_it(it)).unwrap_or(model).to_owned()
    }
}

/// Adds the current value to the choices, if it is another one.
fn add_current(option: &mut SessionOption) {
    if let Some(value) = &option.value
        && option.choices.iter().all(|it| it.id != *value)
    {
        option.choices.push(choice(value, value));
    }
}

fn option(id: &str, name: &str, choices: Vec<Choice>) -> SessionOption {
    SessionOption {
        id: id.to_owned(),
        name: name.to_owned(),
        category: Some(id.to_owned()),
        value: None,
        choices,
    }
}

fn choice(id: &str, name: &str) -> Choice {
    Choice {
        id: id.to_owned(),
        name: name.to_owned(),
        description: None,
    }
}

fn model_choice(model: RawJson<'_>) -> Option<Choice> {
    let id = text(model, "value")?;
    Some(Choice {
        name: text(model, "displayName").unwrap_or_else(|| id.clone()),
        description: text(model, "description"),
        id,
    })
}

fn text(it: RawJson<'_>, key: &str) -> Option<String> {
    let text = it.get(key).and_then(RawJson::as_str);
    text.map(|text| text.decode().into_owned())
}
