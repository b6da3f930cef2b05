//! Starting an agent by its name, and errors of the conversations that this daemon drives.

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::http::StatusCode;
use bowline_lifecycle::control::SESSION_POLICY;
use bowline_lifecycle::{
    BudgetRecord, DialectName, DialogueError, KnownAgent, LoginShell, Policy, PolicyError, Prompt,
    StartError, error_chain,
};
use bowline_transport::SessionId;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::take_over::{TAKE_OVER, TakeOverRequest};
use crate::api::mcp;
use crate::api::problem::Problem;
use crate::conversations::{ConversationError, StartConversation};
use crate::shim::{SessionSpec, SpawnFault, SpecEnvironment};

/// The agent of a request that names none.
const DEFAULT_AGENT: &str = "claude";

/// The members of a request that starts a process. What a shim reads is not refused for unknown ones.
const PROCESS_MEMBERS: [&str; 15] = [
    "scrollback_lines",
    "label",
    "id",
    "name",
    "kind",
    "program",
    "args",
    "env",
    "cwd",
    "stdio",
    "ring_bytes",
    "journal",
    "labels",
    "exit_kept_ms",
    "hooks",
];

/// What a request to create a session asks for.
pub(super) enum CreateRequest {
    /// A process, given by its program.
    Process(Box<SessionSpec>),
    /// An agent, given by its name, which this daemon drives.
    Agent(Box<StartConversation>),
    /// A session of another runner of the fleet, which is continued here.
    TakeOver(TakeOverRequest),
}

/// An agent to start.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AgentRequest {
    #[serde(default = "SessionId::random")]
    id: SessionId,
    #[serde(default = "default_agent")]
    agent: String,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    prompt_id: Option<String>,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    mode: Option<String>,
    #[serde(default)]
    dialect: Option<String>,
    #[serde(default)]
    agent_args: Vec<String>,
    #[serde(default)]
    allowed_tools: Vec<String>,
    #[serde(default)]
    mcp_servers: Vec<Value>,
    #[serde(default)]
    resume: Option<String>,
    #[serde(default)]
    fork: bool,
    #[serde(default)]
    budget: BudgetRecord,
    #[serde(default)]
    resume_at_reset: Option<String>,
    #[serde(default)]
    policy: Option<String>,
    #[serde(default)]
    env: SpecEnvironment,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

fn default_agent() -> String {
    DEFAULT_AGENT.to_owned()
}

impl CreateRequest {
    /// Returns the id of the session to create.
    pub(super) fn id(&self) -> SessionId {
        match self {
            Self::Process(spec) => spec.id,
            Self::Agent(start) => start.id,
            Self::TakeOver(request) => request.id(),
        }
    }

    /// Reads a request: one with `agent` or `prompt` starts an agent, any other a process.
    pub(super) fn parse(mut body: Map<String, Value>) -> Result<Self, Problem> {
        if body.contains_key(TAKE_OVER) {
            // The key of a repeated request is that of the session.
            body.remove("id");
            let request = serde_json::from_value(Value::Object(body));
            return request.map(Self::TakeOver).map_err(Problem::invalid_body);
        }
        let is_agent = body.contains_key("agent") || body.contains_key("prompt");
        if !is_agent && let Some(name) = body.keys().find(|it| !PROCESS_MEMBERS.contains(&&***it)) {
            return Err(Problem::invalid_body(format!("unknown field `{name}`")));
        }
        if !is_agent {
            complete_process(&mut body);
        }
        let body = Value::Object(body);
        if is_agent {
            let request = serde_json::from_value::<AgentRequest>(body);
            let start = request.map_err(Problem::invalid_body)?.start()?;
            return Ok(Self::Agent(Box::new(start)));
        }
        let mut spec: SessionSpec = serde_json::from_value(body).map_err(Problem::invalid_body)?;
        spec.decisions.clear();
        if crate::conversations::is_driven(&spec.labels) {
            let detail = "the label bowline.driver is the runner's own; omit it";
            return Err(Problem::invalid_body(detail));
        }
        Ok(Self::Process(Box::new(spec)))
    }
}

/// Completes a request that starts a process: one without a program is the user's shell in a terminal.
fn complete_process(body: &mut Map<String, Value>) {
    let is_shell = !body.contains_key("kind") && !body.contains_key("program");
    if is_shell && (body.contains_key("cwd") || body.contains_key("label")) {
        let shell = LoginShell::of_user().shell;
        body.insert("kind".to_owned(), "terminal".into());
        body.insert("program".to_owned(), shell.to_string_lossy().into());
    }
    if let Some(label) = body.remove("label") {
        body.entry("name").or_insert(label);
    }
    if body.get("kind").is_some_and(|it| it == "terminal") && !body.contains_key("stdio") {
        body.insert("stdio".to_owned(), json!({"type": "pty"}));
    }
}

impl AgentRequest {
    fn start(self) -> Result<StartConversation, Problem> {
        let dialect = self.dialect.map(|name| {
            let dialect = name.parse::<DialectName>();
            dialect.map_err(|_| Problem::invalid_body(format!("unknown dialect {name}")))
        });
        if let Some(policy) = &self.policy {
            Policy::parse(policy, SESSION_POLICY).map_err(invalid_policy)?;
        }
        let prompt = self.prompt.map(|text| Prompt {
            uuid: self.prompt_id,
            ..Prompt::text(text)
        });
        let servers: Result<_, _> = self.mcp_servers.iter().map(mcp::read).collect();
        Ok(StartConversation {
            id: self.id,
            dialect: dialect.transpose()?,
            agent_args: self.agent_args,
            cwd: self.cwd,
            env: self.env,
            name: self.name.or(self.label),
            labels: self.labels,
            model: self.model,
            mode: self.mode,
            allowed_tools: self.allowed_tools,
            resume: self.resume,
            fork: self.fork,
            budget: self.budget,
            resume_at_reset: self.resume_at_reset,
            policy: self.policy,
            mcp_servers: servers.map_err(Problem::invalid_body)?,
            prompt,
            ..StartConversation::new(self.agent)
        })
    }
}

