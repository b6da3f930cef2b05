//! Tool calls as the editor sees them.

use bowline_reducer::CallState;
use bowline_reducer::model::{Content, Location, ToolKind};
use bowline_reducer::owned::ToolCallValue;
use serde_json::{Map, Value, json};

/// Bytes of a running command's output that are shown, from its end: each update repeats them.
const SHOWN_OUTPUT: usize = 16 << 10;

/// A call as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CallView {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) name: Option<String>,
    pub(super) kind: ToolKind,
    pub(super) status: CallStatus,
    /// Texts and diffs.
    pub(super) content: Vec<Content>,
    pub(super) locations: Vec<Location>,
    pub(super) input: Option<Value>,
    pub(super) output: Option<String>,
    /// The call whose sub-agent made it, if the editor is to see that.
    pub(super) parent: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallStatus {
    Pending,
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// Changed members of a call; `None` for an unchanged one.
#[derive(Debug, Default)]
pub(super) struct CallUpdate {
    pub(super) id: String,
    /// Whether the editor does not know it yet: all of it is there.
    pub(super) is_new: bool,
    pub(super) title: Option<String>,
    pub(super) name: Option<String>,
    pub(super) kind: Option<ToolKind>,
    pub(super) status: Option<CallStatus>,
    pub(super) content: Option<Vec<Content>>,
    pub(super) locations: Option<Vec<Location>>,
    pub(super) input: Option<Value>,
    pub(super) output: Option<String>,
    pub(super) parent: Option<String>,
}

impl CallView {
    pub(super) fn of(call: &ToolCallValue, parent: Option<&str>) -> Self {
        let input = call.input.as_ref();
        Self {
            id: call.id.clone(),
            title: title(call),
            name: (!call.name.is_empty()).then(|| call.name.clone()),
            kind: call.kind.unwrap_or(ToolKind::Other),
            status: status(call.state),
            content: content(call),
            locations: call.locations.clone(),
            input: input.and_then(|input| serde_json::from_str(input.get()).ok()),
            output: call.result.as_ref().map(|result| result.text.clone()),
            parent: parent.map(str::to_owned),
        }
    }

    /// Returns the members that changed since a call was sent; `None` if none did.
    pub(super) fn since(&self, sent: &Self) -> Option<CallUpdate> {
        fn changed<T: Clone + PartialEq>(old: &T, new: &T) -> Option<T> {
            (old != new).then(|| new.clone())
        }
        (self != sent).then(|| CallUpdate {
            id: self.id.clone(),
            is_new: false,
            title: changed(&sent.title, &self.title),
            name: changed(&sent.name, &self.name).flatten(),
            kind: changed(&sent.kind, &self.kind),
            status: changed(&sent.status, &self.status),
            content: changed(&sent.content, &self.content),
            locations: changed(&sent.locations, &self.locations),
            input: changed(&sent.input, &self.input).flatten(),
            output: changed(&sent.output, &self.output).flatten(),
            parent: self.parent.clone(),
        })
    }
}

impl From<CallView> for CallUpdate {
    /// Returns the update with all members of a call.
    fn from(call: CallView) -> Self {
        Self {
            id: call.id,
            is_new: true,
            title: Some(call.title),
            name: call.name,
            kind: Some(call.kind),
            status: Some(call.status),
            content: Some(call.content),
            locations: Some(call.locations),
            input: call.input,
            output: call.output,
            parent: call.parent,
        }
    }
}

/// Names the call whose sub-agent made a call, in `_meta`.
pub(super) fn child_of(parent: &str) -> Map<String, Value> {
    let mut meta = Map::new();
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

const fn status(state: CallState) -> CallStatus {
    match state {
        CallState::Pending | CallState::AwaitingPermission => CallStatus::Pending,
        CallState::Running => CallStatus::Running,
        CallState::Succeeded => CallStatus::Completed,
        CallState::Interrupted => CallStatus::Cancelled,
        _ => CallStatus::Failed,
    }
}

fn content(call: &ToolCallValue) -> Vec<Content> {
    // What a command printed follows; it is no terminal of the editor's.
    let is_shown = |part: &&Content| matches!(part, Content::Text { .. } | Content::Diff { .. });
    let mut content: Vec<_> = call.content.iter().filter(is_shown).cloned().collect();
    let result = call.result.as_ref().map(|result| result.text.as_str());
    let is_error = call.result.as_ref().is_some_and(|result| result.is_error);
    let printed = match (result, call.output.as_deref()) {
        (Some(result), _) => result,
        (None, Some(output)) => tail(output),
        (None, None) => return content,
    };
    if !printed.is_empty() && (content.is_empty() || is_error) {
        content.push(Content::Text {
            text: text(call.kind, printed),
        });
    }
    content
}

/// Text of a result. What programs and files contain is shown as it is, the rest is Markdown.
fn text(kind: Option<ToolKind>, text: &str) -> String {
    match kind {
        Some(ToolKind::Execute) => fenced("console", text),
        Some(ToolKind::Read | ToolKind::Search) => fenced("", text),
        _ => text.to_owned(),
    }
}

/// A code block of Markdown, whose fence is longer than those in the text (CommonMark 0.31, section 4.5).
pub(super) fn fenced(language: &str, text: &str) -> String {
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
