//! The agent's version, and what an older one lacks.

use std::ffi::OsStr;

use crate::core;
use crate::environment::EnvironmentChanges;
use crate::error::Result;
use crate::mirror::mirror;

/// A version of the agent, such as 2.1.330.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Record)]
pub struct AgentVersion {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl From<core::AgentVersion> for AgentVersion {
    fn from(it: core::AgentVersion) -> Self {
        Self {
            major: it.major,
            minor: it.minor,
            patch: it.patch,
        }
    }
}

impl From<AgentVersion> for core::AgentVersion {
    fn from(it: AgentVersion) -> Self {
        Self::new(it.major, it.minor, it.patch)
    }
}

mirror! {
    /// A part of a session that older agents do not report.
    AgentFeature = core::AgentFeature, else NestedSubagents {
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
}

/// What an agent offers, by its version.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct AgentCapabilities {
    /// The agent's version.
    pub version: AgentVersion,
    /// The features that the agent lacks, the first added first.
    pub missing: Vec<AgentFeature>,
    /// The missing features as text, each with a version that has it; empty if none is missing.
    pub missing_text: String,
    /// Whether the version is older than all that are tested.
    pub is_untested: bool,
}

impl From<core::AgentCapabilities> for AgentCapabilities {
    fn from(it: core::AgentCapabilities) -> Self {
        Self {
            version: it.version.into(),
            missing: it.missing().map(Into::into).collect(),
            missing_text: it.describe_missing(),
            is_untested: it.is_untested(),
        }
    }
}

/// An option of the command line that the agent refused.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct UnknownOption {
    /// The option, without its value.
    pub option: String,
    /// A version that has the option, if one is known.
    pub added: Option<AgentVersion>,
    /// What failed and what to do next.
    pub text: String,
}

impl From<core::UnknownOption> for UnknownOption {
    fn from(it: core::UnknownOption) -> Self {
        Self {
            text: it.to_string(),
            option: it.option,
            added: it.added.map(Into::into),
        }
    }
}

/// An agent on this machine.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct InstalledAgent {
    /// The program's path.
    pub path: String,
    /// The first line that the agent prints with `--version`.
    pub version_line: String,
    /// What the agent offers; absent if the line does not begin with a version.
    pub capabilities: Option<AgentCapabilities>,
}

impl From<core::InstalledAgent> for InstalledAgent {
    fn from(it: core::InstalledAgent) -> Self {
        Self {
            path: it.path.to_string_lossy().into_owned(),
            capabilities: it.capabilities().map(Into::into),
            version_line: it.version_line,
        }
    }
}

/// Finds a program as a session would, and asks it for its version.
pub(crate) async fn find(
    program: Option<String>,
    environment: EnvironmentChanges,
) -> Result<InstalledAgent> {
    let default = core::DialogueConfiguration::default().program;
    let program = program.as_deref().map_or(default.as_os_str(), OsStr::new);
    let found = core::InstalledAgent::find(program, &environment.into()).await?;
    Ok(found.into())
}
