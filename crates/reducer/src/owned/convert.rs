//! Conversion from the borrowed views.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::change::Change;
use crate::owned::{
    AgentValue, BlockValue, ContextValue, EntryValue, PermissionValue, SessionValue, StatsValue,
    StatusValue, SubagentValue, TaskValue, ThreadValue, ToolCallValue, ToolResultValue,
    TranscriptChange, UsageValue,
};
use crate::view::{
    BlockKind, EntryKind, Permission, Raw, Session, Stats, Task, Thread, ToolCall, Usage,
};

fn owned(text: Option<&str>) -> Option<String> {
    text.map(str::to_owned)
}

fn raw(value: Raw<'_>) -> Box<RawValue> {
    let json = serde_json::value::to_raw_value(&value);
    json.expect("a value of the transcript is valid JSON")
}

impl From<Change<'_>> for TranscriptChange {
    fn from(change: Change<'_>) -> Self {
        match change {
            Change::Reset => Self::Reset,
            Change::Session { session } => Self::Session {
                session: session.into(),
            },
            Change::Status { status } => Self::Status {
                status: StatusValue {
                    phase: status.phase,
                    reason: status.reason.into_owned(),
                },
            },
            Change::Entry {
                entry,
                thread,
                value,
                detail,
            } => Self::Entry {
                entry,
                thread: thread.map(Into::into),
                value: value.into(),
                detail,
            },
            Change::EntryRemoved { entry } => Self::EntryRemoved { entry },
            Change::Block {
                block,
                entry,
                value,
                detail,
            } => Self::Block {
                block,
                entry,
                value: value.into(),
                detail,
            },
            Change::Append {
                block,
                from,
                text,
                end,
            } => Self::Append {
                block,
                from,
                text: text.to_string(),
                end,
            },
            Change::BlockRemoved { block } => Self::BlockRemoved { block },
            Change::ToolCall {
                call,
                thread,
                value,
            } => Self::ToolCall {
                call,
                thread: thread.map(Into::into),
                value: value.into(),
            },
            Change::ToolCallRemoved { call } => Self::ToolCallRemoved { call },
            Change::Task { task, value } => Self::Task {
                task: task.to_owned(),
                value: value.into(),
            },
            Change::Permission { permission, value } => Self::Permission {
                permission,
                value: value.into(),
            },
            Change::Usage { usage } => Self::Usage {
                usage: usage.into(),
            },
            Change::Stats { stats } => Self::Stats {
                stats: stats.into(),
            },
        }
    }
}

impl From<Session<'_>> for SessionValue {
    fn from(session: Session<'_>) -> Self {
        Self {
            session_id: owned(session.id()),
            conversations: session.conversations().map(str::to_owned).collect(),
            model: owned(session.model()),
            cwd: owned(session.cwd()),
            cli_version: owned(session.cli_version()),
            permission_mode: owned(session.permission_mode()),
            dialect: session.dialect(),
            agent: AgentValue {
                name: owned(session.agent_name()),
                version: owned(session.cli_version()),
            },
            title: owned(session.title()),
            plan: session.plan().to_vec(),
            queue: session.queue().cloned().collect(),
            context: match (session.context_used(), session.context_size()) {
                (None, None) => None,
                (used, size) => Some(ContextValue { used, size }),
            },
            limits: session.limits().to_vec(),
            options: session.options().to_vec(),
            commands: session.commands().to_vec(),
            threads: unheld_threads(session),
        }
    }
}

fn unheld_threads(session: Session<'_>) -> BTreeMap<String, ThreadValue> {
    let threads = session.transcript().threads();
    let unheld = threads.filter(|thread| thread.call().is_none());
    let value = |thread: Thread<'_>| ThreadValue {
        call: None,
        title: thread.title().map(Into::into),
        state: thread.state(),
        usage: thread.usage(),
        entries: None,
        tool_calls: None,
    };
    unheld
        .map(|thread| (thread.name().unwrap_or_default().to_owned(), value(thread)))
        .collect()
}

