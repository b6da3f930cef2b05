//! Events for clients, in batches that are written as text once.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::cursor::{Position, SessionCursor};
use super::item::{Item, ItemKind};

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
pub(super) struct EventBatch {
    events: Arc<[Event]>,
    text: Bytes,
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
        Self {
            events: events.into(),
            text,
        }
    }

    pub(super) fn events(&self) -> &[Event] {
        &self.events
    }

    /// Returns all events as server-sent events.
    pub(super) const fn text(&self) -> &Bytes {
        &self.text
    }
}

/// Returns the changes among items, of which the last one is at `to`. One whose revision is unknown is at `from`: a
/// part of a reset, after which a reader begins again.
pub(super) fn change_events(items: &[Item], from: Position, to: Position) -> Vec<Event> {
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
}
