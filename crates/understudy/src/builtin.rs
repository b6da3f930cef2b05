//! Scenarios that come with the program.

use crate::scenario::Scenario;

const BUILTIN: &[(&str, &str)] = &[
    ("demo", include_str!("../scenarios/demo.toml")),
    ("echo", include_str!("../scenarios/echo.toml")),
];

/// The built-in scenario of that name.
///
/// # Panics
/// If a built-in scenario does not parse, which a test rules out.
#[must_use]
pub fn builtin(name: &str) -> Option<Scenario> {
    let (_, text) = BUILTIN.iter().find(|(known, _)| *known == name)?;
    Some(Scenario::parse(text).expect("a test parses every built-in scenario"))
}

/// Names of the built-in scenarios.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTIN.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_parses() {
        for name in builtin_names() {
            assert!(builtin(name).is_some(), "{name}");
        }
        assert!(builtin("none-such").is_none());
    }
}
