//! An event as a backend takes it.

use bytes::Bytes;
use serde_json::Value;

use super::HookEvent;

/// An event as a backend takes it: `{session_id, interaction_id, event_type, event_data,
/// timestamp}`, the shape of seed 003.
#[derive(Clone, Debug)]
pub(super) struct Outgoing {
    pub(super) kind: String,
    pub(super) body: Bytes,
}

impl Outgoing {
    pub(super) fn new(session_id: &str, event: &HookEvent, timestamp: String) -> Self {
        let kind = event.kind.name().to_owned();
        let text = |text: &str| Value::from(text).to_string();
        // The event goes on as it came, byte for byte.
        let body = format!(
            r#"{{"session_id":{},"interaction_id":{},"event_type":{},"event_data":{},"timestamp":{}}}"#,
            text(session_id),
            text(&event.interaction),
            text(&kind),
            event.raw(),
            text(&timestamp),
        );
        let body = body.into();
        Self { kind, body }
    }
}
