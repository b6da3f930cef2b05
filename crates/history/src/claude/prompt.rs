//! Which `user` lines are prompts.

use bowline_jsonl::RawJson;

use crate::lines::{is_kind, is_set};

/// Beginnings of texts that the agent composed itself: output of commands, notifications, markers.
const COMPOSED: [&str; 7] = [
    "<command-",
    "<local-command-",
    "<bash-",
    "<task-notification",
    "<system-reminder",
    "[Request interrupted",
    "Caveat: ",
];

/// Returns the text of a line if it is a prompt of the user in the main conversation.
pub(super) fn prompt(line: RawJson<'_>) -> Option<String> {
    let is_composed = ["isMeta", "isSidechain", "isCompactSummary"]
        .into_iter()
        .any(|key| is_set(line, key));
    if is_composed || !is_kind(line, "user") {
        return None;
    }
    let text = content_text(line.get("message")?.get("content")?);
    let is_prompt = !text.is_empty() && !COMPOSED.iter().any(|it| text.starts_with(it));
    is_prompt.then_some(text)
}

/// Returns the text of a message's content: the string, or its text blocks, one a line.
pub(super) fn content_text(content: RawJson<'_>) -> String {
    if let Some(text) = content.as_str() {
        return text.decode().into_owned();
    }
    let texts = content.elements().filter(|block| is_kind(*block, "text"));
    let texts = texts.filter_map(|block| block.get("text")?.as_str());
    texts
        .map(|text| text.decode())
        .collect::<Vec<_>>()
        .join("\n")
}
