//! Converts the reducer's views, which borrow from a transcript, to owned values.

use super::call::json;
use super::session::SessionView;
use super::view::{
    BlockKind, EntryDetail, EntryKind, ModelUsage, StatsView, TaskView, UnknownCount, UsageView,
};
use super::{Change, ChangeBatch};
use crate::core::reducer::owned::{BlockValue, EntryValue, StatsValue, TaskValue};
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
        From::Session { .. } => Change::Session {
            value: SessionView::of(transcript),
        },
        From::Status { status } => Change::Status {
            phase: status.phase.into(),
            reason: status.reason.into_owned(),
        },
        From::Entry { entry: id, .. } => entry(transcript.entry_by_id(id)?),
        From::EntryRemoved { entry } => Change::EntryRemoved {
            entry: entry.number(),
        },
        From::Block {
            block,
            entry,
            value,
            detail,
        } => Change::Block {
            block: block.number(),
            entry: entry.number(),
            bytes: (detail.bytes[0]..detail.bytes[1]).into(),
            value: block_kind(value),
        },
        From::Append {
            block,
            from,
            text,
            end,
        } => Change::Append {
            block: block.number(),
            from,
            end,
            text: text.to_string(),
        },
        From::BlockRemoved { block } => Change::BlockRemoved {
            block: block.number(),
        },
        From::ToolCall { value, .. } => call(value),
        From::ToolCallRemoved { call } => Change::ToolCallRemoved {
            call: call.number(),
        },
        From::Task { value, .. } => Change::BackgroundTask {
            number: value.task_id().number(),
            value: task_view(value),
        },
        From::Permission { permission, value } => Change::Permission {
            number: permission.number(),
            value: value.into(),
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
    let is_history = entry.is_history();
    Change::Entry {
        entry: entry.id().number(),
        thread: thread_key(entry.thread()),
        detail: EntryDetail {
            turn: entry.turn().map(Into::into),
            at_ms: Some(entry.at_ms()).filter(|&at_ms| at_ms > 0 && !is_history),
            bytes: entry.bytes().into(),
            is_history,
        },
        value: entry_kind(entry.kind()),
    }
}

/// Returns the change that adds `block`.
pub(crate) fn block(block: reducer::Block<'_>) -> Change {
    Change::Block {
        block: block.id().number(),
        entry: block.entry().id().number(),
        bytes: block.bytes().into(),
        value: block_kind(block.kind()),
    }
}

/// Returns the change that adds `call`.
pub(crate) fn call(call: reducer::ToolCall<'_>) -> Change {
    Change::ToolCall {
        call: call.call_id().number(),
        thread: thread_key(call.thread()),
        value: call.into(),
    }
}

/// Returns the id of the call that holds a thread, or its own name; `None` for the main one.
fn thread_key(thread: reducer::Thread<'_>) -> Option<String> {
    let key = thread.call().map(|it| it.id()).or_else(|| thread.name());
    key.map(str::to_owned)
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
