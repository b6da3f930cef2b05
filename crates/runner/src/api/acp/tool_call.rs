//! Tool calls as the editor sees them.

use agent_client_protocol_schema::v1::{
    Diff, Meta, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use bowline_reducer::CallState;
use bowline_reducer::model::{self, Content};
use bowline_reducer::owned::ToolCallValue;
use serde_json::{Value, json};

/// Bytes of a running command's output that are shown, from its end: each update repeats them.
const SHOWN_OUTPUT: usize = 16 << 10;

/// Returns a call as version 1 describes it.
pub(super) fn describe(call: &ToolCallValue) -> ToolCall {
    let input = call.input.as_ref();
    let input: Option<Value> = input.and_then(|input| serde_json::from_str(input.get()).ok());
    let output = call.result.as_ref();
    ToolCall::new(call.id.clone(), title(call))
        .name((!call.name.is_empty()).then(|| call.name.clone()))
        .kind(call.kind.map_or(ToolKind::Other, kind))
        .status(status(call.state))
        .content(content(call))
        .locations(call.locations.iter().map(location).collect())
        .raw_input(input)
        .raw_output(output.map(|result| Value::from(result.text.as_str())))
}

/// Returns what changed since a call was sent; `None` if nothing did.
pub(super) fn difference(sent: &ToolCall, call: &ToolCall) -> Option<ToolCallUpdate> {
    fn changed<T: Clone + PartialEq>(old: &T, new: &T) -> Option<T> {
        (old != new).then(|| new.clone())
    }
    let fields = ToolCallUpdateFields::new()
        .title(changed(&sent.title, &call.title))
        .name(changed(&sent.name, &call.name).flatten())
        .kind(changed(&sent.kind, &call.kind))
        .status(changed(&sent.status, &call.status))
        .content(changed(&sent.content, &call.content))
        .locations(changed(&sent.locations, &call.locations))
        .raw_input(changed(&sent.raw_input, &call.raw_input).flatten())
        .raw_output(changed(&sent.raw_output, &call.raw_output).flatten());
    let update = ToolCallUpdate::new(call.tool_call_id.clone(), fields);
    (update.fields != ToolCallUpdateFields::new()).then(|| update.meta(call.meta.clone()))
}

/// Names the call whose sub-agent made a call.
pub(super) fn child_of(parent: &str) -> Meta {
    let mut meta = Meta::new();
    meta.insert("bowline".to_owned(), json!({ "parentToolCallId": parent }));
    meta
}

fn title(call: &ToolCallValue) -> String {
    let title = call.title.as_deref().filter(|title| !title.is_empty());
    match title {
        Some(title) => title.to_owned(),
        None if call.name.is_empty() => "tool".to_owned(),
        None => call.name.clone(),
    }
}

const fn status(state: CallState) -> ToolCallStatus {
    match state {
        CallState::Pending | CallState::AwaitingPermission => ToolCallStatus::Pending,
        CallState::Running => ToolCallStatus::InProgress,
        CallState::Succeeded => ToolCallStatus::Completed,
        // Version 1 has no other word for a call that was interrupted.
        _ => ToolCallStatus::Failed,
    }
}

const fn kind(kind: model::ToolKind) -> ToolKind {
    match kind {
        model::ToolKind::Read => ToolKind::Read,
        model::ToolKind::Edit => ToolKind::Edit,
        model::ToolKind::Delete => ToolKind::Delete,
        model::ToolKind::Move => ToolKind::Move,
        model::ToolKind::Search => ToolKind::Search,
        model::ToolKind::Execute => ToolKind::Execute,
        model::ToolKind::Think => ToolKind::Think,
        model::ToolKind::Fetch => ToolKind::Fetch,
        model::ToolKind::SwitchMode => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

fn location(location: &model::Location) -> ToolCallLocation {
    let line = location.line.and_then(|line| u32::try_from(line).ok());
    ToolCallLocation::new(&location.path).line(line)
}

fn content(call: &ToolCallValue) -> Vec<ToolCallContent> {
    let mut content: Vec<_> = call.content.iter().filter_map(part).collect();
    let result = call.result.as_ref().map(|result| result.text.as_str());
    let is_error = call.result.as_ref().is_some_and(|result| result.is_error);
    let printed = match (result, call.output.as_deref()) {
        (Some(result), _) => result,
        (None, Some(output)) => tail(output),
        (None, None) => return content,
    };
    if !printed.is_empty() && (content.is_empty() || is_error) {
        content.push(text(call.kind, printed));
    }
    content
}

fn part(part: &Content) -> Option<ToolCallContent> {
    match part {
        Content::Text { text } => Some(text.as_str().into()),
        Content::Diff {
            path,
            old: None,
            new: None,
            patch: Some(patch),
        } => Some(format!("{path}\n{}", fenced("diff", patch)).into()),
        Content::Diff { path, old, new, .. } => {
            let diff = Diff::new(path, new.clone().unwrap_or_default());
            Some(diff.old_text(old.clone()).into())
        }
        // What it printed follows. Terminals of version 1 are the editor's own.
        _ => None,
    }
}

/// Text of a result. What programs and files contain is shown as it is, the rest is Markdown.
fn text(kind: Option<model::ToolKind>, text: &str) -> ToolCallContent {
    match kind {
        Some(model::ToolKind::Execute) => fenced("console", text).into(),
        Some(model::ToolKind::Read | model::ToolKind::Search) => fenced("", text).into(),
        _ => text.into(),
    }
}

/// A code block of Markdown, whose fence is longer than those in the text (CommonMark 0.31, section 4.5).
fn fenced(language: &str, text: &str) -> String {
    let runs = text.split(|it| it != '`').map(str::len);
    let fence = "`".repeat(runs.max().unwrap_or_default().max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

fn tail(text: &str) -> &str {
    let from = text.len().saturating_sub(SHOWN_OUTPUT);
    let from = (from..).find(|&at| text.is_char_boundary(at));
    from.and_then(|from| text.get(from..)).unwrap_or_default()
}
