//! Versions of the agent.

use std::fmt;

/// A version of the agent, such as 2.1.330.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl AgentVersion {
    /// The oldest version that is tested.
    pub const OLDEST: Self = Self::new(1, 0, 128);

    /// Returns a version of three numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Parses the version at the beginning of a text, such as `2.1.330 (Claude Code)`. A suffix like
    /// `-beta.1` is ignored. Returns `None` if the first word is not a version.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let word = text.split_whitespace().next()?;
        let numbers = word.split(['-', '+']).next()?;
        let mut numbers = numbers.split('.').map(|it| it.parse().ok());
        let version = Self::new(numbers.next()??, numbers.next()??, numbers.next()??);
        numbers.next().is_none().then_some(version)
    }
}

impl fmt::Display for AgentVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_first_word() {
        for (text, wanted) in [
            ("2.1.330 (Claude Code)", Some((2, 1, 330))),
            ("1.0.128", Some((1, 0, 128))),
            ("2.2.0-beta.1 (Claude Code)\n", Some((2, 2, 0))),
            ("claude 2.1.330", None),
            ("2.1", None),
            ("2.1.330.4", None),
            ("2.1.99999999999", None),
            ("", None),
        ] {
            let wanted = wanted.map(|(major, minor, patch)| AgentVersion::new(major, minor, patch));
            assert_eq!(AgentVersion::parse(text), wanted, "{text}");
        }
    }

    #[test]
    fn versions_compare_by_number() {
        let version = |text| AgentVersion::parse(text).unwrap();
        assert!(version("2.1.100") > version("2.1.99"));
        assert!(version("2.0.77") < version("2.1.5"));
        assert_eq!(version("2.1.330").to_string(), "2.1.330");
    }
}
