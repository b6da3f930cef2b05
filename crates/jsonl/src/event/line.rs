//! `line = object`, whatever the order of its members.

use crate::error::Fault;
use crate::event::other::{ActiveGoal, Cancel, PromptSuggestion, RateLimit};
use crate::event::stream::StreamLine;
use crate::event::{Body, Event, System, SystemBody};
use crate::grammar::{
    LINE_DEPTH, Parsed, Read as _, Record, byte, object, raw_within, record, string_at,
};
use crate::raw::RawJson;
use crate::text::Str;

/// One line, member by member.
///
/// Nearly every line begins with its `type`, and nearly every other line is a `result`; the guess
/// from the first member is checked against the `type` that the walk meets, so that order never
/// decides what a line is.
pub(crate) fn walk(input: &str) -> Parsed<'_, Event<'_>> {
    let guess = guess(input);
    let (rest, (envelope, event)) = parse_as(guess, input)?;
    let actual = envelope.kind.map_or(Family::Unknown, Family::of);
    if actual == guess {
        return Ok((rest, event));
    }
    parse_as(actual, input).map(|(rest, (_, event))| (rest, event))
}

/// What every line may carry.
#[derive(Clone, Copy, Debug, Default)]
struct Envelope<'a> {
    kind: Option<Str<'a>>,
    uuid: Option<Str<'a>>,
    session_id: Option<Str<'a>>,
    parent_tool_use_id: Option<Str<'a>>,
}

record! {
    /// A line of a type that has no members of its own.
    pub(crate) Bare {}
}

/// Every top-level `type` that has a parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    System,
    Assistant,
    User,
    Result,
    Stream,
    ControlRequest,
    ControlResponse,
    ControlCancelRequest,
    KeepAlive,
    ToolProgress,
    ToolUseSummary,
    RateLimit,
    AuthStatus,
    PromptSuggestion,
    ConversationReset,
    ActiveGoal,
    CommandLifecycle,
    TranscriptMirror,
    Unknown,
}

impl Family {
    fn of(kind: Str<'_>) -> Self {
        match &*kind.decode() {
            "stream_event" => Self::Stream,
            "assistant" => Self::Assistant,
            "user" => Self::User,
            "system" => Self::System,
            "result" => Self::Result,
            "control_request" => Self::ControlRequest,
            "control_response" => Self::ControlResponse,
            "control_cancel_request" => Self::ControlCancelRequest,
            "keep_alive" => Self::KeepAlive,
            "tool_progress" => Self::ToolProgress,
            "tool_use_summary" => Self::ToolUseSummary,
            "rate_limit_event" => Self::RateLimit,
            "auth_status" => Self::AuthStatus,
            "prompt_suggestion" => Self::PromptSuggestion,
            "conversation_reset" => Self::ConversationReset,
            "active_goal" => Self::ActiveGoal,
            "command_lifecycle" => Self::CommandLifecycle,
            "transcript_mirror" => Self::TranscriptMirror,
            _ => Self::Unknown,
        }
    }
}

fn guess(input: &str) -> Family {
    const TYPE: &str = r#"{"type":"#;
    let is_first = input.starts_with(TYPE) && byte(input.as_bytes(), TYPE.len()) == b'"';
    let kind = is_first.then(|| string_at(input, TYPE.len()));
    kind.and_then(Result::ok)
        .map_or(Family::Result, |(_, kind)| Family::of(kind))
}

type Line<'a> = (Envelope<'a>, Event<'a>);

fn parse_as(family: Family, input: &str) -> Parsed<'_, Line<'_>> {
    match family {
        Family::System => system(input),
        Family::Assistant => members(input, |line| Body::Assistant(Box::new(line))),
        Family::User => members(input, |line| Body::User(Box::new(line))),
        Family::Result => members(input, |line| Body::Result(Box::new(line))),
        Family::Stream => members(input, |line: StreamLine<'_>| Body::Stream(line.into())),
        Family::ControlRequest => members(input, |line| Body::ControlRequest(Box::new(line))),
        Family::ControlResponse => members(input, |line| Body::ControlResponse(Box::new(line))),
        Family::ControlCancelRequest => {
            members(input, |line: Cancel<'_>| Body::ControlCancelRequest {
                request_id: line.request_id,
            })
        }
        Family::KeepAlive => members(input, |_: Bare| Body::KeepAlive),
        Family::ToolProgress => members(input, |line| Body::ToolProgress(Box::new(line))),
        Family::ToolUseSummary => members(input, |line| Body::ToolUseSummary(Box::new(line))),
        Family::RateLimit => members(input, |line: RateLimit<'_>| Body::RateLimit {
            info: line.info,
        }),
        Family::AuthStatus => members(input, |line| Body::AuthStatus(Box::new(line))),
        Family::PromptSuggestion => {
            members(input, |line: PromptSuggestion<'_>| Body::PromptSuggestion {
                suggestion: line.suggestion,
            })
        }
        Family::ConversationReset => members(input, |line| Body::ConversationReset(Box::new(line))),
        Family::ActiveGoal => members(input, |line: ActiveGoal<'_>| Body::ActiveGoal {
            value: line.value,
        }),
        Family::CommandLifecycle => members(input, |line| Body::CommandLifecycle(Box::new(line))),
        Family::TranscriptMirror => members(input, |line| Body::TranscriptMirror(Box::new(line))),
        Family::Unknown => unknown(input),
    }
}

