//! Converts the reducer's views, which borrow from a transcript, to owned values.

use serde_json::value::RawValue;

use super::view::{
    BlockKind, EntryKind, ModelUsage, PermissionView, SessionView, StatsView, SubagentView,
    TaskView, ToolCallView, ToolResultView, UnknownCount, UsageView,
};
use super::{Change, ChangeBatch};
use crate::core::reducer::owned::{
    BlockValue, EntryValue, PermissionValue, SessionValue, StatsValue, TaskValue, ToolCallValue,
};
use crate::core::reducer::{self, Changes, Transcript};

/// Returns the changes that were read at `cursor`, or `None` if there are none.
pub(crate) fn batch(changes: &Changes<'_>, cursor: u64) -> Option<ChangeBatch> {
    if changes.is_empty() {
        return None;
    }
    let transcript = changes.transcript();
    Some(ChangeBatch {
        cursor: changes.cursor().revision().number(),
        is_reset: changes.is_reset() || cursor == 0,
        changes: changes
            .iter()
            .filter_map(|it| change(transcript, it))
            .collect(),
    })
}

fn change(transcript: &Transcript, change: reducer::Change<'_>) -> Option<Change> {
    use reducer::Change as From;
    Some(match change {
        From::Session { session } => Change::Session {
            value: session_view(session),
        },
        From::Status { status } => Change::Status {
            phase: status.phase.into(),
            reason: status.reason.into_owned(),
        },
        From::Entry {
            entry,
            thread,
            value,
            ..
        } => Change::Entry {
            entry: entry.number(),
            thread: thread.map(Into::into),
            at_ms: transcript.entry_by_id(entry).map_or(0, |it| it.at_ms()),
            value: entry_kind(value),
        },
        From::EntryRemoved { entry } => Change::EntryRemoved {
            entry: entry.number(),
        },
        From::Block {
            block,
            entry,
            value,
            ..
        } => Change::Block {
            block: block.number(),
            entry: entry.number(),
            value: block_kind(value),
        },
        From::Append {
            block, from, text, ..
        } => Change::Append {
            block: block.number(),
            from,
            text: text.to_string(),
        },
        From::BlockRemoved { block } => Change::BlockRemoved {
            block: block.number(),
        },
        From::ToolCall {
            call,
            thread,
            value,
        } => Change::ToolCall {
            call: call.number(),
            thread: thread.map(Into::into),
            value: call_view(value),
        },
        From::ToolCallRemoved { call } => Change::ToolCallRemoved {
            call: call.number(),
        },
        From::Task { value, .. } => Change::BackgroundTask {
            number: value.task_id().number(),
            value: task_view(value),
        },
        From::Permission { permission, value } => Change::Permission {
            number: permission.number(),
            value: permission_view(value),
        },
        From::Usage { usage } => Change::Usage {
            value: usage_view(usage),
        },
        From::Stats { stats } => Change::Stats {
            value: stats_view(stats),
        },
        // `ChangeBatch::is_reset` represents a reset.
        _ => return None,
    })
}

/// Returns the change that adds `entry`.
pub(crate) fn entry(entry: reducer::Entry<'_>) -> Change {
    Change::Entry {
        entry: entry.id().number(),
        thread: entry.thread().call().map(|it| it.id().into()),
        at_ms: entry.at_ms(),
        value: entry_kind(entry.kind()),
    }
}

/// Returns the change that adds `block`.
pub(crate) fn block(block: reducer::Block<'_>) -> Change {
    Change::Block {
        block: block.id().number(),
        entry: block.entry().id().number(),
        value: block_kind(block.kind()),
    }
}

/// Returns the change that adds `call`.
pub(crate) fn call(call: reducer::ToolCall<'_>) -> Change {
    Change::ToolCall {
        call: call.call_id().number(),
        thread: call.thread().call().map(|it| it.id().into()),
        value: call_view(call),
    }
}

/// Returns the value as in the transcript's JSON.
fn json(raw: Box<RawValue>) -> String {
    Box::<str>::from(raw).into()
}

fn session_view(session: reducer::Session<'_>) -> SessionView {
    let value = SessionValue::from(session);
    SessionView {
        session_id: value.session_id,
        conversations: value.conversations,
        model: value.model,
        cwd: value.cwd,
        cli_version: value.cli_version,
        permission_mode: value.permission_mode,
    }
}

