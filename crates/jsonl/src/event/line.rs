//! A whole line: the envelope, and the record of its type.

use nom::Parser as _;
use nom::branch::alt;
use nom::bytes::complete::tag;
use nom::character::complete::char;
use nom::combinator::{peek, value};
use nom::sequence::terminated;

use crate::event::body::{Body, Event};
use crate::event::other::{ActiveGoal, Cancel, PromptSuggestion, RateLimit};
use crate::event::stream::StreamLine;
use crate::event::system::{System, SystemBody};
use crate::grammar::{
    self, Cursor, Envelope, Known, KnownMembers, Next, Parsed, ParsedAt, Record, first_member,
    line_members, space, string_member,
};
use crate::raw::{RawJson, raw_part};
use crate::text::Str;

/// `line`: parses one line, up to the next one.
#[inline(always)]
pub(crate) fn event<'a>(input: Cursor<'a>) -> Parsed<'a, Event<'a>> {
    let mut draft = Draft::new();
    let (end, raw) = grammar::line(input, |input| draft.object(input))?;
    Ok((end, draft.event(raw)))
}

/// Returns the known members of a line of its type.
pub(crate) fn known_members(line: RawJson<'_>) -> Option<KnownMembers> {
    let mut draft = Draft::new();
    draft.object(Cursor::new(line.text())).ok()?;
    let mut known = (draft.known_members)();
    known.extend(Envelope::known_members());
    if matches!(draft.body, Body::System(_)) {
        known.push(("subtype", Known::Value));
    }
    Some(known)
}

/// A line while it is parsed.
#[derive(Debug)]
struct Draft<'a> {
    envelope: Envelope<'a>,
    body: Body<'a>,
    /// Those of the record of the body.
    known_members: fn() -> KnownMembers,
}

impl<'a> Draft<'a> {
    fn new() -> Self {
        Self {
            envelope: Envelope::default(),
            body: Body::KeepAlive,
            known_members: <()>::known_members,
        }
    }

    #[inline(always)]
    fn event(self, raw: RawJson<'a>) -> Event<'a> {
        Event {
            uuid: self.envelope.uuid,
            session_id: self.envelope.session_id,
            parent_tool_use_id: self.envelope.parent_tool_use_id,
            body: self.body,
            raw,
        }
    }

    /// The object of a line.
    ///
    /// Nearly every line begins with its `type`, and nearly every other line is a `result`. The guess
    /// from the first member is checked against the `type` that was parsed, so that the order of
    /// members never decides about the type of a line.
    #[inline(always)]
    fn object(&mut self, input: Cursor<'a>) -> Parsed<'a, RawJson<'a>> {
        let (first, next) = first_member(input)?;
        let (members, (guess, next)) = self.guess(first, next)?;
        let (mut end, ()) = members.call(|text, at| self.members(guess, text, at, next))?;
        let actual = self.envelope.kind.map_or(Family::Unknown, Family::of);
        if actual != guess {
            *self = Self::new();
            let (first, next) = first_member(input)?;
            (end, ()) = first.call(|text, at| self.members(actual, text, at, next))?;
        }
        Ok((end, RawJson::validated(input.until(end))))
    }

    /// The family that the first member indicates, up to the next member.
    fn guess(&mut self, first: Cursor<'a>, next: Next) -> Parsed<'a, (Family, Next)> {
        if next == Next::Item {
            if let Ok((input, (family, kind))) = common_kind(first) {
                self.envelope.kind = Some(Str::plain(kind));
                return Ok((input, (family, Next::Item)));
            }
            if let (input, Some((kind, next))) = string_member(first, r#""type":"#)? {
                self.envelope.kind = Some(kind);
                return Ok((input, (Family::of(kind), next)));
            }
        }
        Ok((first, (Family::Result, next)))
    }

    /// The members of a line of `family` from `next` on.
    fn members(&mut self, family: Family, text: &'a str, at: usize, next: Next) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        macro_rules! line {
            ($line:ty, $body:expr) => {
                self.record::<$line>(input, next, $body)
            };
            ($body:path) => {
                self.boxed(input, next, $body)
            };
        }
        match family {
            Family::System => self.system(input, next),
            Family::Assistant => line!(Body::Assistant),
            Family::User => line!(Body::User),
            Family::Result => line!(Body::Result),
            Family::Stream => line!(StreamLine<'_>, |line| Body::Stream(line.into())),
            Family::ControlRequest => line!(Body::ControlRequest),
            Family::ControlResponse => line!(Body::ControlResponse),
            Family::ControlCancelRequest => line!(Cancel<'_>, |line| Body::ControlCancelRequest {
                request_id: line.request_id,
            }),
            Family::KeepAlive => line!((), |()| Body::KeepAlive),
            Family::ToolProgress => line!(Body::ToolProgress),
            Family::ToolUseSummary => line!(Body::ToolUseSummary),
            Family::RateLimit => line!(RateLimit<'_>, |line| Body::RateLimit { info: line.info }),
            Family::AuthStatus => line!(Body::AuthStatus),
            Family::PromptSuggestion => {
                line!(PromptSuggestion<'_>, |line| Body::PromptSuggestion {
                    suggestion: line.suggestion,
                })
            }
            Family::ConversationReset => line!(Body::ConversationReset),
            Family::ActiveGoal => line!(ActiveGoal<'_>, |line| Body::ActiveGoal {
                value: line.value
            }),
            Family::CommandLifecycle => line!(Body::CommandLifecycle),
            Family::TranscriptMirror => line!(Body::TranscriptMirror),
            Family::Unknown => {
                let end = line!((), |()| Body::KeepAlive)?;
                self.body = Body::Unknown {
                    kind: self.envelope.kind,
                };
                Ok(end)
            }
        }
    }

