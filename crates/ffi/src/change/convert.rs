//! Converts the reducer's views, which borrow from a transcript, to owned values.

use super::view::{
    BlockKind, EntryKind, ModelUsage, PermissionView, SessionView, StatsView, SubagentView,
    TaskView, ToolCallView, ToolResultView, UnknownCount, UsageView,
};
use super::{Change, ChangeBatch};
use crate::core::reducer::{self, Changes, Raw, Transcript};

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
        } => Change::Block {
            block: block.number(),
            entry: entry.number(),
            value: block_kind(value),
        },
        From::Append { block, from, text } => Change::Append {
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

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

/// Returns the value as in the transcript's JSON.
fn json(raw: Raw<'_>) -> String {
    serde_json::to_string(&raw).expect("a raw value was parsed from JSON")
}

fn session_view(session: reducer::Session<'_>) -> SessionView {
    SessionView {
        session_id: owned(session.id()),
        conversations: session.conversations().map(str::to_owned).collect(),
        model: owned(session.model()),
        cwd: owned(session.cwd()),
        cli_version: owned(session.cli_version()),
        permission_mode: owned(session.permission_mode()),
    }
}

fn entry_kind(kind: reducer::EntryKind<'_>) -> EntryKind {
    use reducer::EntryKind as From;
    match kind {
        From::User {
            uuid,
            text,
            replay,
            synthetic,
        } => EntryKind::User {
            uuid: owned(uuid),
            text: text.to_string(),
            is_replay: replay,
            is_synthetic: synthetic,
        },
        From::Assistant {
            message_id,
            model,
            state,
            ..
        } => EntryKind::Assistant {
            message_id: message_id.into(),
            model: owned(model),
            state: state.into(),
        },
        From::Result {
            subtype,
            is_error,
            outcome,
            text,
            origin,
            num_turns,
            duration_ms,
        } => EntryKind::Result {
            subtype: subtype.to_owned(),
            is_error,
            outcome: outcome.into(),
            text: text.map(|it| it.to_string()),
            origin: owned(origin),
            num_turns,
            duration_ms,
        },
        From::Notice { notice, text } => EntryKind::Notice {
            notice: notice.to_owned(),
            text: text.to_string(),
        },
        From::Error { error, text } => EntryKind::Error {
            kind: error.into(),
            text: text.to_string(),
        },
        _ => EntryKind::Notice {
            notice: "unknown".to_owned(),
            text: String::new(),
        },
    }
}

fn block_kind(kind: reducer::BlockKind<'_>) -> BlockKind {
    use reducer::BlockKind as From;
    match kind {
        From::Text { text } => BlockKind::Text {
            text: text.to_string(),
        },
        From::Thinking { text } => BlockKind::Thinking {
            text: text.to_string(),
        },
        From::RedactedThinking => BlockKind::RedactedThinking,
        From::ToolCall { id } => BlockKind::ToolCall { id: id.into() },
        From::Other { raw } => BlockKind::Other { json: json(raw) },
        _ => BlockKind::Other {
            json: "null".to_owned(),
        },
    }
}

fn call_view(call: reducer::ToolCall<'_>) -> ToolCallView {
    ToolCallView {
        id: call.id().into(),
        name: call.name().to_owned(),
        input: call.input().map(json),
        state: call.state().into(),
        result: call.result().map(|result| ToolResultView {
            is_error: result.is_error(),
            text: result.text().to_string(),
        }),
        subagent: call.subagent().map(|thread| SubagentView {
            agent_id: owned(thread.agent_id()),
            agent_type: owned(thread.agent_type()),
        }),
    }
}

fn task_view(task: reducer::Task<'_>) -> TaskView {
    TaskView {
        id: task.id().to_owned(),
        kind: owned(task.kind()),
        state: task.state().into(),
        description: task.description().to_string(),
        tool_use_id: owned(task.tool_use_id()),
    }
}

fn permission_view(permission: reducer::Permission<'_>) -> PermissionView {
    let state = permission.state();
    let is_open = state == reducer::PermissionState::Open;
    PermissionView {
        request_id: permission.request_id().to_owned(),
        tool_use_id: owned(permission.tool_use_id()),
        tool_name: permission.tool_name().to_owned(),
        state: state.into(),
        input: is_open.then(|| permission.input()).flatten(),
    }
}

fn usage_view(usage: reducer::Usage<'_>) -> UsageView {
    let cost_usd = usage.cost_usd();
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
    let unknown = stats.unknown().map(|(name, count)| UnknownCount {
        name: name.to_owned(),
        count,
    });
    StatsView {
        bytes: stats.bytes(),
        lines: stats.lines(),
        events: stats.events(),
        duplicates: stats.duplicates(),
        parse_errors: stats.parse_errors(),
        unknown: unknown.collect(),
        is_truncated: stats.is_truncated(),
    }
}
