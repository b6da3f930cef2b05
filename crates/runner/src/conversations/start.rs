//! What a conversation is started from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bowline_lifecycle::control::{
    ControlEntry, ControlLine, DAEMON_DRIVER, DRIVER_LABEL, FORK_LABEL, RESUME_LABEL,
    SessionOpening,
};
use bowline_lifecycle::{
    BudgetRecord, Conversation, DialectName, DialogueConfiguration, Intent, McpServer, Prompt,
};
use bowline_transport::SessionId;
use bowline_transport::wire::SessionKind;
use uuid::Uuid;

use super::error::ConversationError;
use crate::session::Decision;
use crate::shim::{SessionSpec, SpecEnvironment};

/// What a conversation is started from.
#[derive(Clone, Debug)]
pub(crate) struct StartConversation {
    /// Its id; random by default.
    pub(crate) id: SessionId,
    /// The name of a known agent, or the path of a program.
    pub(crate) agent: String,
    /// The protocol that the agent speaks; by default that of the known agent, else Claude Code's.
    pub(crate) dialect: Option<DialectName>,
    /// Arguments after those that the protocol and the other fields lead to.
    pub(crate) agent_args: Vec<String>,
    /// The working directory; that of the daemon by default.
    pub(crate) cwd: Option<PathBuf>,
    /// The agent's environment.
    pub(crate) env: SpecEnvironment,
    /// The display name.
    pub(crate) name: Option<String>,
    /// Labels to find the session by.
    pub(crate) labels: BTreeMap<String, String>,
    /// The model; the agent's default otherwise.
    pub(crate) model: Option<String>,
    /// The permission mode; the agent's default otherwise.
    pub(crate) mode: Option<String>,
    /// Tools that need no permission.
    pub(crate) allowed_tools: Vec<String>,
    /// The agent's conversation to resume.
    pub(crate) resume: Option<String>,
    /// Whether it is resumed as a copy.
    pub(crate) fork: bool,
    /// MCP servers beside those of the agent's configuration.
    pub(crate) mcp_servers: Vec<McpServer>,
    /// The limits of the session.
    pub(crate) budget: BudgetRecord,
    /// The prompt with which the session continues once a usage limit resets.
    pub(crate) resume_at_reset: Option<String>,
    /// Rules over permission requests, in TOML, which was parsed.
    pub(crate) policy: Option<String>,
    /// The first prompt.
    pub(crate) prompt: Option<Prompt>,
}

impl StartConversation {
    /// Returns a start of an agent with defaults.
    pub(crate) fn new(agent: impl Into<String>) -> Self {
        Self {
            id: SessionId::random(),
            agent: agent.into(),
            dialect: None,
            agent_args: Vec::new(),
            cwd: None,
            env: SpecEnvironment::default(),
            name: None,
            labels: BTreeMap::new(),
            model: None,
            mode: None,
            allowed_tools: Vec::new(),
            resume: None,
            fork: false,
            mcp_servers: Vec::new(),
            budget: BudgetRecord::default(),
            resume_at_reset: None,
            policy: None,
            prompt: None,
        }
    }

    /// Returns the session to create. Its control stream begins with what its driver needs to know, and the
    /// first prompt.
    pub(super) fn spec(self) -> Result<SessionSpec, ConversationError> {
        let daemons = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
        let cwd = match self.cwd {
            Some(cwd) if cwd.is_absolute() => cwd,
            Some(cwd) => daemons().join(cwd),
            None => daemons(),
        };
        let mut configuration = DialogueConfiguration {
            // The shim keeps the streams.
            kept_output: 0,
            ..DialogueConfiguration::default()
        };
        configuration.set_agent(&self.agent, self.dialect);
        configuration.cwd = Some(cwd.clone());
        configuration.args = self.agent_args.iter().map(Into::into).collect();
        configuration.model.clone_from(&self.model);
        configuration.permission_mode.clone_from(&self.mode);
        configuration.allowed_tools = self.allowed_tools;
        configuration.mcp_servers.clone_from(&self.mcp_servers);
        if let Some(id) = self.resume.clone() {
            let fork = self.fork;
            configuration.conversation = Conversation::Resume { id, fork };
        }
        configuration.budget = self.budget.into();
        let process = configuration.terminal()?;
        let text = |it: &std::ffi::OsString| it.to_string_lossy().into_owned();
        let dialect = configuration.dialect.to_string();
        let mut labels = self.labels;
        labels.insert(DRIVER_LABEL.to_owned(), DAEMON_DRIVER.to_owned());
        labels.insert(DialectName::LABEL.to_owned(), dialect.clone());
        labels.retain(|name, _| ![RESUME_LABEL, FORK_LABEL].contains(&&**name));
        if let Some(id) = &self.resume {
            labels.insert(RESUME_LABEL.to_owned(), id.clone());
            if self.fork {
                labels.insert(FORK_LABEL.to_owned(), "true".to_owned());
            }
        }
        let opening = ControlEntry::Open(SessionOpening {
            program: self.agent,
            dialect,
            cwd: cwd.clone(),
            model: self.model,
            mode: self.mode,
            resume: self.resume,
            fork: self.fork,
            mcp_servers: self.mcp_servers,
            budget: self.budget,
            resume_at_reset: self.resume_at_reset,
            policy: self.policy,
        });
        let prompt = self.prompt.map(|mut prompt| {
            prompt
                .uuid
                .get_or_insert_with(|| Uuid::new_v4().to_string());
            prompt
        });
        let prompt = prompt.map(|it| {
            let id = it.uuid.clone().unwrap_or_default();
            (id, ControlEntry::Intent(Intent::Prompt(it)))
        });
        let decisions = [("open".to_owned(), opening)].into_iter().chain(prompt);
        Ok(SessionSpec {
            id: self.id,
            name: self.name,
            args: process.args.iter().map(text).collect(),
            env: self.env,
            cwd: Some(cwd),
            labels,
            decisions: decisions.filter_map(control_line).collect(),
            ..SessionSpec::new(SessionKind::Dialogue, text(&process.program))
        })
    }
}

fn control_line((id, entry): (String, ControlEntry)) -> Option<Decision> {
    let line = ControlLine {
        id: id.clone(),
        client: None,
        entry,
    };
    let line = line.encode()?;
    Some(Decision { id, line })
}
