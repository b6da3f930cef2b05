//! Names and short descriptions of lines.

use std::borrow::Cow;
use std::collections::HashMap;

use bowline_jsonl::rpc::Message;
use bowline_jsonl::{ApiEvent, Block, BlockBody, Body, Delta, Event, RawJson, RequestBody};

/// Maximum length of a description, in characters.
const MAX_ABOUT: usize = 60;

/// The kinds of lines of a session, each stored once.
#[derive(Debug, Default)]
pub(super) struct KindNames {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl KindNames {
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.names.get(number as usize).map_or("", String::as_str)
    }
}

/// Returns the name of a line of output in the dialect of its agent, and whether the parser knows it.
pub(super) fn kind_of(event: &Event<'_>) -> (String, bool) {
    if event.is_known() {
        return (event.name(), true);
    }
    match Message::parse(event.raw) {
        Some(message) => (message.name(), true),
        None => (event.name(), false),
    }
}

/// Returns the name of a line that the host wrote.
pub(super) fn input_kind_of(line: &str) -> String {
    let Some(line) = RawJson::parse(line) else {
        return "not JSON".to_owned();
    };
    if let Some(message) = Message::parse(line) {
        return message.name();
    }
    let text = |value: Option<RawJson<'_>>| Some(value?.as_str()?.decode().into_owned());
    let kind = text(line.get("type")).unwrap_or_else(|| "object".to_owned());
    let body = line.get("request").or_else(|| line.get("response"));
    match text(body.and_then(|body| body.get("subtype"))) {
        Some(subtype) => format!("{kind}/{subtype}"),
        None => kind,
    }
}

/// Returns the beginning of what a line of output brings, in one line.
pub(super) fn about(event: &Event<'_>) -> Option<String> {
    let text = match &event.body {
        Body::Stream(stream) => match &stream.event {
            ApiEvent::BlockDelta {
                delta: Delta::Text(text) | Delta::Thinking(text) | Delta::InputJson(text),
                ..
            } => text.decode(),
            ApiEvent::BlockStart {
                block: Some(block), ..
            } => tool_name(block)?,
            _ => return None,
        },
        Body::ControlRequest(request) => match request.body() {
            RequestBody::CanUseTool(it) => it.tool_name?.decode(),
            _ => return None,
        },
        Body::Result(result) => result.result?.decode(),
        _ => return None,
    };
    Some(shorten(&text))
}

fn tool_name<'a>(block: &Block<'a>) -> Option<Cow<'a, str>> {
    match &block.body {
        BlockBody::ToolUse(call) => Some(call.name.decode()),
        _ => None,
    }
}

fn shorten(text: &str) -> String {
    let text = text.trim_start();
    let plain = text
        .chars()
        .map(|it| if it.is_control() { ' ' } else { it });
    plain.take(MAX_ABOUT).collect()
}
