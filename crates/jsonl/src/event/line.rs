//! `line = object`, whatever the order of its members.

use crate::error::{Fault, Stop};
use crate::event::other::{ActiveGoal, Cancel, PromptSuggestion, RateLimit};
use crate::event::stream::StreamLine;
use crate::event::{Body, Event, System, SystemBody};
use crate::grammar::{
    Index, LINE_DEPTH, Next, Parsed, Read as _, Record, any_member, byte, first_member,
    next_member, raw_within, skip, spelt, string_at, usual, uuid_at,
};
use crate::raw::RawJson;
use crate::text::Str;

/// One line, member by member, read into its envelope.
///
/// Nearly every line begins with its `type`, and nearly every other line is a `result`; the guess
/// from the first member is checked against the `type` that the walk meets, so that order never
/// decides what a line is.
#[inline(always)]
pub(crate) fn walk<'a>(input: &'a str, envelope: &mut Envelope<'a>) -> Parsed<'a, ()> {
    let end = line(input, envelope).map_err(|stop| Fault::of(stop, input))?;
    // The object ends with a bracket, so its end is a character boundary.
    let (text, rest) = input.split_at_checked(end).unwrap_or((input, ""));
    envelope.event.raw = RawJson::validated(text);
    Ok((rest, ()))
}

fn line<'a>(text: &'a str, envelope: &mut Envelope<'a>) -> Index {
    let start = first_member(text.as_bytes(), 0)?;
    let (guess, rest) = guess(text, start, envelope)?;
    let end = parse_as(guess, text, rest, envelope)?;
    let actual = envelope.kind.map_or(Family::Unknown, Family::of);
    if actual == guess {
        return Ok(end);
    }
    *envelope = Envelope::default();
    parse_as(actual, text, first_member(text.as_bytes(), 0)?, envelope)
}

/// A line while it is read: its `type`, and the event that it becomes in its place.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    kind: Option<Str<'a>>,
    pub(crate) event: Event<'a>,
}

impl Default for Envelope<'_> {
    #[inline]
    fn default() -> Self {
        Self {
            kind: None,
            event: Event {
                uuid: None,
                session_id: None,
                parent_tool_use_id: None,
                body: Body::KeepAlive,
                raw: RawJson::validated("{}"),
            },
        }
    }
}

impl<'a> Record<'a> for Envelope<'a> {
    #[inline(never)]
    fn usual(&mut self, text: &'a str, at: usize) -> Result<Next, Stop> {
        usual!(text, at;
            r#""parent_tool_use_id":null,"session_id":"# => |value| {
                self.event.parent_tool_use_id = None;
                id(&mut self.event.session_id, text, value)
            },
            r#""session_id":"# => |value| id(&mut self.event.session_id, text, value),
            r#""parent_tool_use_id":"# => |value| self.event.parent_tool_use_id.read(text, value),
            r#""session_id":"# => |value| id(&mut self.event.session_id, text, value),
            r#""uuid":"# => |value| id(&mut self.event.uuid, text, value),
            r#""session_id":"# => |value| id(&mut self.event.session_id, text, value),
            r#""type":"# => |value| self.kind.read(text, value),
        )
    }

    fn member(&mut self, key: &str, text: &'a str, at: usize) -> Index {
        match key {
            "type" => self.kind.read(text, at),
            "uuid" => self.event.uuid.read(text, at),
            "session_id" => self.event.session_id.read(text, at),
            "parent_tool_use_id" => self.event.parent_tool_use_id.read(text, at),
            _ => skip(text.as_bytes(), at),
        }
    }
}

/// Reads what is a uuid as a rule.
#[inline]
fn id<'a>(place: &mut Option<Str<'a>>, text: &'a str, at: usize) -> Index {
    let Some((end, value)) = uuid_at(text, at) else {
        return place.read(text, at);
    };
    *place = Some(value);
    Ok(end)
}

/// A line of a type that has no members of its own.
impl<'a> Record<'a> for () {
    fn usual(&mut self, _text: &'a str, at: usize) -> Result<Next, Stop> {
        Ok(Next::More(at))
    }

