//! Modes, models and other options of a session, which agents state in up to three ways.

use bowline_jsonl::acp::{ConfigOption, Mode, Opened, write};
use bowline_jsonl::{RawJson, Str};

/// The settings that the agent has.
#[derive(Debug, Default)]
pub(super) struct Settings {
    options: Vec<Setting>,
    modes: Vec<String>,
    models: Vec<String>,
}

#[derive(Debug)]
struct Setting {
    id: String,
    category: Option<String>,
    is_switch: bool,
    /// The values to choose from.
    choices: Vec<String>,
}

/// A request that changes a setting: its method, and how it is encoded with an id.
pub(super) type Change = (&'static str, Box<dyn FnOnce(&str) -> Vec<u8>>);

impl Settings {
    /// Takes the settings that a session opens with.
    pub(super) fn open(&mut self, opened: &Opened<'_>) {
        let modes = opened.modes.available().filter_map(|mode| mode.id);
        self.modes = modes.map(|id| id.decode().into_owned()).collect();
        let models = opened.models.and_then(|it| it.get("availableModels"));
        let models = models.into_iter().flat_map(Mode::list);
        let models = models.filter_map(|model| model.model_id.or(model.id));
        self.models = models.map(|id| id.decode().into_owned()).collect();
        self.replace(opened.config_options);
    }

    /// Replaces the options.
    pub(super) fn replace(&mut self, options: Option<RawJson<'_>>) {
        if let Some(options) = options {
            let options = ConfigOption::list(options);
            self.options = options.map(|option| Setting::of(&option)).collect();
        }
    }

    /// Returns whether the model can be chosen, but from nothing.
    pub(super) fn lacks_models(&self) -> bool {
        let model = self.find("model");
        self.models.is_empty() && model.is_some_and(|it| !it.is_switch && it.choices.is_empty())
    }

    /// Returns whether there is an option of this id or category.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
            || name == "mode" && !self.modes.is_empty()
            || name == "model" && !self.models.is_empty()
    }

    /// Returns the request that sets an option, found by its id or category, to a value. `None` if there is
    /// no such option, or the value is none of its choices.
    pub(super) fn change(&self, session: &str, name: &str, value: &str) -> Option<Change> {
        let (session, value) = (session.to_owned(), value.to_owned());
        if name == "mode" && self.modes.contains(&value) {
            return Some((
                "session/set_mode",
                Box::new(move |id| write::set_mode(id, &session, &value)),
            ));
        }
        if let Some(setting) = self.find(name) {
            let config = setting.id.clone();
            let method = "session/set_config_option";
            if setting.is_switch {
                let value = value.parse().ok()?;
                return Some((
                    method,
                    Box::new(move |id| write::set_config_switch(id, &session, &config, value)),
                ));
            }
            setting.choices.contains(&value).then_some(())?;
            return Some((
                method,
                Box::new(move |id| write::set_config_option(id, &session, &config, &value)),
            ));
        }
        if name == "model" && self.models.contains(&value) {
            return Some((
                "session/set_model",
                Box::new(move |id| write::set_model(id, &session, &value)),
            ));
        }
        None
    }

    fn find(&self, name: &str) -> Option<&Setting> {
        let mut options = self.options.iter();
        let by_id = options.find(|it| it.id == name);
        let is_of_category = |it: &&Setting| it.category.as_deref() == Some(name);
        by_id.or_else(|| self.options.iter().find(is_of_category))
    }
}

impl Setting {
    fn of(option: &ConfigOption<'_>) -> Self {
        let owned = |text: Str<'_>| text.decode().into_owned();
        Self {
            id: option.id.map(owned).unwrap_or_default(),
            category: option.category.map(owned),
            is_switch: option.kind.is_some_and(|kind| kind == "boolean"),
            choices: option
                .choices()
                .filter_map(|choice| choice.value.map(owned))
                .collect(),
        }
    }
}
