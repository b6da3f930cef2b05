//! What the agent's version offers to a session.

use std::fmt;

use bowline_jsonl::AgentVersion;

/// A part of a session that older agents do not report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AgentFeature {
    /// Background tasks and the progress of sub-agents.
    Tasks,
    /// The text and the thinking of sub-agents in the foreground.
    SubagentText,
    /// The delivery state of each prompt. Without it, a receipt follows the echo of its prompt and the
    /// next result.
    PromptDelivery,
    /// The content of sub-agents that were started by sub-agents.
    NestedSubagents,
}

impl AgentFeature {
    const ALL: [Self; 4] = [
        Self::Tasks,
        Self::SubagentText,
        Self::PromptDelivery,
        Self::NestedSubagents,
    ];

    /// Returns a version that has the feature.
    #[must_use]
    pub const fn added(self) -> AgentVersion {
        match self {
            Self::Tasks => AgentVersion::new(2, 1, 100),
            Self::SubagentText => AgentVersion::new(2, 1, 131),
            Self::PromptDelivery => AgentVersion::new(2, 1, 150),
            Self::NestedSubagents => AgentVersion::new(2, 1, 219),
        }
    }
}

impl fmt::Display for AgentFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tasks => "background tasks",
            Self::SubagentText => "text of sub-agents",
            Self::PromptDelivery => "delivery of each prompt",
            Self::NestedSubagents => "content of nested sub-agents",
        })
    }
}

/// What an agent offers, by its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentCapabilities {
    /// The agent's version.
    pub version: AgentVersion,
}

impl AgentCapabilities {
    /// Returns the capabilities of a version.
    #[must_use]
    pub const fn of(version: AgentVersion) -> Self {
        Self { version }
    }

    /// Returns whether the agent has a feature.
    #[must_use]
    pub fn has(self, feature: AgentFeature) -> bool {
        self.version >= feature.added()
    }

    /// Returns the features that the agent lacks, the first added first.
    pub fn missing(self) -> impl Iterator<Item = AgentFeature> {
        let all = AgentFeature::ALL.into_iter();
        all.filter(move |feature| !self.has(*feature))
    }

    /// Returns the missing features as text, each with a version that has it: `text of sub-agents
    /// (2.1.131), content of nested sub-agents (2.1.219)`. Empty if none is missing.
    #[must_use]
    pub fn describe_missing(self) -> String {
        let features = self.missing();
        let texts = features.map(|feature| format!("{feature} ({})", feature.added()));
        texts.collect::<Vec<_>>().join(", ")
    }

    /// Returns whether the version is older than all that are tested.
    #[must_use]
    pub fn is_untested(self) -> bool {
        self.version < AgentVersion::OLDEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_agents_lack_more_features() {
        let missing = |major, minor, patch| {
            let version = AgentVersion::new(major, minor, patch);
            AgentCapabilities::of(version).missing().count()
        };
        assert_eq!(missing(1, 0, 128), 4);
        assert_eq!(missing(2, 1, 197), 1);
        assert_eq!(missing(2, 1, 330), 0);
    }
}