    fn member(&mut self, _key: &str, text: &'a str, at: usize) -> Index {
        skip(text.as_bytes(), at)
    }
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

/// The family that the first member tells, and what stands behind that member.
fn guess<'a>(
    text: &'a str,
    start: Next,
    envelope: &mut Envelope<'a>,
) -> Result<(Family, Next), Stop> {
    let bytes = text.as_bytes();
    if let Next::More(at) = start
        && let Some((family, kind, next)) = usual_kind(bytes, at)
    {
        envelope.kind = Some(Str::plain(kind));
        return Ok((family, Next::More(next)));
    }
    if let Next::More(at) = start
        && let Some(value) = spelt(bytes, at, r#""type":"#)
        && byte(bytes, value) == b'"'
    {
        let (behind, kind) = string_at(text, value)?;
        envelope.kind = Some(kind);
        return Ok((Family::of(kind), next_member(bytes, behind)?));
    }
    Ok((Family::Result, start))
}

/// The family of most lines that are no stream events, when their `type` is spelt as usual: with its
/// name, and the index of the next member.
#[inline(always)]
fn usual_kind(bytes: &[u8], at: usize) -> Option<(Family, &'static str, usize)> {
    let rest = bytes.get(at..)?;
    let is = |spelling: &str| rest.starts_with(spelling.as_bytes());
    let (family, kind) = if is(r#""type":"assistant",""#) {
        (Family::Assistant, "assistant")
    } else if is(r#""type":"user",""#) {
        (Family::User, "user")
    } else if is(r#""type":"system",""#) {
        (Family::System, "system")
    } else {
        return None;
    };
    Some((family, kind, at + r#""type":"","#.len() + kind.len()))
}

/// Reads the members from `next` on as a line of `family`.
fn parse_as<'a>(family: Family, text: &'a str, next: Next, envelope: &mut Envelope<'a>) -> Index {
    macro_rules! line {
        ($line:ty, $body:expr) => {
            members::<$line>(text, next, envelope, $body)
        };
    }
    match family {
        Family::System => system(text, next, envelope),
        Family::Assistant => line!(_, |line| Body::Assistant(Box::new(line))),
        Family::User => line!(_, |line| Body::User(Box::new(line))),
        Family::Result => line!(_, |line| Body::Result(Box::new(line))),
        Family::Stream => line!(StreamLine<'_>, |line| Body::Stream(line.into())),
        Family::ControlRequest => line!(_, |line| Body::ControlRequest(Box::new(line))),
        Family::ControlResponse => line!(_, |line| Body::ControlResponse(Box::new(line))),
        Family::ControlCancelRequest => line!(Cancel<'_>, |line| Body::ControlCancelRequest {
            request_id: line.request_id,
        }),
        Family::KeepAlive => line!((), |()| Body::KeepAlive),
        Family::ToolProgress => line!(_, |line| Body::ToolProgress(Box::new(line))),
        Family::ToolUseSummary => line!(_, |line| Body::ToolUseSummary(Box::new(line))),
        Family::RateLimit => line!(RateLimit<'_>, |line| Body::RateLimit { info: line.info }),
        Family::AuthStatus => line!(_, |line| Body::AuthStatus(Box::new(line))),
        Family::PromptSuggestion => line!(PromptSuggestion<'_>, |line| Body::PromptSuggestion {
            suggestion: line.suggestion,
        }),
        Family::ConversationReset => line!(_, |line| Body::ConversationReset(Box::new(line))),
        Family::ActiveGoal => line!(ActiveGoal<'_>, |line| Body::ActiveGoal {
            value: line.value
        }),
        Family::CommandLifecycle => line!(_, |line| Body::CommandLifecycle(Box::new(line))),
        Family::TranscriptMirror => line!(_, |line| Body::TranscriptMirror(Box::new(line))),
        Family::Unknown => {
            let end = line!((), |()| Body::KeepAlive)?;
            let kind = envelope.kind;
            envelope.event.body = Body::Unknown { kind };
            Ok(end)
        }
    }
}

/// Walks the members of a line from `next` on: the envelope takes its own, the family the rest.
fn members<'a, R: Record<'a>>(
    text: &'a str,
    mut next: Next,
    envelope: &mut Envelope<'a>,
    body: impl FnOnce(R) -> Body<'a>,
) -> Index {
    let mut line = R::default();
    loop {
        let start = match next {
            Next::More(at) => at,
            Next::End(end) => {
                envelope.event.body = body(line);
                return Ok(end);
            }
        };
        next = line.usual(text, start)?;
        if let Next::More(at) = next {
            next = envelope.usual(text, at)?;
        }
        if let Next::More(at) = next
            && at == start
        {
            let behind = any_member(text, at, |key, text, at| match key {
                "type" | "uuid" | "session_id" | "parent_tool_use_id" => {
                    envelope.member(key, text, at)
                }
                _ => line.member(key, text, at),
            })?;
            next = next_member(text.as_bytes(), behind)?;
        }
    }
}

/// A `system` line: its `subtype` decides which members are read.
fn system<'a>(text: &'a str, next: Next, envelope: &mut Envelope<'a>) -> Index {
    let (subtype, next) = subtype(text, next)?;
    macro_rules! by_subtype {
        ($($name:literal => $variant:ident,)*) => {
            match &*subtype.decode() {
                $($name => members(text, next, envelope, |line| {
                    Body::System(Box::new(System { subtype, body: SystemBody::$variant(line) }))
                }),)*
                _ => members(text, next, envelope, |()| {
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

/// The `subtype` of a line, and what of its members is still to be read.
fn subtype(text: &str, next: Next) -> Result<(Str<'_>, Next), Stop> {
    let bytes = text.as_bytes();
    if let Next::More(at) = next
        && let Some(value) = spelt(bytes, at, r#""subtype":"#)
        && byte(bytes, value) == b'"'
    {
        let (behind, subtype) = string_at(text, value)?;
        return Ok((subtype, next_member(bytes, behind)?));
    }
    let (_, line) = raw_within(text, 0, LINE_DEPTH)?;
    let subtype = line.get("subtype").and_then(RawJson::as_str);
    Ok((subtype.unwrap_or_default(), next))
}
