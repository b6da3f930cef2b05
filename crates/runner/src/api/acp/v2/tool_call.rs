//! Tool calls of version 2: one update with all members, or with the changed ones.

use agent_client_protocol_schema::MaybeUndefined;
use agent_client_protocol_schema::v2::{
    Content, ContentBlock, TextContent, ToolCallContent, ToolCallStatus, ToolCallUpdate,
};
use bowline_reducer::model;

use super::{diff, shared};
use crate::api::acp::tool_call::{CallStatus, CallUpdate, child_of};

/// Writes the new members of a call.
pub(super) fn update(call: CallUpdate) -> ToolCallUpdate {
    let content = call.content.as_ref();
    let locations = call.locations.as_ref();
    let output = call.output.map(serde_json::Value::from);
    ToolCallUpdate::new(call.id)
        .title(said(call.title))
        .name(said(call.name))
        .kind(said(call.kind.map(shared::kind)))
        .status(said(call.status.map(status)))
        .content(said(
            content.map(|it| it.iter().filter_map(part).collect::<Vec<_>>()),
        ))
        .locations(said(
            locations.map(|it| it.iter().map(shared::location).collect::<Vec<_>>()),
        ))
        .raw_input(said(call.input))
        .raw_output(said(output))
        .meta(said(call.parent.as_deref().map(child_of)))
}

/// A member that is left out, so that it keeps its value, if there is nothing new of it.
fn said<T>(value: Option<T>) -> MaybeUndefined<T> {
    value.map_or(MaybeUndefined::Undefined, MaybeUndefined::Value)
}

const fn status(status: CallStatus) -> ToolCallStatus {
    match status {
        CallStatus::Pending => ToolCallStatus::Pending,
        CallStatus::Running => ToolCallStatus::InProgress,
        CallStatus::Completed => ToolCallStatus::Completed,
        CallStatus::Failed => ToolCallStatus::Failed,
        CallStatus::Cancelled => ToolCallStatus::Cancelled,
    }
}

fn part(part: &model::Content) -> Option<ToolCallContent> {
    match part {
        model::Content::Text { text } => {
            let text = ContentBlock::Text(TextContent::new(text.as_str()));
            Some(ToolCallContent::Content(Box::new(Content::new(text))))
        }
        model::Content::Diff {
            path,
            old,
            new,
            patch,
        } => {
            let diff = diff::of(path, old.as_deref(), new.as_deref(), patch.as_deref());
            Some(ToolCallContent::Diff(diff))
        }
        _ => None,
    }
}
