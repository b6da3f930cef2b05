//! Messages of version 1.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandsUpdate, ConfigOptionUpdate, ContentChunk, Cost,
    CurrentModeUpdate, Diff, ErrorStopReason, IdleStateUpdate, IdleStopReason, Notice,
    NoticeSeverity, PermissionOption, PermissionOptionKind, Plan, PlanEntry, PlanEntryPriority,
    PlanEntryStatus, RequestPermissionRequest, RequiresActionStateUpdate, RunningStateUpdate,
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectOption, SessionInfoUpdate,
    SessionMode, SessionModeState, SessionNotification, SessionUpdate, StateUpdate, StopReason,
    SubagentUpdate, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind, UsageUpdate,
};
use bowline_reducer::model::{
    self, AnswerKind, Command, Content, PlanItem, PlanPriority, PlanState, SessionOption,
};

use super::intent::{Failure, FailureKind};
use super::permissions::PermissionRequest;
use super::tool_call::{CallStatus, CallUpdate, child_of, fenced};
use super::update::{Progress, SessionUpdate as Told, Speaker, Stop, Text, Update};

/// Writes an update; `None` if the version has none for it.
pub(super) fn notification(told: Told) -> Option<SessionNotification> {
    let update = match told.update {
        Update::Text(text) => chunk(text),
        Update::ToolCall(call) => tool_call(*call),
        Update::Plan(plan) => SessionUpdate::Plan(Plan::new(plan.iter().map(step).collect())),
        Update::Commands(commands) => {
            let commands = commands.iter().map(command).collect();
            SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
        }
        Update::Options(all) => {
            SessionUpdate::ConfigOptionUpdate(ConfigOptionUpdate::new(options(&all)))
        }
        Update::Mode(mode) => SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode)),
        Update::Title(title) => {
            SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().title(title))
        }
        Update::Usage {
            used,
            size,
            cost_usd,
        } => {
            let cost = (cost_usd > 0.0).then(|| Cost::new(cost_usd, "USD"));
            SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(cost))
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
        Update::Progress(_) => return None,
    };
    Some(SessionNotification::new(told.session, update))
}

fn chunk(text: Text) -> SessionUpdate {
    let chunk = ContentChunk::new(text.text.into()).message_id(Some(text.message.into()));
    match text.speaker {
        Speaker::User => SessionUpdate::UserMessageChunk(chunk),
        Speaker::Agent => SessionUpdate::AgentMessageChunk(chunk),
        Speaker::Thought => SessionUpdate::AgentThoughtChunk(chunk),
    }
}

fn state(progress: Progress) -> StateUpdate {
    let idle = |reason| StateUpdate::Idle(IdleStateUpdate::new().stop_reason(reason));
    match progress {
        Progress::Running => StateUpdate::Running(RunningStateUpdate::new()),
        Progress::RequiresAction => StateUpdate::RequiresAction(RequiresActionStateUpdate::new()),
        Progress::Idle(stop) => idle(stop.map(|stop| match stop {
            Stop::EndTurn => IdleStopReason::EndTurn,
            Stop::MaxTokens => IdleStopReason::MaxTokens,
            Stop::MaxTurnRequests => IdleStopReason::MaxTurnRequests,
            Stop::Refusal => IdleStopReason::Refusal,
            Stop::Cancelled => IdleStopReason::Cancelled,
            Stop::Failed(_) => IdleStopReason::Error(ErrorStopReason::new()),
        })),
    }
}

/// Returns the result of a prompt whose turn ended like this.
///
/// # Errors
///
/// The turn failed.
pub(super) fn stop_reason(stop: Stop) -> Result<StopReason, Failure> {
    match stop {
        Stop::EndTurn => Ok(StopReason::EndTurn),
        Stop::MaxTokens => Ok(StopReason::MaxTokens),
        Stop::MaxTurnRequests => Ok(StopReason::MaxTurnRequests),
        Stop::Refusal => Ok(StopReason::Refusal),
        Stop::Cancelled => Ok(StopReason::Cancelled),
        Stop::Failed(why) => Err(Failure::new(FailureKind::Failed, why)),
    }
}