impl From<EntryKind<'_>> for EntryValue {
    fn from(kind: EntryKind<'_>) -> Self {
        match kind {
            EntryKind::User {
                uuid,
                text,
                replay,
                synthetic,
            } => Self::User {
                uuid: owned(uuid),
                text: text.to_string(),
                replay,
                synthetic,
            },
            EntryKind::Assistant {
                message_id,
                model,
                state,
                ..
            } => Self::Assistant {
                message_id: message_id.into(),
                model: owned(model),
                state,
            },
            EntryKind::Result {
                subtype,
                is_error,
                outcome,
                text,
                origin,
                num_turns,
                duration_ms,
            } => Self::Result {
                subtype: subtype.to_owned(),
                is_error,
                outcome,
                text: text.map(|it| it.to_string()),
                origin: owned(origin),
                num_turns,
                duration_ms,
            },
            EntryKind::Notice { notice, text } => Self::Notice {
                notice: notice.to_owned(),
                text: text.to_string(),
            },
            EntryKind::Error { error, text } => Self::Error {
                error,
                text: text.to_string(),
            },
        }
    }
}

impl From<BlockKind<'_>> for BlockValue {
    fn from(kind: BlockKind<'_>) -> Self {
        match kind {
            BlockKind::Text { text } => Self::Text {
                text: text.to_string(),
            },
            BlockKind::Thinking { text } => Self::Thinking {
                text: text.to_string(),
            },
            BlockKind::RedactedThinking => Self::RedactedThinking,
            BlockKind::ToolCall { id } => Self::ToolCall { id: id.into() },
            BlockKind::Other { raw: value } => Self::Other { raw: raw(value) },
        }
    }
}

impl From<ToolCall<'_>> for ToolCallValue {
    fn from(call: ToolCall<'_>) -> Self {
        let shown = call.shown();
        let bytes = call.bytes();
        Self {
            title: shown.title.map(Into::into),
            kind: shown.kind,
            locations: shown.locations.into_owned(),
            content: shown.content.into_owned(),
            output: call.output().map(|output| output.to_string()),
            exit_code: call.exit_code(),
            started_ms: call.started_ms(),
            ended_ms: call.ended_ms(),
            bytes: [bytes.start, bytes.end],
            usage: call.usage(),
            id: call.id().into(),
            name: call.name().to_owned(),
            input: call.input().map(raw),
            state: call.state(),
            result: call.result().map(|result| ToolResultValue {
                is_error: result.is_error(),
                text: result.text().to_string(),
            }),
            subagent: call.subagent().map(|thread| SubagentValue {
                agent_id: owned(thread.agent_id()),
                agent_type: owned(thread.agent_type()),
                title: thread.title().map(Into::into),
                state: thread.state(),
                usage: thread.usage(),
            }),
        }
    }
}

impl From<Task<'_>> for TaskValue {
    fn from(task: Task<'_>) -> Self {
        Self {
            kind: owned(task.kind()),
            state: task.state(),
            description: task.description().to_string(),
            tool_use_id: owned(task.tool_use_id()),
        }
    }
}

impl From<Permission<'_>> for PermissionValue {
    fn from(permission: Permission<'_>) -> Self {
        let asked = permission.asked();
        let bytes = permission.bytes();
        Self {
            kind: asked.kind,
            options: asked.options.into_owned(),
            questions: asked.questions.into_owned(),
            url: owned(asked.url),
            thread: owned(permission.thread()),
            rule: asked.rule.map(Into::into),
            decided_by: permission.answered().cloned(),
            bytes: [bytes.start, bytes.end],
            request_id: permission.request_id().to_owned(),
            tool_use_id: owned(permission.tool_use_id()),
            tool_name: permission.tool_name().to_owned(),
            state: permission.state(),
        }
    }
}

impl From<Usage<'_>> for UsageValue {
    fn from(usage: Usage<'_>) -> Self {
        let models = usage.models();
        Self {
            cost_usd: usage.cost_usd(),
            models: models.map(|(name, used)| (name.to_owned(), used)).collect(),
        }
    }
}

impl From<Stats<'_>> for StatsValue {
    fn from(stats: Stats<'_>) -> Self {
        let unknown = stats.unknown();
        Self {
            bytes: stats.bytes(),
            lines: stats.lines(),
            events: stats.events(),
            duplicates: stats.duplicates(),
            parse_errors: stats.parse_errors(),
            unknown: unknown
                .map(|(name, count)| (name.to_owned(), count))
                .collect(),
            truncated: stats.is_truncated(),
            missing: stats.missing(),
            damaged: stats.is_damaged(),
        }
    }
}
