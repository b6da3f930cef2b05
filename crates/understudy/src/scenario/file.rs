//! Reads and writes scenario files: TOML or JSON.

use std::fmt;
use std::fs;
use std::path::Path;

use super::Scenario;

/// A scenario could not be read or written.
#[derive(Debug)]
pub struct ScenarioError(String);

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ScenarioError {}

impl Scenario {
    /// Parses a scenario: JSON if the text starts with `{`, else TOML.
    ///
    /// # Errors
    /// If the text is malformed or has an unknown key.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let read = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|error| error.to_string())
        } else {
            toml::from_str(text).map_err(|error| error.to_string())
        };
        read.map_err(|why| ScenarioError(format!("read the scenario: {why}")))
    }

    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// If the file cannot be read or parsed.
    pub fn load(path: &Path) -> Result<Self, ScenarioError> {
        let text = fs::read_to_string(path)
            .map_err(|error| ScenarioError(format!("open {}: {error}", path.display())))?;
        Self::parse(&text)
    }

    /// Writes the scenario to a file, as JSON.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ScenarioError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| ScenarioError(format!("encode the scenario: {error}")))?;
        fs::write(path, text)
            .map_err(|error| ScenarioError(format!("write {}: {error}", path.display())))
    }
}