fn unknown(input: &str) -> Parsed<'_, Line<'_>> {
    let (rest, (envelope, mut event)) = members(input, |_: Bare| Body::Unknown { kind: None })?;
    event.body = Body::Unknown {
        kind: envelope.kind,
    };
    Ok((rest, (envelope, event)))
}

/// Walks the members of a line: the envelope takes its own, the family the rest.
fn members<'a, R: Record<'a>>(
    input: &'a str,
    body: impl FnOnce(R) -> Body<'a>,
) -> Parsed<'a, Line<'a>> {
    let mut envelope = Envelope::default();
    let mut line = R::default();
    let end = object(input, 0, |key, text, at| match key {
        "type" => envelope.kind.read(text, at),
        "uuid" => envelope.uuid.read(text, at),
        "session_id" => envelope.session_id.read(text, at),
        "parent_tool_use_id" => envelope.parent_tool_use_id.read(text, at),
        _ => line.member(key, text, at),
    })
    .map_err(|stop| Fault::of(stop, input))?;
    // The object ends with a bracket, so its end is a character boundary.
    let (text, rest) = input.split_at_checked(end).unwrap_or((input, ""));
    let event = Event {
        uuid: envelope.uuid,
        session_id: envelope.session_id,
        parent_tool_use_id: envelope.parent_tool_use_id,
        body: body(line),
        raw: RawJson::validated(text),
    };
    Ok((rest, (envelope, event)))
}

/// A `system` line: its `subtype` decides which members are read.
fn system(input: &str) -> Parsed<'_, Line<'_>> {
    const SUBTYPE: &str = r#"{"type":"system","subtype":"#;
    let is_second = input.starts_with(SUBTYPE) && byte(input.as_bytes(), SUBTYPE.len()) == b'"';
    let subtype = if is_second {
        string_at(input, SUBTYPE.len())
            .ok()
            .map(|(_, subtype)| subtype)
    } else {
        let line = raw_within(input, 0, LINE_DEPTH)
            .map_err(|stop| Fault::of(stop, input))?
            .1;
        line.get("subtype").and_then(RawJson::as_str)
    };
    let subtype = subtype.unwrap_or_default();
    macro_rules! by_subtype {
        ($($name:literal => $variant:ident,)*) => {
            match &*subtype.decode() {
                $($name => members(input, |line| {
                    Body::System(Box::new(System { subtype, body: SystemBody::$variant(line) }))
                }),)*
                _ => members(input, |_: Bare| {
                    Body::System(Box::new(System { subtype, body: SystemBody::Other }))
                }),
            }
        };
    }
    by_subtype! {
        "init" => Init,
        "status" => Status,
        "thinking_tokens" => ThinkingTokens,
        "api_retry" => ApiRetry,
        "compact_boundary" => CompactBoundary,
        "session_state_changed" => SessionStateChanged,
        "session_title_changed" => SessionTitleChanged,
        "task_started" => TaskStarted,
        "task_progress" => TaskProgress,
        "task_updated" => TaskUpdated,
        "task_notification" => TaskNotification,
        "background_tasks_changed" => BackgroundTasksChanged,
        "hook_started" => HookStarted,
        "hook_progress" => HookProgress,
        "hook_response" => HookResponse,
        "permission_denied" => PermissionDenied,
        "permission_check_status" => PermissionCheckStatus,
        "informational" => Informational,
        "notification" => Notification,
        "local_command_output" => LocalCommandOutput,
        "commands_changed" => CommandsChanged,
        "model_refusal_fallback" => ModelRefusalFallback,
        "model_refusal_no_fallback" => ModelRefusalNoFallback,
        "plugin_install" => PluginInstall,
        "memory_recall" => MemoryRecall,
        "files_persisted" => FilesPersisted,
        "elicitation_complete" => ElicitationComplete,
        "control_request_progress" => ControlRequestProgress,
        "mirror_error" => MirrorError,
        "session_writes_lost" => SessionWritesLost,
        "worker_shutting_down" => WorkerShuttingDown,
    }
}
