//! `serde_json` into borrowed structs with the members that an event of Bowline has, a struct for each kind of line.
//!
//! The base of the ratios decodes the members that the job folds, 6 of a `result` and the `subtype` of a `system` line.
//! An event has 20 and more, whether they are read or not. Of messages and blocks, both have the same members.

use std::hint::black_box;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::typed::{Event, Line, Message, Text, Usage, fold_usage, str};
use super::{Refused, lines, refused};
use crate::job::{Digest, Fold, Folded, Tag, line_kind};

/// A value that is kept as text.
type Kept<'a> = &'a RawValue;

/// A line of some types.
trait Typed {
    /// The numbers of the types.
    const KINDS: &'static [u64];

    /// Returns `type`, `uuid`, `session_id` and `parent_tool_use_id`.
    fn head(&self) -> [Option<&str>; 4];

    /// Folds the members that lines of other types do not have.
    fn fold<D: Digest>(&self, fold: &mut Fold<D>);
}

/// Declares lines of some types, and how their own members are folded.
macro_rules! line {
    (
        $(#[$doc:meta])* $name:ident $kinds:expr;
        { $($(#[$rename:meta])* $field:ident: $type:ty,)* }
        |$line:ident, $fold:ident| $folded:expr
    ) => {
        $(#[$doc])*
        #[derive(Debug, Deserialize)]
        #[serde(bound(deserialize = "'de: 'a"))]
        #[expect(dead_code, reason = "an event has more members than the job folds")]
        struct $name<'a> {
            #[serde(rename = "type")]
            kind: Option<Text<'a>>,
            uuid: Option<Text<'a>>,
            session_id: Option<Text<'a>>,
            parent_tool_use_id: Option<Text<'a>>,
            $($(#[$rename])* $field: Option<$type>,)*
        }

        impl Typed for $name<'_> {
            const KINDS: &'static [u64] = &$kinds;

            fn head(&self) -> [Option<&str>; 4] {
                [&self.kind, &self.uuid, &self.session_id, &self.parent_tool_use_id].map(str)
            }

            fn fold<D: Digest>(&self, $fold: &mut Fold<D>) {
                let $line = self;
                $folded
            }
        }
    };
}

line! {
    /// The beginning of a turn.
    Init [4];
    {
        subtype: Text<'a>,
        cwd: Text<'a>,
        tools: Kept<'a>,
        mcp_servers: Kept<'a>,
        model: Text<'a>,
        #[serde(rename = "permissionMode")]
        permission_mode: Text<'a>,
        slash_commands: Kept<'a>,
        #[serde(rename = "apiKeySource")]
        api_key_source: Text<'a>,
        claude_code_version: Text<'a>,
        output_style: Text<'a>,
        agents: Kept<'a>,
        skills: Kept<'a>,
        plugins: Kept<'a>,
        capabilities: Kept<'a>,
        user_message_uuids: Kept<'a>,
    }
    |line, fold| fold.optional(Tag::Subtype, str(&line.subtype))
}

line! {
    /// A hook.
    Hook [4];
    {
        subtype: Text<'a>,
        hook_id: Text<'a>,
        hook_name: Text<'a>,
        hook_event: Text<'a>,
        stdout: Text<'a>,
        stderr: Text<'a>,
        output: Text<'a>,
        exit_code: i64,
        outcome: Text<'a>,
    }
    |line, fold| fold.optional(Tag::Subtype, str(&line.subtype))
}

line! {
    /// A task.
    Task [4];
    {
        subtype: Text<'a>,
        task_id: Text<'a>,
        run_id: Text<'a>,
        tool_use_id: Text<'a>,
        description: Text<'a>,
        task_type: Text<'a>,
        subagent_type: Text<'a>,
        is_backgrounded: bool,
        spawn_depth: u32,
        parent_task_id: Text<'a>,
        prompt: Text<'a>,
        usage: TaskUsage,
        last_tool_name: Text<'a>,
        summary: Text<'a>,
        patch: TaskPatch<'a>,
        status: Text<'a>,
        reason: Text<'a>,
        output_file: Text<'a>,
    }
    |line, fold| fold.optional(Tag::Subtype, str(&line.subtype))
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "an event has more members than the job folds")]
struct TaskUsage {
    total_tokens: Option<u64>,
    tool_uses: Option<u64>,
    duration_ms: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[expect(dead_code, reason = "an event has more members than the job folds")]
struct TaskPatch<'a> {
    status: Option<Text<'a>>,
    description: Option<Text<'a>>,
    error: Option<Text<'a>>,
    is_backgrounded: Option<bool>,
}

line! {
    /// Every other state: the members of the ones that occur in the recordings.
    State [4];
    {
        subtype: Text<'a>,
        status: Text<'a>,
        estimated_tokens: u64,
        estimated_tokens_delta: u64,
        tasks: Kept<'a>,
        attempt: u64,
        max_retries: u64,
        retry_delay_ms: f64,
        error_status: u32,
        error: Text<'a>,
        compact_metadata: Kept<'a>,
        original_model: Text<'a>,
        content: Text<'a>,
        level: Text<'a>,
    }
    |line, fold| fold.optional(Tag::Subtype, str(&line.subtype))
}

line! {
    /// The end of a turn.
    TurnResult [5];
    {
        duration_api_ms: u64,
        stop_reason: Text<'a>,
        total_cost_usd: f64,
        usage: Usage,
        #[serde(rename = "modelUsage")]
        model_usage: Kept<'a>,
        permission_denials: Kept<'a>,
        terminal_reason: Text<'a>,
        is_error: bool,
        num_turns: u64,
        subtype: Text<'a>,
        api_error_status: u32,
        result: Text<'a>,
        duration_ms: u64,
        queued_turn_count: u64,
        result_index: u64,
        errors: Kept<'a>,
        user_message_uuid: Text<'a>,
        user_message_uuids: Kept<'a>,
        origin: Kept<'a>,
        structured_output: Kept<'a>,
        deferred_tool_use: Kept<'a>,
        startup_failure_reason: Text<'a>,
    }
    |line, fold| {
        fold.optional(Tag::Subtype, str(&line.subtype));
        fold.number(Tag::IsError, line.is_error.unwrap_or_default().into());
        fold.optional(Tag::ResultText, str(&line.result));
        if let Some(cost) = line.total_cost_usd {
            fold.number(Tag::Cost, cost.to_bits());
        }
        if let Some(turns) = line.num_turns {
            fold.number(Tag::Turns, turns);
        }
        fold_usage(&line.usage, fold);
    }
}

line! {
    /// A message.
    Speech [2, 3];
    {
        message: Message<'a, Kept<'a>>,
        timestamp: Text<'a>,
        request_id: Text<'a>,
        error: Text<'a>,
        api_error_status: u32,
        aborted: bool,
        supersedes: Kept<'a>,
        user_message_uuid: Text<'a>,
        user_message_uuids: Kept<'a>,
        agent_id: Text<'a>,
        subagent_type: Text<'a>,
        task_description: Text<'a>,
        tool_use_result: Kept<'a>,
        tool_result_meta: Kept<'a>,
        #[serde(rename = "isReplay")]
        is_replay: bool,
        #[serde(rename = "isSynthetic")]
        is_synthetic: bool,
        origin: Kept<'a>,
        priority: Text<'a>,
        refused_message_id: Text<'a>,
    }
    |line, fold| line.message.iter().for_each(|message| message.fold(fold))
}

line! {
    /// A streaming event.
    Stream [1];
    {
        event: Event<'a, Kept<'a>>,
        api_message_id: Text<'a>,
        abandoned_blocks: Kept<'a>,
    }
    |line, fold| match &line.event {
        Some(event) => event.fold(fold),
        None => fold.number(Tag::EventKind, 0),
    }
}

line! {
    /// A request, a response, the progress of a prompt, or a new conversation.
    Control [6, 7, 8, 15, 17];
    {
        request_id: Text<'a>,
        request: Kept<'a>,
        response: Answer<'a>,
        command_uuid: Text<'a>,
        state: Text<'a>,
        new_conversation_id: Text<'a>,
        trigger: Text<'a>,
        user_message_uuid: Text<'a>,
    }
    |_line, _fold| {}
}

#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
#[expect(dead_code, reason = "an event has more members than the job folds")]
struct Answer<'a> {
    subtype: Option<Text<'a>>,
    request_id: Option<Text<'a>>,
    response: Option<Kept<'a>>,
    error: Option<Text<'a>>,
    error_code: Option<Text<'a>>,
    pending_permission_requests: Option<Kept<'a>>,
}

pub(super) fn run<D: Digest>(bytes: &[u8]) -> Result<Folded, Refused> {
    let mut fold = Fold::<D>::default();
    for (number, line) in lines(bytes) {
        fold_line(line, &mut fold).map_err(|error| refused(number, error))?;
    }
    Ok(fold.folded())
}

/// Guesses the struct from the beginning of the line, as the parser does.
fn fold_line<D: Digest>(line: &[u8], fold: &mut Fold<D>) -> serde_json::Result<()> {
    let Some(kind) = line.strip_prefix(br#"{"type":""#) else {
        return fold_as::<TurnResult<'_>, D>(line, fold);
    };
    if let Some(subtype) = kind.strip_prefix(br#"system","subtype":""#) {
        return match subtype {
            [b'i', b'n', b'i', b't', ..] => fold_as::<Init<'_>, D>(line, fold),
            [b'h', b'o', b'o', b'k', ..] => fold_as::<Hook<'_>, D>(line, fold),
            [b't', b'a', b's', b'k', ..] => fold_as::<Task<'_>, D>(line, fold),
            _ => fold_as::<State<'_>, D>(line, fold),
        };
    }
    match kind {
        [b'a', b's', ..] | [b'u', b's', ..] => fold_as::<Speech<'_>, D>(line, fold),
        [b's', b't', ..] => fold_as::<Stream<'_>, D>(line, fold),
        [b'c', b'o', ..] => fold_as::<Control<'_>, D>(line, fold),
        _ => fold_any(line, fold),
    }
}

/// Parses the line as an `L`, unless its type is another one.
fn fold_as<'a, L, D>(bytes: &'a [u8], fold: &mut Fold<D>) -> serde_json::Result<()>
where
    L: Typed + Deserialize<'a>,
    D: Digest,
{
    let line: L = serde_json::from_slice(bytes)?;
    // The members that are not folded are decoded nonetheless.
    let [kind, uuid, session_id, parent_tool_use_id] = black_box(&line).head();
    let kind = kind.map_or(0, line_kind);
    if !L::KINDS.contains(&kind) {
        return fold_any(bytes, fold);
    }
    fold.number(Tag::Kind, kind);
    fold.optional(Tag::Uuid, uuid);
    fold.optional(Tag::SessionId, session_id);
    fold.optional(Tag::ParentToolUseId, parent_tool_use_id);
    line.fold(fold);
    fold.end_line();
    Ok(())
}

fn fold_any<D: Digest>(bytes: &[u8], fold: &mut Fold<D>) -> serde_json::Result<()> {
    serde_json::from_slice::<Line<'_, Kept<'_>>>(bytes).map(|line| line.fold(fold))
}
