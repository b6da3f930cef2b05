//! Messages of version 1.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    AvailableCommand, AvailableCommandsUpdate, ContentChunk, CurrentModeUpdate, Diff,
    ErrorStopReason, IdleStateUpdate, IdleStopReason, Plan, RequestPermissionRequest,
    RequiresActionStateUpdate, RunningStateUpdate, SessionMode, SessionModeState,
    SessionNotification, SessionUpdate, StateUpdate, StopReason, ToolCall, ToolCallContent,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use bowline_reducer::model::{Command, Content, SessionOption};

use super::intent::{Failure, FailureKind};
use super::permissions::PermissionRequest;
use super::shared::shared_messages;
use super::tool_call::{CallStatus, CallUpdate, child_of, fenced};
use super::update::{Progress, SessionUpdate as NeutralUpdate, Speaker, Stop, Text, Update};

shared_messages!(v1);
pub(super) use self::shared::options;

/// Writes an update; `None` if the version has none for it.
pub(super) fn notification(neutral: NeutralUpdate) -> Option<SessionNotification> {
    let update = match neutral.update {
        Update::Text(text) => chunk(text),
        Update::ToolCall(call) => tool_call(*call),
        Update::Plan(plan) => {
            SessionUpdate::Plan(Plan::new(plan.iter().map(shared::step).collect()))
        }
        Update::Commands(commands) => {
            let commands = commands.iter().map(command).collect();
            SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands))
        }
        Update::Mode(mode) => SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(mode)),
        other => shared::update(other, state)?,
    };
    Some(SessionNotification::new(neutral.session, update))
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
        .kind(call.kind.map(shared::kind))
        .status(call.status.map(status))
        .content(content.map(|it| it.iter().filter_map(part).collect::<Vec<_>>()))
        .locations(locations.map(|it| it.iter().map(shared::location).collect::<Vec<_>>()))
        .raw_input(call.input)
        .raw_output(call.output.map(serde_json::Value::from));
    ToolCallUpdate::new(call.id, fields).meta(call.parent.as_deref().map(child_of))
}

const fn status(status: CallStatus) -> ToolCallStatus {
    match status {
        CallStatus::Pending => ToolCallStatus::Pending,
        CallStatus::Running => ToolCallStatus::InProgress,
        CallStatus::Completed => ToolCallStatus::Completed,
        // The version has no state for an interrupted call.
        CallStatus::Failed | CallStatus::Cancelled => ToolCallStatus::Failed,
    }
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
    let session: Arc<str> = request.session;
    RequestPermissionRequest::new(session, call, shared::answers(request.options))
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