fn entry_kind(kind: reducer::EntryKind<'_>) -> EntryKind {
    match EntryValue::from(kind) {
        EntryValue::User {
            uuid,
            text,
            replay,
            synthetic,
        } => EntryKind::User {
            uuid,
            text,
            is_replay: replay,
            is_synthetic: synthetic,
        },
        EntryValue::Assistant {
            message_id,
            model,
            state,
        } => EntryKind::Assistant {
            message_id,
            model,
            state: state.into(),
        },
        EntryValue::Result {
            subtype,
            is_error,
            outcome,
            text,
            origin,
            num_turns,
            duration_ms,
        } => EntryKind::Result {
            subtype,
            is_error,
            outcome: outcome.into(),
            text,
            origin,
            num_turns,
            duration_ms,
        },
        EntryValue::Notice { notice, text } => EntryKind::Notice { notice, text },
        EntryValue::Error { error, text } => EntryKind::Error {
            kind: error.into(),
            text,
        },
        _ => EntryKind::Notice {
            notice: "unknown".to_owned(),
            text: String::new(),
        },
    }
}

fn block_kind(kind: reducer::BlockKind<'_>) -> BlockKind {
    match BlockValue::from(kind) {
        BlockValue::Text { text } => BlockKind::Text { text },
        BlockValue::Thinking { text } => BlockKind::Thinking { text },
        BlockValue::RedactedThinking => BlockKind::RedactedThinking,
        BlockValue::ToolCall { id } => BlockKind::ToolCall { id },
        BlockValue::Other { raw } => BlockKind::Other { json: json(raw) },
        _ => BlockKind::Other {
            json: "null".to_owned(),
        },
    }
}

fn call_view(call: reducer::ToolCall<'_>) -> ToolCallView {
    let value = ToolCallValue::from(call);
    ToolCallView {
        id: value.id,
        name: value.name,
        input: value.input.map(json),
        state: value.state.into(),
        result: value.result.map(|result| ToolResultView {
            is_error: result.is_error,
            text: result.text,
        }),
        subagent: value.subagent.map(|subagent| SubagentView {
            agent_id: subagent.agent_id,
            agent_type: subagent.agent_type,
        }),
    }
}

fn task_view(task: reducer::Task<'_>) -> TaskView {
    let value = TaskValue::from(task);
    TaskView {
        id: task.id().to_owned(),
        kind: value.kind,
        state: value.state.into(),
        description: value.description,
        tool_use_id: value.tool_use_id,
    }
}

fn permission_view(permission: reducer::Permission<'_>) -> PermissionView {
    let value = PermissionValue::from(permission);
    let is_open = value.state == reducer::PermissionState::Open;
    PermissionView {
        request_id: value.request_id,
        tool_use_id: value.tool_use_id,
        tool_name: value.tool_name,
        state: value.state.into(),
        input: is_open.then(|| permission.input()).flatten(),
    }
}

fn usage_view(usage: reducer::Usage<'_>) -> UsageView {
    let cost_usd = usage.cost_usd();
    // In the order in which they came, which a map would lose.
    let models = usage.models().map(|(model, used)| ModelUsage {
        model: model.to_owned(),
        input_tokens: used.input_tokens,
        output_tokens: used.output_tokens,
        cache_read_tokens: used.cache_read_tokens,
        cache_creation_tokens: used.cache_creation_tokens,
    });
    UsageView {
        cost_usd,
        cost_decimal: serde_json::to_string(&cost_usd).expect("a number is valid JSON"),
        models: models.collect(),
    }
}

fn stats_view(stats: reducer::Stats<'_>) -> StatsView {
    let value = StatsValue::from(stats);
    let unknown = value.unknown.into_iter();
    StatsView {
        bytes: value.bytes,
        lines: value.lines,
        events: value.events,
        duplicates: value.duplicates,
        parse_errors: value.parse_errors,
        unknown: unknown
            .map(|(name, count)| UnknownCount { name, count })
            .collect(),
        is_truncated: value.truncated,
        missing: value.missing,
        is_damaged: value.damaged,
    }
}
