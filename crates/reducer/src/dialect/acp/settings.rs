//! Settings of a session, which agents state in up to three ways.

use bowline_jsonl::acp::{ConfigOption, Mode, Opened};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::acp::update::owned;
use crate::model::{Choice, SessionOption};
use crate::transcript::Fold;

/// The model where the agent does not name it.
const UNNAMED: &str = "default";

/// The settings.
#[derive(Clone, Debug, Default)]
pub(super) struct Settings {
    /// Modes and models that are no options.
    others: Vec<SessionOption>,
    model: Option<String>,
}

impl Settings {
    /// The model in use.
    pub(super) fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(UNNAMED)
    }

    /// The settings that a session opens with.
    pub(super) fn open(&mut self, opened: &Opened<'_>, fold: &mut Fold<'_>) {
        self.others.clear();
        if let Some(current) = opened.modes.current_mode_id {
            let modes = opened.modes.available().map(|mode| choice(mode.id, &mode));
            self.others
                .push(other("mode", "Mode", Some(current), modes));
        }
        if let Some(models) = opened.models {
            let current = models.get("currentModelId").and_then(RawJson::as_str);
            let list = models.get("availableModels").into_iter();
            let list = list.flat_map(Mode::list);
            let list = list.map(|model| choice(model.model_id.or(model.id), &model));
            self.others.push(other("model", "Model", current, list));
        }
        self.replace(opened.config_options, fold);
    }

    /// Replaces the options; modes and models that are no options stay.
    pub(super) fn replace(&mut self, options: Option<RawJson<'_>>, fold: &mut Fold<'_>) {
        let options = options.into_iter().flat_map(ConfigOption::list);
        let mut options: Vec<_> = options.map(|option| option_of(&option)).collect();
        let is_missing = |other: &&SessionOption| options.iter().all(|it| it.id != other.id);
        let others: Vec<_> = self.others.iter().filter(is_missing).cloned().collect();
        options.extend(others);
        let value = |category: &str| {
            let is_it = |it: &&SessionOption| it.category.as_deref() == Some(category);
            options.iter().find(is_it).and_then(|it| it.value.clone())
        };
        if let Some(mode) = value("mode") {
            fold.set_permission_mode(&mode);
        }
        if let Some(model) = value("model") {
            fold.set_model(&model);
            self.model = Some(model);
        }
        fold.set_options(options);
    }

    /// Changes one setting.
    pub(super) fn set(&mut self, id: &str, value: &str, fold: &mut Fold<'_>) {
        for other in self.others.iter_mut().filter(|other| other.id == id) {
            other.value = Some(value.to_owned());
        }
        fold.set_option_value(id, value);
        match id {
            "mode" => fold.set_permission_mode(value),
            "model" => {
                fold.set_model(value);
                self.model = Some(value.to_owned());
            }
            _ => {}
        }
    }
}

fn other(
    id: &str,
    name: &str,
    value: Option<Str<'_>>,
    choices: impl Iterator<Item = Choice>,
) -> SessionOption {
    SessionOption {
        id: id.to_owned(),
        name: name.to_owned(),
        category: Some(id.to_owned()),
        value: value.map(|value| value.decode().into_owned()),
        choices: choices.collect(),
    }
}

fn choice(id: Option<Str<'_>>, mode: &Mode<'_>) -> Choice {
    Choice {
        id: owned(id),
        name: owned(mode.name),
        description: None,
    }
}

fn option_of(option: &ConfigOption<'_>) -> SessionOption {
    let value = option.current_value.map(|value| match value.as_str() {
        Some(text) => text.decode().into_owned(),
        None => value.text().to_owned(),
    });
    let choices = option.choices().map(|choice| Choice {
        id: owned(choice.value),
        name: owned(choice.name),
        description: None,
    });
    SessionOption {
        id: owned(option.id),
        name: owned(option.name),
        category: option.category.map(|it| it.decode().into_owned()),
        value,
        choices: choices.collect(),
    }
}
