//! The built-in scenarios.

use crate::scenario::Scenario;

const BUILTIN: &[(&str, &str)] = &[
    ("demo", include_str!("../scenarios/demo.toml")),
    ("echo", include_str!("../scenarios/echo.toml")),
];

/// Returns the built-in scenario with this name.
///
/// # Panics
/// If a built-in scenario does not parse; a test checks that all do.
#[must_use]
pub fn builtin(name: &str) -> Option<Scenario> {
    let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
    Some(Scenario::parse(text).expect("a test parses every built-in scenario"))
}

/// Returns the names of the built-in scenarios.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_scenario_parses() {
        for name in builtin_names() {
            assert!(builtin(name).is_some(), "{name}");
        }
        assert!(builtin("none-such").is_none());
    }
}
