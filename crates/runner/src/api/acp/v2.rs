//! Messages of version 2, which is a draft. The ones that are not here have the form of version 1.

mod diff;
mod tool_call;

use agent_client_protocol_schema::v2::{
    AgentCapabilities, AgentMessage, AgentThought, AvailableCommand, AvailableCommandsUpdate,
    ConfigOptionUpdate, ContentBlock, ContentChunk, Cost, Error, ErrorStopReason, IdleStateUpdate,
    Implementation, InitializeResponse, McpCapabilities, McpHttpCapabilities, McpStdioCapabilities,
    Notice, NoticeSeverity, PermissionOption, PermissionOptionKind, PlanEntry, PlanEntryPriority,
    PlanEntryStatus, PlanItems, PlanUpdate, PlanUpdateContent, PromptCapabilities,
    PromptEmbeddedContextCapabilities, PromptImageCapabilities, RequestPermissionRequest,
    RequestPermissionSubject, RequiresActionStateUpdate, RunningStateUpdate, SessionCapabilities,
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionInfoUpdate,
    SessionUpdate, StateUpdate, StopReason, SubagentUpdate, TextContent, ToolCallPermissionSubject,
    UpdateSessionNotification, UsageUpdate, UserMessage,
};
use agent_client_protocol_schema::{ProtocolVersion, v1, v2};
use bowline_reducer::model::{
    AnswerKind, Command, PlanItem, PlanPriority, PlanState, SessionOption,
};

use super::permissions::PermissionRequest;
use super::update::{Progress, SessionUpdate as Told, Speaker, Stop, Text, Update};

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
pub(super) fn notification(told: Told) -> Option<UpdateSessionNotification> {
    let update = match told.update {
        Update::Text(text) => message(text),
        Update::ToolCall(call) => SessionUpdate::ToolCallUpdate(tool_call::update(*call)),
        Update::Plan(plan) => {
            let plan = PlanItems::new(PLAN, plan.iter().map(step).collect());
            SessionUpdate::PlanUpdate(PlanUpdate::new(PlanUpdateContent::Items(plan)))
        }
        Update::Commands(all) => {
            SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands(&all)))
        }
        Update::Options(all) => {
            SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options(&all)))
        }
        Update::Title(title) => {
            SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))
        }
        Update::Usage {
            used,
            size,
            cost_usd,
        } => {
            let update = UsageUpdate::new(used, size);
            SessionUpdate::UsageUpdate(match cost_usd {
                some if some > 0.0 => update.cost(Cost::new(some, "USD")),
                _ => update,
            })
        }
        Update::Notice { is_error, text } => {
            let severity = if is_error {
                NoticeSeverity::Error
            } else {
                NoticeSeverity::Info
            };
            SessionUpdate::Notice(Notice::new(severity, text))
        }
        Update::Child {
            session,
            title,
            progress,
        } => {
            let mut update = SubagentUpdate::new(session).state(state(progress));
            if let Some(title) = title {
                update = update.title(title);
            }
            SessionUpdate::SubagentUpdate(update)
        }
        Update::Progress(progress) => SessionUpdate::StateUpdate(state(progress)),
        Update::Mode(_) => return None,
    };
    Some(UpdateSessionNotification::new(told.session, update))
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
    let options = request.options.into_iter().map(|option| {
        let kind = match option.kind {
            AnswerKind::AllowOnce => PermissionOptionKind::AllowOnce,
            AnswerKind::AllowAlways => PermissionOptionKind::AllowAlways,
            AnswerKind::RejectAlways => PermissionOptionKind::RejectAlways,
            _ => PermissionOptionKind::RejectOnce,
        };
        PermissionOption::new(option.id, option.name, kind)
    });
    let subject =
        RequestPermissionSubject::ToolCall(Box::new(ToolCallPermissionSubject::new(call)));
    let title = title.unwrap_or_default();
    RequestPermissionRequest::new(request.session, title, options.collect()).subject(subject)
}

fn step(item: &PlanItem) -> PlanEntry {
    let priority = match item.priority {
        Some(PlanPriority::High) => PlanEntryPriority::High,
        Some(PlanPriority::Low) => PlanEntryPriority::Low,
        _ => PlanEntryPriority::Medium,
    };
    let status = match item.state {
        PlanState::InProgress => PlanEntryStatus::InProgress,
        PlanState::Completed => PlanEntryStatus::Completed,
        _ => PlanEntryStatus::Pending,
    };
    PlanEntry::new(item.text.clone(), priority, status)
}

/// Writes commands.
pub(super) fn commands(commands: &[Command]) -> Vec<AvailableCommand> {
    let command = |command: &Command| {
        let description = command.description.clone().unwrap_or_default();
        AvailableCommand::Command(v2::Command::new(command.name.clone(), description))
    };
    commands.iter().map(command).collect()
}

/// Writes settings. One without a value is left out.
pub(super) fn options(options: &[SessionOption]) -> Vec<SessionConfigOption> {
    options.iter().filter_map(option).collect()
}

fn option(option: &SessionOption) -> Option<SessionConfigOption> {
    let value = option.value.clone()?;
    let (id, name) = (option.id.clone(), option.name.clone());
    let config = if option.choices.is_empty() {
        SessionConfigOption::boolean(id, name, value.parse().ok()?)
    } else {
        let choices = option.choices.iter().map(|choice| {
            SessionConfigSelectOption::new(choice.id.clone(), choice.name.clone())
                .description(choice.description.clone())
        });
        SessionConfigOption::select(id, name, value, choices.collect::<Vec<_>>())
    };
    let category = option.category.as_deref().map(|category| match category {
        "mode" => SessionConfigOptionCategory::Mode,
        "model" => SessionConfigOptionCategory::Model,
        "model_config" => SessionConfigOptionCategory::ModelConfig,
        "thought_level" => SessionConfigOptionCategory::ThoughtLevel,
        other => SessionConfigOptionCategory::Other(other.to_owned()),
    });
    Some(config.category(category))
}
