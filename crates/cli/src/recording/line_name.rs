//! Names of lines, for counts.

use bowline_jsonl::Event;
use bowline_jsonl::rpc::Message;
use bowline_recording::TraceLine;

/// The name of a line in the dialect of its agent, for counts.
pub(crate) fn line_name(event: &Event<'_>) -> String {
    let line = event.raw;
    if let Some(traced) = TraceLine::parse(line) {
        let direction = traced.direction;
        return match Message::parse(traced.message) {
            Some(message) => format!("{direction} {}", message_name(&message)),
            None => direction.decode().into_owned(),
        };
    }
    match Message::parse(line).filter(|_| !event.is_known()) {
        Some(message) => message_name(&message),
        None => event.name(),
    }
}

/// The method of a message, and what kind of update or item it is about.
fn message_name(message: &Message<'_>) -> String {
    let (method, params) = match message {
        Message::Request { method, params, .. } | Message::Notification { method, params, .. } => {
            (method, params)
        }
        Message::Response { result, .. } => {
            let name = if result.is_ok() { "result" } else { "error" };
            return name.to_owned();
        }
    };
    let kind = |object: &str, key: &str| params.and_then(|it| it.get(object)?.get(key)?.as_str());
    let kind = kind("update", "sessionUpdate").or_else(|| kind("item", "type"));
    match kind {
        Some(kind) => format!("{method} {kind}"),
        None => method.decode().into_owned(),
    }
}
