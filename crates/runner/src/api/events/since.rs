//! The changes of a session since a cursor, in one response.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::time::Instant;

use super::cursor::SessionCursor;
use super::event::Event;
use super::hub::EventHub;
use super::reader::SessionReader;
use crate::api::problem::Problem;
use crate::sessions::SessionRecord;

/// Maximum time that a request waits, in seconds.
const MAX_WAIT: u64 = 300;

/// Number of batches after which a response ends, though the session may have changed again. A whole transcript is not cut.
const MAX_BATCHES: usize = 64;

/// What is still to be written.
struct Rest {
    reader: SessionReader,
    until: Instant,
    cursor: String,
    batches: usize,
    is_first: bool,
}

/// Responds with the changes after a cursor, as far as there are some, and the cursor after them. Waits for the first
/// one. The changes are read as the client takes them.
pub(in crate::api) async fn changes_since(
    hub: Arc<EventHub>,
    record: &SessionRecord,
    since: &str,
    wait: u64,
) -> Result<Response, Problem> {
    let cursor = since.parse::<SessionCursor>().ok();
    let from = cursor.map(|it| it.position).unwrap_or_default();
    let feed = hub.feed(record).await?;
    let rest = Rest {
        reader: SessionReader::new(hub, feed, from),
        until: Instant::now() + Duration::from_secs(wait.min(MAX_WAIT)),
        cursor: since.to_owned(),
        batches: 0,
        is_first: true,
    };
    let begin = Bytes::from_static(b"{\"changes\":[");
    let body = stream::unfold((Some(begin), Some(rest)), |(begin, rest)| async {
        let rest = rest?;
        match begin {
            Some(begin) => Some((Ok(begin), (None, Some(rest)))),
            None => {
                let (chunk, rest) = rest.next().await;
                Some((chunk, (None, rest)))
            }
        }
    });
    // A compressed body is polled again after its end.
    let mut response = Response::new(Body::from_stream(body.fuse()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

impl Rest {
    async fn next(mut self) -> (io::Result<Bytes>, Option<Self>) {
        let has_room = self.batches < MAX_BATCHES || self.reader.is_within_whole();
        let present = match has_room {
            true => self.reader.next_present(self.until).await,
            false => Ok(None),
        };
        match present {
            Ok(Some(events)) => {
                // Only the first one is waited for.
                self.until = Instant::now();
                self.batches += 1;
                let chunk = self.text_of(events.events());
                (Ok(chunk), Some(self))
            }
            Ok(None) => {
                let end = json!({"cursor": self.cursor, "ended": self.reader.has_ended()});
                let end = end.to_string();
                let end = end.strip_prefix('{').unwrap_or_default();
                (Ok(Bytes::from(format!("],{end}"))), None)
            }
            // The client sees a response that is not complete.
            Err(problem) => (Err(io::Error::other(problem.detail)), None),
        }
    }

    fn text_of(&mut self, events: &[Event]) -> Bytes {
        let mut text = BytesMut::new();
        for Event { id, data } in events {
            self.cursor.clone_from(id);
            if let Some(data) = data {
                if !std::mem::replace(&mut self.is_first, false) {
                    text.extend_from_slice(b",");
                }
                text.extend_from_slice(data);
            }
        }
        text.freeze()
    }
}
