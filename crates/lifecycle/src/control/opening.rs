//! What a session begins with.

use std::path::PathBuf;

use bowline_reducer::dialect::DialectName;
use serde::{Deserialize, Serialize};

use crate::budget::BudgetRecord;
use crate::configuration::DialogueConfiguration;
use crate::conversations::Conversation;
use crate::mcp::McpServer;
use crate::policy_file::parse_policy;

/// What a session began with, as far as its driver needs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionOpening {
    /// The agent's program, or the name of a known agent.
    pub program: String,
    /// The protocol that the agent speaks.
    pub dialect: String,
    /// The working directory, absolute.
    pub cwd: PathBuf,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The permission mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The conversation that is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// Whether it is resumed as a copy.
    #[serde(default)]
    pub fork: bool,
    /// MCP servers beside those of the agent's configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mcp_servers: Vec<McpServer>,
    /// The limits of the session.
    #[serde(default, skip_serializing_if = "BudgetRecord::is_empty")]
    pub budget: BudgetRecord,
    /// Rules over permission requests, in TOML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

/// How the rules of a session are named where they have decided.
pub const SESSION_POLICY: &str = "the session's policy";

impl SessionOpening {
    /// Returns the configuration with which a session is driven.
    #[must_use]
    pub fn configuration(&self) -> DialogueConfiguration {
        let mut configuration = DialogueConfiguration::default();
        let dialect: Option<DialectName> = self.dialect.parse().ok();
        configuration.set_agent(&self.program, dialect);
        configuration.cwd = Some(self.cwd.clone());
        configuration.model.clone_from(&self.model);
        configuration.permission_mode.clone_from(&self.mode);
        configuration.mcp_servers.clone_from(&self.mcp_servers);
        configuration.budget = self.budget.into();
        if let Some(policy) = &self.policy {
            // It was checked at the start. Where a later version cannot read it, a user is asked.
            configuration.policy = parse_policy(policy, SESSION_POLICY).unwrap_or_default();
        }
        if let Some(id) = self.resume.clone() {
            let fork = self.fork;
            configuration.conversation = Conversation::Resume { id, fork };
        }
        configuration
    }
}
