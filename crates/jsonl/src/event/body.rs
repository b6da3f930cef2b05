//! The event that a line becomes.

use crate::event::control::{ControlRequest, ControlResponse};
use crate::event::message::{Assistant, User};
use crate::event::other::{
    AuthStatus, CommandLifecycle, ConversationReset, ToolProgress, ToolUseSummary, TranscriptMirror,
};
use crate::event::result::TurnResult;
use crate::event::stream::{ApiEvent, Delta, StreamEvent};
use crate::event::system::{System, SystemBody};
use crate::raw::RawJson;
use crate::text::Str;

/// One parsed line (PROTOCOL.md, Envelope).
///
/// Fields that are named here are typed; every other field of the line is in [`Event::raw`].
#[derive(Clone, Debug)]
pub struct Event<'a> {
    /// Unique per line; control lines and heartbeats have none.
    pub uuid: Option<Str<'a>>,
    /// The agent's session, which changes in mid-stream after `/clear`.
    pub session_id: Option<Str<'a>>,
    /// The tool use that spawned the sub-agent of this line; none in the main conversation.
    pub parent_tool_use_id: Option<Str<'a>>,
    /// The content, by type.
    pub body: Body<'a>,
    /// The whole line.
    pub raw: RawJson<'a>,
}

/// The content of a line, by its `type` (PROTOCOL.md, Line types).
///
/// Rare and large families are boxed, so that an event stays small.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Body<'a> {
    /// `system`: the status family.
    System(Box<System<'a>>),
    /// `assistant`: one finished block (usually) of an API message.
    Assistant(Box<Assistant<'a>>),
    /// `user`: tool results, prompts that the agent composed, echoes.
    User(Box<User<'a>>),
    /// `result`: the end of a turn.
    Result(Box<TurnResult<'a>>),
    /// `stream_event`: one streaming event of the API.
    Stream(StreamEvent<'a>),
    /// `control_request`: a request to the host.
    ControlRequest(Box<ControlRequest<'a>>),
    /// `control_response`: a response to the host.
    ControlResponse(Box<ControlResponse<'a>>),
    /// `control_cancel_request`: the agent withdraws one of its requests.
    ControlCancelRequest {
        /// The withdrawn request.
        request_id: Option<Str<'a>>,
    },
    /// `keep_alive`: a heartbeat.
    KeepAlive,
    /// `tool_progress`: a tool is still running.
    ToolProgress(Box<ToolProgress<'a>>),
    /// `tool_use_summary`: a summary of the tool calls before it.
    ToolUseSummary(Box<ToolUseSummary<'a>>),
    /// `rate_limit_event`: the limits of the subscription changed.
    RateLimit {
        /// The `rate_limit_info` object.
        info: Option<RawJson<'a>>,
    },
    /// `auth_status`: output of a login.
    AuthStatus(Box<AuthStatus<'a>>),
    /// `prompt_suggestion`: a suggestion for the next prompt.
    PromptSuggestion {
        /// The suggested prompt.
        suggestion: Option<Str<'a>>,
    },
    /// `conversation_reset`: the conversation was replaced.
    ConversationReset(Box<ConversationReset<'a>>),
    /// `active_goal`: the state of a goal.
    ActiveGoal {
        /// The goal, or none.
        value: Option<RawJson<'a>>,
    },
    /// `command_lifecycle`: the progress of a prompt that has a uuid.
    CommandLifecycle(Box<CommandLifecycle<'a>>),
    /// `transcript_mirror`: copies of transcript lines.
    TranscriptMirror(Box<TranscriptMirror<'a>>),
    /// A type that this crate does not know, or no type.
    Unknown {
        /// The `type`, when it is a string.
        kind: Option<Str<'a>>,
    },
}

impl Event<'_> {
    /// Returns `type`, or `type/subtype` where the type has subtypes, for counts and logs.
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

    /// Returns whether this version of the crate knows the type and subtype of the line.
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
