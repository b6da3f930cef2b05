//! The content of `user` lines: tool results and prompts as text.

use std::borrow::Cow;

use bowline_jsonl::{
    Block, BlockBody as ParsedBody, MessageContent, RawJson, ResultContent, ToolResult, User,
};

use crate::arena::{Arena, Text};

/// Prefix of the markers that the agent adds after an interrupt (`crates/jsonl/PROTOCOL.md`,
/// Interrupt).
pub(super) const INTERRUPT: &str = "[Request interrupted by user";

pub(super) fn results<'e, 'a>(user: &'e User<'a>) -> impl Iterator<Item = &'e ToolResult<'a>> {
    user.message
        .blocks()
        .iter()
        .filter_map(|block| match &block.body {
            ParsedBody::ToolResult(result) => Some(result),
            _ => None,
        })
}

pub(super) fn has_results(user: &User<'_>) -> bool {
    results(user).next().is_some()
}

/// Stores the text of a tool result (text parts, and placeholders for others), and the raw parts if
/// they are more than text.
pub(super) fn store_result(arena: &mut Arena, content: ResultContent<'_>) -> (Text, Text) {
    let raw = match content {
        ResultContent::Text(text) => return (arena.store_of(text), Text::default()),
        ResultContent::Parts(raw) => raw,
        _ => return Default::default(),
    };
    match &*content.parts() {
        [
            Block {
                body: ParsedBody::Text { text },
                ..
            },
        ] => (arena.store_of(*text), Text::default()),
        parts => {
            let is_text = |block: &Block<'_>| matches!(block.body, ParsedBody::Text { .. });
            let text = arena.store(&join(parts.iter()));
            let is_more = !parts.iter().all(is_text);
            let raw = is_more.then(|| arena.store_raw(raw));
            (text, raw.unwrap_or_default())
        }
    }
}

/// Joins parts by a line feed unless one is there.
fn join<'e, 'a: 'e>(parts: impl Iterator<Item = &'e Block<'a>>) -> Cow<'a, str> {
    let mut parts = parts.map(part);
    let mut out = parts.next().unwrap_or_default();
    for part in parts {
        let out = out.to_mut();
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&part);
    }
    out
}

fn part<'a>(block: &Block<'a>) -> Cow<'a, str> {
    match &block.body {
        ParsedBody::Text { text } => text.decode(),
        ParsedBody::Image { source } => placeholder("image", *source).into(),
        ParsedBody::Document { source } => placeholder("document", *source).into(),
        _ => {
            let kind = block
                .raw
                .get("type")
                .and_then(RawJson::as_str)
                .unwrap_or_default();
            format!("[{kind} {} bytes]", block.raw.text().len()).into()
        }
    }
}

/// Returns a placeholder such as `[image image/png 1234 bytes]` with the size of the decoded data.
fn placeholder(kind: &str, source: Option<RawJson<'_>>) -> String {
    let member = |key: &str| source?.get(key)?.as_str();
    let Some(data) = member("data") else {
        let place = member("url")
            .or_else(|| member("file_id"))
            .unwrap_or_default();
        return format!("[{kind} {place}]");
    };
    let media = member("media_type").unwrap_or_default();
    let padding = data
        .raw()
        .bytes()
        .rev()
        .take_while(|&byte| byte == b'=')
        .count();
    let size = match member("type") {
        Some(kind) if kind == "base64" => (data.raw().len() / 4 * 3).saturating_sub(padding),
        _ => data.decode().len(),
    };
    format!("[{kind} {media} {size} bytes]")
}

/// The prompt of a line; `None` if it holds only tool results.
pub(super) fn prompt<'a>(user: &User<'a>) -> Option<Cow<'a, str>> {
    match &user.message.content {
        MessageContent::Text(text) => Some(text.decode()),
        _ => prompt_parts(user).next().map(|_| prompt_after(user, 0)),
    }
}

/// The prompt of a line, without its first `skipped` parts.
pub(super) fn prompt_after<'a>(user: &User<'a>, skipped: usize) -> Cow<'a, str> {
    join(prompt_parts(user).skip(skipped))
}

/// The parts of a prompt of several parts.
fn prompt_parts<'e, 'a>(user: &'e User<'a>) -> impl Iterator<Item = &'e Block<'a>> {
    let is_prompt = |block: &&Block<'_>| !matches!(block.body, ParsedBody::ToolResult(_));
    user.message.blocks().iter().filter(is_prompt)
}

/// The texts before the last one of a prompt, each without the line feed that was added to it: in a
/// merged echo, the prompts before the last one.
pub(super) fn merged_prompts<'a>(user: &User<'a>) -> Vec<Cow<'a, str>> {
    let text = |block: &Block<'a>| match &block.body {
        ParsedBody::Text { text } => Some(text.decode()),
        _ => None,
    };
    let mut texts: Vec<_> = prompt_parts(user).map_while(text).collect();
    texts.pop();
    let is_merged = |text: &Cow<'_, str>| text.ends_with('\n');
    let merged = texts.into_iter().take_while(is_merged);
    let without_end = |text: Cow<'a, str>| match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.strip_suffix('\n').unwrap_or(text)),
        Cow::Owned(mut text) => {
            text.pop();
            Cow::Owned(text)
        }
    };
    merged.map(without_end).collect()
}
