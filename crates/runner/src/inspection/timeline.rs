//! What lasts in a session, side by side: turns, model calls, tools, permission requests, and the context.

use bowline_reducer::{
    CallState, Outcome, Permission, PermissionId, PermissionState, ToolCall, Transcript,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::usage::CallTokens;

/// Maximum number of spans of a kind. Of more, the longest are listed.
const MAX_SPANS: usize = 5_000;

/// Maximum number of points of the context.
const MAX_POINTS: usize = 1_000;

/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 120;

/// A part of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Span {
    /// Its beginning, in milliseconds since the Unix epoch; `null` if unknown.
    pub(super) from_ms: Option<u64>,
    /// Its end; `null` if unknown, or if it is open.
    pub(super) to_ms: Option<u64>,
    /// Offsets in the output.
    pub(super) bytes: [u64; 2],
}

impl Span {
    fn length(&self) -> u64 {
        match (self.from_ms, self.to_ms) {
            (Some(from), Some(to)) => to.saturating_sub(from),
            // An open one is not left out.
            (Some(_), None) => u64::MAX,
            _ => self.bytes[1].saturating_sub(self.bytes[0]),
        }
    }
}

/// A turn.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct TurnSpan {
    #[serde(flatten)]
    pub(super) span: Span,
    /// The id of the turn, as entries have it.
    pub(super) turn: String,
    /// The number of its first entry.
    pub(super) entry: u32,
    /// `completed`, `cancelled`, `failed` or `suspended`; `null` while it runs.
    #[schema(value_type = Option<String>)]
    pub(super) outcome: Option<Outcome>,
    /// Its cost in US dollars, if the agent reports it.
    pub(super) cost_usd: Option<f64>,
}

/// A call of a model, from the line that it answers on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ModelCallSpan {
    #[serde(flatten)]
    pub(super) span: Span,
    /// The number of the entry.
    pub(super) entry: u32,
    /// The id of the tool call that holds the thread; `null` in the main thread.
    pub(super) thread: Option<String>,
    #[serde(skip)]
    pub(super) message_id: String,
    pub(super) model: Option<String>,
    /// Its tokens, if the agent reports them for each call.
    pub(super) usage: Option<CallTokens>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ToolSpan {
    #[serde(flatten)]
    span: Span,
    /// The id of the call.
    id: String,
    name: String,
    /// A line that says what it does.
    title: Option<String>,
    /// `pending`, `awaiting_permission`, `running`, `succeeded`, `failed`, `interrupted` or `lost`.
    #[schema(value_type = String)]
    state: CallState,
    /// The id of the tool call that holds the thread; `null` in the main thread.
    thread: Option<String>,
    /// Whether a sub-agent worked on it.
    subagent: bool,
    /// The number of the entry in the main thread that it is a part of.
    entry: Option<u32>,
}

/// A permission request, as long as it was open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct PermissionSpan {
    #[serde(flatten)]
    span: Span,
    request_id: String,
    tool_name: String,
    /// `open`, `allowed`, `denied`, `answered`, `withdrawn`, `expired` or `orphaned`.
    #[schema(value_type = String)]
    state: PermissionState,
    /// The id of the tool call.
    tool_use_id: Option<String>,
}

/// How full the context was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ContextPoint {
    pub(super) at_ms: Option<u64>,
    /// Offset in the output.
    pub(super) offset: u64,
    /// Tokens.
    pub(super) used: u64,
    /// Tokens that fit; `null` if unknown.
    pub(super) size: Option<u64>,
}

/// The context was compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Compaction {
    pub(super) at_ms: Option<u64>,
    /// Offset in the output.
    pub(super) offset: u64,
    /// The number of the entry.
    pub(super) entry: u32,
}

/// What lasts in a session, side by side.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
#[schema(as = Timeline)]
pub(crate) struct Timeline {
    /// The first and the last known time, in milliseconds since the Unix epoch; `null` without any.
    from_ms: Option<u64>,
    to_ms: Option<u64>,
    /// Whether the lines of output are in the order of their times. If not, as in recordings that were joined, a time
    /// does not tell a moment, and an offset does.
    pub(super) is_ordered: bool,
    /// The end of the output.
    pub(super) end: u64,
    /// Lines of output.
    pub(super) lines: u64,
    turns: Vec<TurnSpan>,
    model_calls: Vec<ModelCallSpan>,
    tools: Vec<ToolSpan>,
    permissions: Vec<PermissionSpan>,
    context: Vec<ContextPoint>,
    compactions: Vec<Compaction>,
    /// Number of spans that are not listed, the shortest ones.
    left_out: usize,
}