fn tool_call(call: CallUpdate) -> SessionUpdate {
    let is_new = call.is_new;
    let update = tool_call_update(call);
    if !is_new {
        return SessionUpdate::ToolCallUpdate(update);
    }
    let ToolCallUpdate {
        tool_call_id,
        fields,
        meta,
        ..
    } = update;
    let call = ToolCall::new(tool_call_id, fields.title.unwrap_or_default())
        .name(fields.name)
        .kind(fields.kind.unwrap_or_default())
        .status(fields.status.unwrap_or_default())
        .content(fields.content.unwrap_or_default())
        .locations(fields.locations.unwrap_or_default())
        .raw_input(fields.raw_input)
        .raw_output(fields.raw_output);
    SessionUpdate::ToolCall(call.meta(meta))
}

fn tool_call_update(call: CallUpdate) -> ToolCallUpdate {
    let content = call.content.as_ref();
    let locations = call.locations.as_ref();
    let fields = ToolCallUpdateFields::new()
        .title(call.title)
        .name(call.name)
        .kind(call.kind.map(kind))
        .status(call.status.map(status))
        .content(content.map(|it| it.iter().filter_map(part).collect::<Vec<_>>()))
        .locations(locations.map(|it| it.iter().map(location).collect::<Vec<_>>()))
        .raw_input(call.input)
        .raw_output(call.output.map(serde_json::Value::from));
    ToolCallUpdate::new(call.id, fields).meta(call.parent.as_deref().map(child_of))
}

const fn status(status: CallStatus) -> ToolCallStatus {
    match status {
        CallStatus::Pending => ToolCallStatus::Pending,
        CallStatus::Running => ToolCallStatus::InProgress,
        CallStatus::Completed => ToolCallStatus::Completed,
        // There is no other word for a call that was interrupted.
        CallStatus::Failed | CallStatus::Cancelled => ToolCallStatus::Failed,
    }
}

const fn kind(kind: model::ToolKind) -> ToolKind {
    match kind {
        model::ToolKind::Read => ToolKind::Read,
        model::ToolKind::Edit => ToolKind::Edit,
        model::ToolKind::Delete => ToolKind::Delete,
        model::ToolKind::Move => ToolKind::Move,
        model::ToolKind::Search => ToolKind::Search,
        model::ToolKind::Execute => ToolKind::Execute,
        model::ToolKind::Think => ToolKind::Think,
        model::ToolKind::Fetch => ToolKind::Fetch,
        model::ToolKind::SwitchMode => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

fn location(location: &model::Location) -> ToolCallLocation {
    let line = location.line.and_then(|line| u32::try_from(line).ok());
    ToolCallLocation::new(&location.path).line(line)
}

fn part(part: &Content) -> Option<ToolCallContent> {
    match part {
        Content::Text { text } => Some(text.as_str().into()),
        Content::Diff {
            path,
            old: None,
            new: None,
            patch: Some(patch),
        } => Some(format!("{path}\n{}", fenced("diff", patch)).into()),
        Content::Diff { path, old, new, .. } => {
            let diff = Diff::new(path, new.clone().unwrap_or_default());
            Some(diff.old_text(old.clone()).into())
        }
        _ => None,
    }
}

/// Writes a permission request.
pub(super) fn permission(request: PermissionRequest) -> RequestPermissionRequest {
    let mut call = tool_call_update(request.call);
    if let Some(title) = request.title {
        call.fields.title = Some(title);
    }
    let options = request.options.into_iter().map(|option| {
        let kind = match option.kind {
            AnswerKind::AllowOnce => PermissionOptionKind::AllowOnce,
            AnswerKind::AllowAlways => PermissionOptionKind::AllowAlways,
            AnswerKind::RejectAlways => PermissionOptionKind::RejectAlways,
            _ => PermissionOptionKind::RejectOnce,
        };
        PermissionOption::new(option.id, option.name, kind)
    });
    let session: Arc<str> = request.session;
    RequestPermissionRequest::new(session, call, options.collect())
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

fn command(command: &Command) -> AvailableCommand {
    let description = command.description.clone().unwrap_or_default();
    AvailableCommand::new(command.name.clone(), description)
}

/// Writes the setting that is the permission mode, for editors that do not use settings.
pub(super) fn modes(mode: &SessionOption) -> Option<SessionModeState> {
    let current = mode.value.clone()?;
    let modes = mode.choices.iter().map(|choice| {
        SessionMode::new(choice.id.clone(), choice.name.clone())
            .description(choice.description.clone())
    });
    Some(SessionModeState::new(current, modes.collect()))
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
