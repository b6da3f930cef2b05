//! What a line is called in counts and logs.

use crate::event::{ApiEvent, Body, Delta, Event, SystemBody};
use crate::text::Str;

impl Event<'_> {
    /// `type`, or `type/subtype` where the type has subtypes.
    #[must_use]
    pub fn name(&self) -> String {
        let sub = |family: &str, subtype: Option<Str<'_>>| {
            format!("{family}/{}", subtype.unwrap_or_default().decode())
        };
        match &self.body {
            Body::System(system) => sub("system", Some(system.subtype)),
            Body::Result(line) => sub("result", line.subtype),
            Body::Stream(stream) => stream_name(&stream.event),
            Body::ControlRequest(line) => sub("control_request", Some(line.subtype())),
            Body::ControlResponse(line) => sub("control_response", line.response.subtype),
            Body::CommandLifecycle(line) => sub("command_lifecycle", line.state),
            Body::Unknown { kind } => {
                kind.map_or_else(|| "(no type)".to_owned(), |it| it.decode().into_owned())
            }
            simple => simple.family().to_owned(),
        }
    }

    /// Whether this version of the crate knows the type and subtype of the line.
    #[must_use]
    pub fn is_known(&self) -> bool {
        match &self.body {
            Body::Unknown { .. } => false,
            Body::System(system) => !matches!(system.body, SystemBody::Other),
            Body::Stream(stream) => !matches!(
                stream.event,
                ApiEvent::Unknown { .. }
                    | ApiEvent::BlockDelta {
                        delta: Delta::Other { .. },
                        ..
                    }
            ),
            _ => true,
        }
    }
}

impl Body<'_> {
    const fn family(&self) -> &'static str {
        match self {
            Self::System(_) => "system",
            Self::Assistant(_) => "assistant",
            Self::User(_) => "user",
            Self::Result(_) => "result",
            Self::Stream(_) => "stream_event",
            Self::ControlRequest(_) => "control_request",
            Self::ControlResponse(_) => "control_response",
            Self::ControlCancelRequest { .. } => "control_cancel_request",
            Self::KeepAlive => "keep_alive",
            Self::ToolProgress(_) => "tool_progress",
            Self::ToolUseSummary(_) => "tool_use_summary",
            Self::RateLimit { .. } => "rate_limit_event",
            Self::AuthStatus(_) => "auth_status",
            Self::PromptSuggestion { .. } => "prompt_suggestion",
            Self::ConversationReset(_) => "conversation_reset",
            Self::ActiveGoal { .. } => "active_goal",
            Self::CommandLifecycle(_) => "command_lifecycle",
            Self::TranscriptMirror(_) => "transcript_mirror",
            Self::Unknown { .. } => "(unknown)",
        }
    }
}

fn stream_name(event: &ApiEvent<'_>) -> String {
    let name = match event {
        ApiEvent::MessageStart(_) => "message_start",
        ApiEvent::BlockStart { .. } => "content_block_start",
        ApiEvent::BlockDelta { .. } => "content_block_delta",
        ApiEvent::BlockStop { .. } => "content_block_stop",
        ApiEvent::MessageDelta(_) => "message_delta",
        ApiEvent::MessageStop => "message_stop",
        ApiEvent::Ping => "ping",
        ApiEvent::Error(_) => "error",
        ApiEvent::Unknown { kind } => return format!("stream_event/{}", kind.unwrap_or_default()),
    };
    format!("stream_event/{name}")
}
