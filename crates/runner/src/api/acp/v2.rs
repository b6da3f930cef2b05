//! Messages of version 2, which is a draft. The ones that are not here have the form of version 1.

mod diff;
mod tool_call;

use agent_client_protocol_schema::v2::{
    AgentCapabilities, AgentMessage, AgentThought, AvailableCommand, AvailableCommandsUpdate,
    ContentBlock, ContentChunk, Error, ErrorStopReason, IdleStateUpdate, Implementation,
    InitializeResponse, McpCapabilities, McpHttpCapabilities, McpStdioCapabilities, PlanItems,
    PlanUpdate, PlanUpdateContent, PromptCapabilities, PromptEmbeddedContextCapabilities,
    PromptImageCapabilities, RequestPermissionRequest, RequestPermissionSubject,
    RequiresActionStateUpdate, RunningStateUpdate, SessionCapabilities, SessionUpdate, StateUpdate,
    StopReason, TextContent, ToolCallPermissionSubject, UpdateSessionNotification, UserMessage,
};
use agent_client_protocol_schema::{ProtocolVersion, v1, v2};
use bowline_reducer::model::Command;

use super::permissions::PermissionRequest;
use super::shared::shared_messages;
use super::update::{Progress, SessionUpdate as NeutralUpdate, Speaker, Stop, Text, Update};

shared_messages!(v2);
pub(super) use self::shared::options;

/// The id of a session's only plan.
const PLAN: &str = "plan";

/// Writes the answer to `initialize`. There are no MCP servers over SSE.
pub(super) fn initialized(mcp: &v1::McpCapabilities) -> InitializeResponse {
    let prompt = PromptCapabilities::new()
        .image(PromptImageCapabilities::new())
        .embedded_context(PromptEmbeddedContextCapabilities::new());
    let mcp = McpCapabilities::new()
        .stdio(McpStdioCapabilities::new())
        .http(mcp.http.then(McpHttpCapabilities::new));
    let session = SessionCapabilities::new().prompt(prompt).mcp(mcp);
    let agent = Implementation::new("bowline", env!("CARGO_PKG_VERSION"));
    InitializeResponse::new(ProtocolVersion::V2, agent.title("Bowline".to_owned()))
        .capabilities(AgentCapabilities::new().session(session))
}

/// Reads an MCP server, whose members may be left out where they are empty.
///
/// # Errors
///
/// It is of an unknown kind.
pub(super) fn mcp_server(server: v2::McpServer) -> Result<v1::McpServer, v1::Error> {
    match server {
        v2::McpServer::Stdio(it) => {
            let env = it.env.into_iter();
            let env = env.map(|it| v1::EnvVariable::new(it.name, it.value));
            let server = v1::McpServerStdio::new(it.name, it.command.into_inner());
            let server = server.args(it.args).env(env.collect());
            Ok(v1::McpServer::Stdio(server))
        }
        v2::McpServer::Http(it) => {
            let headers = it.headers.into_iter();
            let headers = headers.map(|it| v1::HttpHeader::new(it.name, it.value));
            let server = v1::McpServerHttp::new(it.name, it.url);
            Ok(v1::McpServer::Http(server.headers(headers.collect())))
        }
        _ => {
            let why = "an MCP server has an unknown type; use stdio or http";
            Err(v1::Error::invalid_params().data(why))
        }
    }
}

/// Writes an update; `None` if the version has none for it.
pub(super) fn notification(neutral: NeutralUpdate) -> Option<UpdateSessionNotification> {
    let update = match neutral.update {
        Update::Text(text) => message(text),
        Update::ToolCall(call) => SessionUpdate::ToolCallUpdate(tool_call::update(*call)),
        Update::Plan(plan) => {
            let plan = PlanItems::new(PLAN, plan.iter().map(shared::step).collect());
            SessionUpdate::PlanUpdate(PlanUpdate::new(PlanUpdateContent::Items(plan)))
        }
        Update::Commands(all) => {
            SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands(&all)))
        }
        Update::Progress(progress) => SessionUpdate::StateUpdate(state(progress)),
        other => shared::update(other, state)?,
    };
    Some(UpdateSessionNotification::new(neutral.session, update))
}

fn message(text: Text) -> SessionUpdate {
    let Text {
        speaker,
        message,
        text,
        is_whole,
    } = text;
    if !is_whole {
        let chunk = ContentChunk::new(block(text), message);
        return match speaker {
            Speaker::User => SessionUpdate::UserMessageChunk(chunk),
            Speaker::Agent => SessionUpdate::AgentMessageChunk(chunk),
            Speaker::Thought => SessionUpdate::AgentThoughtChunk(chunk),
        };
    }
    let content: Vec<_> = Some(text)
        .filter(|it| !it.is_empty())
        .map(block)
        .into_iter()
        .collect();
    match speaker {
        Speaker::User => SessionUpdate::UserMessage(UserMessage::new(message).content(content)),
        Speaker::Agent => SessionUpdate::AgentMessage(AgentMessage::new(message).content(content)),
        Speaker::Thought => {
            SessionUpdate::AgentThought(AgentThought::new(message).content(content))
        }
    }
}

fn block(text: String) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

fn state(progress: Progress) -> StateUpdate {
    match progress {
        Progress::Running => StateUpdate::Running(RunningStateUpdate::new()),
        Progress::RequiresAction => StateUpdate::RequiresAction(RequiresActionStateUpdate::new()),
        Progress::Idle(stop) => {
            StateUpdate::Idle(IdleStateUpdate::new().stop_reason(stop.map(stop_reason)))
        }
    }
}

fn stop_reason(stop: Stop) -> StopReason {
    match stop {
        Stop::EndTurn => StopReason::EndTurn,
        Stop::MaxTokens => StopReason::MaxTokens,
        Stop::MaxTurnRequests => StopReason::MaxTurnRequests,
        Stop::Refusal => StopReason::Refusal,
        Stop::Cancelled => StopReason::Cancelled,
        Stop::Failed(why) => {
            let code = v2::ErrorCode::InternalError;
            let error = (!why.is_empty()).then(|| Error::new(code.into(), why));
            StopReason::Error(ErrorStopReason::new().error(error))
        }
    }
}

/// Writes a permission request.
pub(super) fn permission(request: PermissionRequest) -> RequestPermissionRequest {
    let call = tool_call::update(request.call);
    let title = request.title.or_else(|| call.title.clone().take());
    let subject =
        RequestPermissionSubject::ToolCall(Box::new(ToolCallPermissionSubject::new(call)));
    let title = title.unwrap_or_default();
    let options = shared::answers(request.options);
    RequestPermissionRequest::new(request.session, title, options).subject(subject)
}

/// Writes commands.
pub(super) fn commands(commands: &[Command]) -> Vec<AvailableCommand> {
    let command = |command: &Command| {
        let description = command.description.clone().unwrap_or_default();
        AvailableCommand::Command(v2::Command::new(command.name.clone(), description))
    };
    commands.iter().map(command).collect()
}