impl Timeline {
    /// Returns the spans of a transcript. `decided` has the time and offset at which a request was decided.
    pub(super) fn of(
        transcript: &Transcript,
        decided: impl Fn(PermissionId) -> Option<(u64, u64)>,
    ) -> Self {
        let mut timeline = Self::default();
        let threads = std::iter::once(transcript.main()).chain(transcript.threads());
        let calls = threads.flat_map(|thread| thread.tool_calls().iter());
        let tools = calls.map(ToolSpan::of).collect();
        timeline.tools = timeline.longest(tools, |it| &it.span);
        let permissions = transcript.permissions();
        let permissions = permissions.map(|it| PermissionSpan::of(it, decided(it.permission_id())));
        let permissions = permissions.collect();
        timeline.permissions = timeline.longest(permissions, |it| &it.span);
        timeline
    }

    pub(super) fn with_turns(mut self, turns: &[TurnSpan]) -> Self {
        self.turns = self.longest(turns.to_vec(), |it| &it.span);
        self
    }

    pub(super) fn with_model_calls(mut self, calls: &[ModelCallSpan]) -> Self {
        self.model_calls = self.longest(calls.to_vec(), |it| &it.span);
        self
    }

    pub(super) fn with_context(
        mut self,
        points: &[ContextPoint],
        compactions: &[Compaction],
    ) -> Self {
        let step = points.len().div_ceil(MAX_POINTS).max(1);
        self.context = points.iter().step_by(step).copied().collect();
        self.compactions = compactions.to_vec();
        self.with_times()
    }

    fn with_times(mut self) -> Self {
        let spans = || {
            let turns = self.turns.iter().map(|it| it.span);
            let models = self.model_calls.iter().map(|it| it.span);
            let tools = self.tools.iter().map(|it| it.span);
            let permissions = self.permissions.iter().map(|it| it.span);
            turns.chain(models).chain(tools).chain(permissions)
        };
        let from_ms = spans().filter_map(|it| it.from_ms).min();
        let to_ms = spans().filter_map(|it| it.to_ms.max(it.from_ms)).max();
        (self.from_ms, self.to_ms) = (from_ms, to_ms);
        self
    }

    /// Keeps the longest spans, in their order.
    fn longest<T>(&mut self, spans: Vec<T>, span: impl Fn(&T) -> &Span) -> Vec<T> {
        let Some(excess) = spans.len().checked_sub(MAX_SPANS + 1) else {
            return spans;
        };
        self.left_out += excess + 1;
        let mut lengths: Vec<_> = spans.iter().map(|it| span(it).length()).collect();
        lengths.sort_unstable_by(|a, b| b.cmp(a));
        let least = lengths[MAX_SPANS - 1];
        let mut room = lengths[..MAX_SPANS]
            .iter()
            .filter(|it| **it == least)
            .count();
        let mut spans = spans;
        spans.retain(|it| {
            let length = span(it).length();
            let is_kept = length > least || (length == least && room > 0);
            room -= usize::from(is_kept && length == least);
            is_kept
        });
        spans
    }
}

impl ToolSpan {
    fn of(call: ToolCall<'_>) -> Self {
        let title = call
            .shown()
            .title
            .map(|it| it.chars().take(MAX_TITLE).collect());
        Self {
            span: Span {
                from_ms: call.started_ms(),
                to_ms: call.ended_ms(),
                bytes: [call.bytes().start, call.bytes().end],
            },
            id: call.id().to_owned(),
            name: call.name().to_owned(),
            title,
            state: call.state(),
            thread: call.thread().call().map(|it| it.id().to_owned()),
            subagent: call.subagent().is_some(),
            entry: outermost(call).entry().map(|it| it.id().number()),
        }
    }
}

/// Returns the call of the main thread that a call is a part of.
fn outermost(call: ToolCall<'_>) -> ToolCall<'_> {
    let mut outer = call;
    while let Some(holder) = outer.thread().call() {
        outer = holder;
    }
    outer
}

impl PermissionSpan {
    fn of(permission: Permission<'_>, decided: Option<(u64, u64)>) -> Self {
        let bytes = permission.bytes();
        let at_ms = permission.at_ms();
        let ms = |ms: u64| (ms > 0).then_some(ms);
        Self {
            span: Span {
                from_ms: ms(at_ms),
                to_ms: decided.and_then(|(at_ms, _)| ms(at_ms)),
                bytes: [bytes.start, decided.map_or(bytes.end, |(_, offset)| offset)],
            },
            request_id: permission.request_id().to_owned(),
            tool_name: permission.tool_name().to_owned(),
            state: permission.state(),
            tool_use_id: permission.tool_use_id().map(str::to_owned),
        }
    }
}
