//! Events for clients, in batches that are written as text once.

use std::sync::{Arc, OnceLock};

use axum::extract::ws::Utf8Bytes;
use bytes::{Bytes, BytesMut};
use serde_json::json;

use super::cursor::{Position, SessionCursor};
use super::item::{Item, ItemKind, SessionHead};

/// An event for a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// The cursor to continue with after it.
    pub(super) id: String,
    /// `None` if only the cursor is new.
    pub(super) data: Option<Bytes>,
}

/// Events and their text. A clone shares both.
#[derive(Clone, Debug)]
pub(super) struct EventBatch(Arc<WrittenEvents>);

#[derive(Debug)]
struct WrittenEvents {
    events: Vec<Event>,
    text: Bytes,
    /// The messages over WebSocket, once a reader needs them.
    messages: OnceLock<Vec<Utf8Bytes>>,
}

impl EventBatch {
    /// Writes events as server-sent events (HTML, section 9.2). Their data are parts of this text afterwards.
    pub(super) fn new(mut events: Vec<Event>) -> Self {
        let mut text = BytesMut::new();
        let mut ranges = Vec::with_capacity(events.len());
        for Event { id, data } in &events {
            // An event without an id keeps the id of the event before it.
            if !id.is_empty() {
                text.extend_from_slice(b"id: ");
                text.extend_from_slice(id.as_bytes());
                text.extend_from_slice(b"\n");
            }
            // JSON that is written here has no line ends.
            ranges.push(data.as_ref().map(|data| {
                text.extend_from_slice(b"data: ");
                let from = text.len();
                text.extend_from_slice(data);
                let range = from..text.len();
                text.extend_from_slice(b"\n");
                range
            }));
            text.extend_from_slice(b"\n");
        }
        let text = text.freeze();
        for (event, range) in events.iter_mut().zip(ranges) {
            event.data = range.map(|range| text.slice(range));
        }
        Self(Arc::new(WrittenEvents {
            events,
            text,
            messages: OnceLock::new(),
        }))
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.0.events
    }

    /// Returns all events as server-sent events.
    pub(super) fn text(&self) -> &Bytes {
        &self.0.text
    }

    /// Returns all events as messages over WebSocket: the data of each, which are parts of the text, and the last
    /// cursor.
    pub(super) fn messages(&self) -> &[Utf8Bytes] {
        self.0.messages.get_or_init(|| {
            let events = self.events();
            let data = events.iter().filter_map(|it| it.data.clone());
            let texts = data.filter_map(|data| Utf8Bytes::try_from(data).ok());
            let last = events.last().filter(|it| !it.id.is_empty());
            let cursor = last.map(|it| json!({"id": it.id}).to_string().into());
            texts.chain(cursor).collect()
        })
    }
}

/// Events of a session that follow each other, written once for all their readers.
#[derive(Debug)]
pub(super) struct WrittenItems {
    items: Vec<Item>,
    /// The changes, as readers of the session get them.
    pub(super) events: EventBatch,
    /// Everything, as readers of all sessions get it, once one needs it.
    in_all: OnceLock<Vec<ItemInAll>>,
    /// Bytes of JSON.
    pub(super) bytes: usize,
}

/// An event as readers of all sessions get it.
pub(super) type ItemInAll = (Bytes, ItemKind);

impl WrittenItems {
    /// Writes events, of which the last one is at `to`; see [`change_events`].
    pub(super) fn new(mut items: Vec<Item>, from: Position, to: Position) -> Self {
        let events = EventBatch::new(change_events(&items, from, to));
        // The JSON is kept once.
        let changes = items.iter_mut().filter(|it| it.kind == ItemKind::Change);
        for (item, event) in changes.zip(events.events()) {
            item.json = event.data.clone().unwrap_or_default();
        }
        let bytes = items.iter().map(|it| it.json.len()).sum();
        Self {
            items,
            events,
            in_all: OnceLock::new(),
            bytes,
        }
    }

    /// Returns the events of a session as readers of all sessions get them.
    pub(super) fn in_all(&self, head: &SessionHead) -> &[ItemInAll] {
        self.in_all.get_or_init(|| {
            let items = self.items.iter();
            items.map(|it| (head.in_all(it), it.kind)).collect()
        })
    }
}

/// Returns the changes among items, of which the last one is at `to`. One whose revision is unknown is at `from`: a
/// part of a reset, after which a reader begins again.
fn change_events(items: &[Item], from: Position, to: Position) -> Vec<Event> {
    let changes = items.iter().filter(|it| it.kind == ItemKind::Change);
    let changes: Vec<_> = changes.collect();
    let last = changes.len().saturating_sub(1);
    let event = |(place, item): (usize, &&Item)| {
        let within = item.revision.map(|revision| Position { revision, ..to });
        let at = if place == last {
            to
        } else {
            within.unwrap_or(from)
        };
        Event {
            id: SessionCursor::at(at).to_string(),
            data: Some(item.json.clone()),
        }
    };
    changes.iter().enumerate().map(event).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_is_written_as_lines() {
        let event = |id: &str, data: Option<&'static str>| Event {
            id: id.to_owned(),
            data: data.map(|it| Bytes::from_static(it.as_bytes())),
        };
        let events = vec![
            event("1", Some("{}")),
            event("2", None),
            event("", Some("[1]")),
        ];
        let batch = EventBatch::new(events.clone());
        assert_eq!(batch.text(), "id: 1\ndata: {}\n\nid: 2\n\ndata: [1]\n\n");
        assert_eq!(batch.events(), events);
    }

    #[test]
    fn clone_and_data_share_the_text() {
        let data = Some(Bytes::from_static(b"{}"));
        let batch = EventBatch::new(vec![Event {
            id: "1".to_owned(),
            data,
        }]);
        let text = batch.text().as_ptr_range();
        assert_eq!(batch.clone().text().as_ptr_range(), text);
        let data = batch.events()[0].data.as_ref().unwrap();
        assert!(text.contains(&data.as_ptr()), "not a copy");
    }

    #[test]
    fn messages_are_made_once_and_share_the_text() {
        let event = |id: &str, data: &'static str| Event {
            id: id.to_owned(),
            data: Some(Bytes::from_static(data.as_bytes())),
        };
        let batch = EventBatch::new(vec![event("1", "{}"), event("2", "[1]")]);
        let messages = batch.messages();
        assert_eq!(messages, ["{}", "[1]", r#"{"id":"2"}"#]);
        assert!(std::ptr::eq(messages, batch.clone().messages()));
        let text = batch.text().as_ptr_range();
        assert!(
            text.contains(&messages[1].as_bytes().as_ptr()),
            "not a copy"
        );
        // A part of a session has no cursor of its own.
        assert_eq!(EventBatch::new(vec![event("", "{}")]).messages(), ["{}"]);
    }

    #[test]
    fn items_of_all_sessions_are_written_once() {
        let head = SessionHead::anonymous(bowline_transport::SessionId::random());
        let at = Position::default();
        let written = WrittenItems::new(vec![Item::blank(2)], at, at);
        let first = written.in_all(&head);
        assert_eq!(first.len(), 1);
        assert!(std::ptr::eq(first, written.in_all(&head)));
    }
}
