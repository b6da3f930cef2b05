//! The user's settings: defaults of options, from a file.

mod file;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;

use crate::failure::Failure;
use crate::stdio::print;
use file::read;
use table::{SETTINGS, Setting};

/// The settings that a file sets; the others have their defaults.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    path: Option<PathBuf>,
    values: Vec<SetValue>,
}

/// A setting with the values of the file, and the line that sets it.
#[derive(Debug, PartialEq, Eq)]
struct SetValue {
    setting: &'static Setting,
    values: Vec<String>,
    line: usize,
}

impl Settings {
    /// Reads the settings of the user. A file that does not exist sets nothing.
    ///
    /// # Errors
    /// If the file cannot be read, or has a setting that does not exist.
    pub(crate) fn load() -> Result<Self, Failure> {
        let Some(path) = path() else {
            return Ok(Self::default());
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                let path = path.display();
                return Err(Failure::usage(format!(
                    "cannot read {path}: {error}; check the file's mode"
                )));
            }
        };
        let values = read(&text);
        let values =
            values.map_err(|reason| Failure::usage(format!("{}:{reason}", path.display())))?;
        Ok(Self {
            path: Some(path),
            values,
        })
    }

    /// Makes the values that are set the defaults of the options.
    pub(crate) fn apply(&self, mut command: Command) -> Command {
        for SetValue {
            setting, values, ..
        } in &self.values
        {
            if setting.commands.is_empty() && !setting.option.is_empty() {
                let values = values.clone();
                command = command.mut_arg(setting.option, |option| option.default_values(values));
            }
            for name in setting.commands {
                command = command.mut_subcommand(name, |command| {
                    let values = values.clone();
                    command.mut_arg(setting.option, |option| option.default_values(values))
                });
            }
        }
        command
    }

    /// Returns the value of a setting, if the file sets it.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        let set = self.values.iter().find(|it| it.setting.key == key);
        set.and_then(|it| it.values.first()).map(String::as_str)
    }

    fn set(&self, setting: &Setting) -> Option<&SetValue> {
        self.values.iter().find(|it| it.setting.key == setting.key)
    }

    /// Formats all settings as a file, each with where its value comes from.
    fn text(&self) -> String {
        let path = self
            .path
            .as_deref()
            .unwrap_or_else(|| Path::new("config.toml"));
        let mut out = format!("# {}\n", path.display());
        let mut section = "";
        for setting in SETTINGS {
            let (of, key) = setting.key.split_once('.').unwrap_or(("", setting.key));
            if of != std::mem::replace(&mut section, of) {
                out.push_str(&format!("\n[{of}]\n"));
            }
            let (value, origin) = match self.set(setting) {
                Some(set) => (
                    setting.literal(&set.values),
                    format!("{}:{}", path.display(), set.line),
                ),
                None => (setting.literal_default(), "default".to_owned()),
            };
            let line = match value {
                Some(value) => format!("{key} = {value}"),
                None => format!("# {key} ="),
            };
            out.push_str(&format!("{line:<36}  # {origin}: {}\n", setting.about));
        }
        out
    }
}

/// Prints all settings with their values.
pub(crate) fn config(settings: &Settings) -> Result<ExitCode, Failure> {
    print(&settings.text())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the path of the file: `bowline/config.toml` in `XDG_CONFIG_HOME`, by default `~/.config`.
fn path() -> Option<PathBuf> {
    let folder = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|it| it.is_absolute())
    };
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")));
    Some(config?.join("bowline/config.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_that_is_printed_can_be_read() {
        let settings = Settings {
            path: Some("/c.toml".into()),
            values: read(
                "agent = \"codex\"\nmodel = \"a\\u001b\\u007f\\\"\\\\é\"\n[serve]\nlisten = [\"127.0.0.1:1\"]",
            )
            .unwrap(),
        };
        let text = settings.text();
        assert!(text.contains("agent = \"codex\""), "{text}");
        assert!(text.contains("# /c.toml:1: "), "{text}");
        let again = Settings {
            path: settings.path.clone(),
            values: read(&text).unwrap(),
        };
        let value = |settings: &Settings, key: &str| {
            let set = settings.values.iter().find(|it| it.setting.key == key);
            set.map(|it| it.values.clone())
        };
        for key in ["agent", "model", "serve.listen"] {
            assert_eq!(value(&again, key), value(&settings, key));
        }
    }

    #[test]
    fn every_setting_is_the_default_of_its_options() {
        for setting in SETTINGS {
            let values = setting.example.iter().map(|it| (*it).to_owned()).collect();
            let settings = Settings {
                path: None,
                values: vec![SetValue {
                    setting,
                    values,
                    line: 1,
                }],
            };
            settings.apply(crate::args::command()).debug_assert();
        }
    }
}