    fn record<R: Record<'a>>(
        &mut self,
        input: Cursor<'a>,
        next: Next,
        body: impl FnOnce(R) -> Body<'a>,
    ) -> ParsedAt {
        let mut record = R::default();
        let (end, ()) = line_members(input, next, &mut self.envelope, &mut record)?;
        self.body = body(record);
        self.known_members = R::known_members;
        Ok((end.at(), ()))
    }

    /// [`Draft::record`] for a large one, which is parsed where it stays.
    fn boxed<R: Record<'a>>(
        &mut self,
        input: Cursor<'a>,
        next: Next,
        body: impl FnOnce(Box<R>) -> Body<'a>,
    ) -> ParsedAt {
        let mut record = Box::<R>::default();
        let (end, ()) = line_members(input, next, &mut self.envelope, &mut *record)?;
        self.body = body(record);
        self.known_members = R::known_members;
        Ok((end.at(), ()))
    }

    /// A `system` line: its `subtype` decides which members are parsed.
    fn system(&mut self, input: Cursor<'a>, next: Next) -> ParsedAt {
        let (input, (subtype, next)) = subtype(input, next)?;
        macro_rules! by_subtype {
            ($($name:literal => $variant:ident,)*) => {
                match &*subtype.decode() {
                    $($name => self.record(input, next, |line| {
                        Body::System(Box::new(System { subtype, body: SystemBody::$variant(line) }))
                    }),)*
                    _ => self.record(input, next, |()| {
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
}

/// The `subtype` of a line, up to the member after it when it comes next.
fn subtype<'a>(input: Cursor<'a>, next: Next) -> Parsed<'a, (Str<'a>, Next)> {
    if next == Next::Item
        && let (input, Some((subtype, next))) = string_member(input, r#""subtype":"#)?
    {
        return Ok((input, (subtype, next)));
    }
    let (object, ()) = space(Cursor::new(input.text()))?;
    let (_, line) = raw_part(object)?;
    let subtype = line.get("subtype").and_then(RawJson::as_str);
    Ok((input, (subtype.unwrap_or_default(), next)))
}

/// The `type` of most lines that are not stream events, up to the next member.
#[inline(always)]
fn common_kind(input: Cursor<'_>) -> Parsed<'_, (Family, &'static str)> {
    let kind = alt((
        value(
            (Family::Assistant, "assistant"),
            tag(r#""type":"assistant","#),
        ),
        value((Family::User, "user"), tag(r#""type":"user","#)),
        value((Family::System, "system"), tag(r#""type":"system","#)),
    ));
    terminated(kind, peek(char('"'))).parse(input)
}

/// The top-level types that have a record.
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
