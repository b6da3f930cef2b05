//! What a session begins with.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::budget::BudgetRecord;
use crate::mcp::McpServer;

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
    /// The prompt with which the session continues once a usage limit resets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at_reset: Option<String>,
    /// Rules over permission requests, in TOML.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
}

/// How the rules of a session are named where they have decided.
pub const SESSION_POLICY: &str = "the session's policy";
