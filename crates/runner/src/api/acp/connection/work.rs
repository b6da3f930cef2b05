//! Carries out the intents of an editor.

use agent_client_protocol_schema::v1::McpCapabilities;
use bowline_lifecycle::{
    Decision, DialectName, DialogueError, HandshakeError, KnownAgent, PermissionAnswer,
};
use tracing::debug;

use crate::api::acp::intent::{
    Answer, Failure, FailureKind, Input, Intent, PromptEnd, StartRequest,
};
use crate::api::mcp;
use crate::app_state::AppState;
use crate::conversations::{Conversation, ConversationError, StartConversation};

/// The client that answers, as the transcript names it.
const EDITOR: &str = "editor";

/// The agent of the sessions that an editor begins.
#[derive(Clone, Debug)]
pub(in crate::api) struct AgentChoice {
    /// The name of a known agent, or the path of a program.
    pub(in crate::api) agent: String,
    /// Its protocol, if it is not that of the known agent.
    pub(in crate::api) dialect: Option<DialectName>,
    /// Its arguments.
    pub(in crate::api) args: Vec<String>,
    /// Whether the editor may speak the draft of version 2.
    pub(in crate::api) has_draft: bool,
}

impl AgentChoice {
    /// Returns the MCP servers to offer beside those on standard input and output. An agent of ACP states
    /// only at its start which it accepts; one that it does not accept is refused by its name.
    pub(super) fn mcp(&self) -> McpCapabilities {
        let (http, sse) = match self.dialect() {
            DialectName::Claude | DialectName::Acp => (true, true),
            DialectName::Codex => (true, false),
            _ => (false, false),
        };
        McpCapabilities::new().http(http).sse(sse)
    }

    fn dialect(&self) -> DialectName {
        let known = KnownAgent::find(self.agent.as_ref());
        let known = known.map_or(DialectName::Claude, KnownAgent::dialect);
        self.dialect.unwrap_or(known)
    }
}

/// Starts a session, and returns its id once the agent has opened it.
pub(super) async fn start(
    app: &AppState,
    agent: &AgentChoice,
    start: StartRequest,
) -> Result<String, Failure> {
    let servers = start.mcp_servers.into_iter().map(mcp::server);
    let servers: Result<_, _> = servers.collect();
    let servers = servers.map_err(|why| Failure::new(FailureKind::Invalid, why));
    let request = StartConversation {
        dialect: agent.dialect,
        agent_args: agent.args.clone(),
        cwd: Some(start.cwd),
        mcp_servers: servers?,
        ..StartConversation::new(agent.agent.as_str())
    };
    let started = app.conversations.start(request).await;
    let (started, _) = started.map_err(|error| failure_of(&error))?;
    Ok(started.id.to_string())
}

/// Submits a prompt, an answer, an interrupt or a setting.
pub(super) async fn submit(conversation: Conversation, intent: Intent) -> Option<Input> {
    match intent {
        Intent::Prompt { attachment, prompt } => {
            let uuid = prompt.uuid.clone().unwrap_or_default();
            let error = conversation.prompt(prompt).await.err()?;
            let end = PromptEnd::Failed(failure_of(&error));
            Some(Input::PromptEnded {
                attachment,
                uuid,
                end,
            })
        }
        Intent::Interrupt { .. } => {
            logged(conversation.interrupt(None, false, None).await);
            None
        }
        Intent::Answer {
            request_id, answer, ..
        } => {
            let by = Some(EDITOR.to_owned());
            logged(
                conversation
                    .answer(None, request_id, choice(answer), by)
                    .await,
            );
            None
        }
        Intent::SetOption {
            ticket,
            option,
            value,
            ..
        } => {
            let set = conversation.set_option(None, option, value).await;
            let result = set.map_err(|error| failure_of(&error));
            Some(Input::OptionSet { ticket, result })
        }
        _ => None,
    }
}

/// The editor sees what came of it in the transcript: another client may have been first.
fn logged(outcome: Result<(), ConversationError>) {
    if let Err(error) = outcome {
        debug!(%error, "an intent of an editor had no effect");
    }
}

fn choice(answer: Answer) -> PermissionAnswer {
    match answer {
        Answer::Option(option) => PermissionAnswer::Option(option),
        Answer::Allow => Decision::allow().into(),
        Answer::Deny => Decision::deny("the user said no").into(),
        Answer::Answers(answers) => PermissionAnswer::Answers(answers),
        Answer::Cancel => PermissionAnswer::Cancel,
    }
}

pub(super) fn failure_of(error: &ConversationError) -> Failure {
    let (kind, remedy) = match error {
        ConversationError::NotFound => (FailureKind::NotFound, ""),
        ConversationError::NotDriven => (
            FailureKind::Invalid,
            "; its host must end first, begin a new session instead",
        ),
        ConversationError::Ended => (FailureKind::Ended, "; start a new one"),
        ConversationError::Handshake(HandshakeError::NotLoggedIn { .. }) => {
            (FailureKind::AuthRequired, "")
        }
        ConversationError::Handshake(HandshakeError::Unsupported { .. }) => {
            (FailureKind::Invalid, "")
        }
        ConversationError::Start(_)
        | ConversationError::Dialogue(
            DialogueError::Unsupported { .. } | DialogueError::WrongAnswer { .. },
        ) => (FailureKind::Invalid, ""),
        _ => (FailureKind::Failed, ""),
    };
    let error = bowline_lifecycle::error_chain(error);
    Failure::new(kind, format!("{error}{remedy}"))
}
