//! Names of lines, for counts.

use bowline_jsonl::Event;
use bowline_jsonl::rpc::Message;
use bowline_recording::TraceLine;

/// The name of a line in the dialect of its agent, for counts.
pub(crate) fn line_name(event: &Event<'_>) -> String {
    if event.is_known() {
        return event.name();
    }
    let line = event.raw;
    if let Some(traced) = TraceLine::parse(line) {
        let direction = traced.direction;
        return match Message::parse(traced.message) {
            Some(message) => format!("{direction} {}", message.name()),
            None => direction.decode().into_owned(),
        };
    }
    match Message::parse(line) {
        Some(message) => message.name(),
        None => event.name(),
    }
}