fn invalid_policy(error: PolicyError) -> Problem {
    let next = "correct the rule, or leave `policy` out";
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Problem::new(status, "INVALID_POLICY", error, next)
}

/// Returns the problem of an agent that cannot be started; a known one that is not installed is named with its
/// installation.
pub(super) fn start_problem(agent: &str, error: ConversationError) -> Problem {
    let is_missing = matches!(&error, ConversationError::Create(error) if error.fault() == Some(SpawnFault::Program));
    let known = KnownAgent::find(agent.as_ref()).filter(|known| known.name == agent && is_missing);
    let Some(KnownAgent { name, install, .. }) = known else {
        return error.into();
    };
    let next = format!("run `{install}`, or give the path of its program as `agent`");
    let detail = format!("{name} is not installed");
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Problem::new(status, "PROGRAM_NOT_FOUND", detail, next)
}

impl From<ConversationError> for Problem {
    fn from(error: ConversationError) -> Self {
        match error {
            ConversationError::NotFound => Self::session_not_found(),
            ConversationError::Ended => Self::session_ended(),
            ConversationError::ShuttingDown => Self::shutting_down(),
            ConversationError::Link(error) => error.into(),
            ConversationError::Create(error) => error.into(),
            ConversationError::Dialogue(error) => error.into(),
            ConversationError::Start(StartError::Remote(error)) => {
                let next = "check the session with GET; it may have just ended";
                let status = StatusCode::BAD_GATEWAY;
                Self::new(status, "SESSION_LOST", error_chain(&error), next)
            }
            ConversationError::Start(error) => agent_problem(&error_chain(&error)),
            ConversationError::Handshake(error) => agent_problem(&error_chain(&error)),
            ConversationError::IdReused => {
                let next = "use an id of its own for each request";
                Self::new(StatusCode::CONFLICT, "ID_REUSED", error, next)
            }
            ConversationError::Refused(_) => {
                let next = "change the request and send it with another id";
                Self::new(StatusCode::CONFLICT, "PROMPT_REFUSED", error, next)
            }
            ConversationError::NotDriven
            | ConversationError::NoOpening
            | ConversationError::Damaged(_) => {
                let next = "attach to the session with frames, or end it";
                Self::new(StatusCode::CONFLICT, "NOT_DRIVEN", error, next)
            }
            ConversationError::Metadata(error) => Self::internal(error),
        }
    }
}

fn agent_problem(text: &str) -> Problem {
    let (detail, next) = split(text, "check the agent and its arguments");
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    Problem::new(status, "AGENT_REFUSED", detail, next)
}

/// Splits the message of an error into what failed and what to do.
fn split<'a>(text: &'a str, otherwise: &'a str) -> (&'a str, &'a str) {
    text.split_once("; ").unwrap_or((text, otherwise))
}

impl From<DialogueError> for Problem {
    fn from(error: DialogueError) -> Self {
        let (status, code) = match &error {
            DialogueError::Ended => return Self::session_ended(),
            DialogueError::TooLate { .. } => return closed_permission(&error),
            DialogueError::NoSuchRequest { .. } => (StatusCode::NOT_FOUND, "PERMISSION_NOT_FOUND"),
            DialogueError::WrongAnswer { .. } | DialogueError::NotJson { .. } => {
                (StatusCode::UNPROCESSABLE_ENTITY, "WRONG_ANSWER")
            }
            DialogueError::Unsupported { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "UNSUPPORTED"),
            DialogueError::EmptyPrompt => (StatusCode::UNPROCESSABLE_ENTITY, "EMPTY_PROMPT"),
            DialogueError::DuplicateUuid { .. } => (StatusCode::CONFLICT, "ID_REUSED"),
            DialogueError::NotQueued { is_sent: true, .. } => {
                (StatusCode::CONFLICT, "PROMPT_NOT_QUEUED")
            }
            DialogueError::NotQueued { .. } => (StatusCode::NOT_FOUND, "PROMPT_NOT_FOUND"),
            DialogueError::NoAnswer { .. } => (StatusCode::GATEWAY_TIMEOUT, "TIMEOUT"),
            DialogueError::Disconnected(_) => (StatusCode::BAD_GATEWAY, "SESSION_LOST"),
            _ => (StatusCode::CONFLICT, "AGENT_REFUSED"),
        };
        let text = error_chain(&error);
        let (detail, next) = split(&text, "check the session with GET");
        Self::new(status, code, detail, next)
    }
}

/// Names the client that answered first, if it is known.
fn closed_permission(error: &DialogueError) -> Problem {
    let next = "list the permission requests with GET /api/sessions/{id}/permissions";
    Problem::new(StatusCode::CONFLICT, "PERMISSION_CLOSED", error, next)
}

#[cfg(test)]
mod tests {
    use bowline_transport::wire::SessionKind;

    use super::*;

    #[test]
    fn every_member_of_a_spec_is_accepted() {
        let spec = SessionSpec::new(SessionKind::Terminal, "sh");
        let spec = serde_json::to_value(&spec).unwrap();
        for name in spec.as_object().unwrap().keys() {
            assert!(PROCESS_MEMBERS.contains(&name.as_str()), "{name}");
        }
        let spec = serde_json::from_value(spec).unwrap();
        assert!(matches!(
            CreateRequest::parse(spec),
            Ok(CreateRequest::Process(_))
        ));
    }
}
