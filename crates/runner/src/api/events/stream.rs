//! Carries events to a client: server-sent events (HTML, section 9.2), or JSON messages over WebSocket.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::{Message, WebSocket};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _, stream};
use tokio::time::timeout;
use tracing::debug;

use super::event::{Event, EventBatch};
use super::files::FileWatch;
use super::lines::LineReader;
use super::others::OtherReader;
use super::reader::{HubReader, SessionReader};
use crate::api::problem::Problem;
use crate::app_state::{AppState, CountedReader};
use crate::auth::Principal;

/// Silence after which a comment is sent, so that a lost connection is noticed.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// When a client reconnects after it has lost its connection, in milliseconds.
const RECONNECT_MS: u64 = 1000;

/// Tells proxies not to buffer the response.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Reads events.
#[derive(Debug)]
pub(super) struct EventReader {
    source: EventSource,
    /// Changes of files, if they are wanted.
    files: Option<Box<FileWatch>>,
    /// The sessions of other runners, if they are wanted.
    others: Option<OtherReader>,
    /// The last cursor, which neither of these moves.
    last: String,
}

/// What events are read from.
#[derive(Debug)]
pub(super) enum EventSource {
    Session(SessionReader),
    All(HubReader),
    Lines(Box<LineReader>),
}

/// The right to read, which ends with the token and with the daemon.
#[derive(Debug)]
pub(super) struct ReadPermit {
    app: Arc<AppState>,
    principal: Principal,
    _reader: CountedReader,
}

impl ReadPermit {
    pub(super) fn new(app: Arc<AppState>, principal: Principal) -> Self {
        let _reader = app.event_readers.enter();
        Self {
            app,
            principal,
            _reader,
        }
    }

    /// Returns whether the token is still valid.
    fn is_valid(&self) -> bool {
        self.app.auth.is_valid(&self.principal)
    }

    async fn shutdown(&self) {
        self.app.shutdown.cancelled().await;
    }
}

/// What comes next on a connection.
enum Step {
    Events(EventBatch),
    Heartbeat,
    End,
}

impl EventSource {
    async fn next(&mut self) -> Result<Option<EventBatch>, Problem> {
        let events = match self {
            Self::Session(reader) => return reader.next().await,
            Self::All(reader) => Some(reader.next().await?),
            Self::Lines(reader) => reader.next().await?,
        };
        Ok(events.map(EventBatch::new))
    }
}

impl EventReader {
    pub(super) const fn new(source: EventSource, files: Option<Box<FileWatch>>) -> Self {
        Self {
            source,
            files,
            others: None,
            last: String::new(),
        }
    }

    /// Adds the events of other runners' sessions.
    pub(super) fn with_others(mut self, others: Option<OtherReader>) -> Self {
        self.others = others;
        self
    }

    async fn next(&mut self) -> Result<Option<EventBatch>, Problem> {
        let (files, others) = (&mut self.files, &mut self.others);
        let changed = async {
            match files {
                Some(files) => vec![files.next().await],
                None => std::future::pending().await,
            }
        };
        let elsewhere = async {
            match others {
                Some(others) => others.next().await,
                None => std::future::pending().await,
            }
        };
        let event = |data| Event {
            id: self.last.clone(),
            data: Some(data),
        };
        let events = tokio::select! {
            events = self.source.next() => events?,
            data = changed => Some(EventBatch::new(data.into_iter().map(event).collect())),
            data = elsewhere => Some(EventBatch::new(data.into_iter().map(event).collect())),
        };
        if let Some(last) = events.as_ref().and_then(|it| it.events().last()) {
            self.last.clone_from(&last.id);
        }
        Ok(events)
    }

    async fn step(&mut self, permit: &ReadPermit) -> Step {
        let next = tokio::select! {
            () = permit.shutdown() => return Step::End,
            next = timeout(HEARTBEAT, self.next()) => next,
        };
        match next {
            _ if !permit.is_valid() => Step::End,
            Err(_) => Step::Heartbeat,
            Ok(Ok(Some(events))) => Step::Events(events),
            Ok(Ok(None)) => Step::End,
            Ok(Err(problem)) => {
                // The client reconnects at its cursor.
                debug!(code = problem.code, detail = problem.detail, "events ended");
                Step::End
            }
        }
    }
}

/// Responds with server-sent events, which are read as the client takes them.
pub(super) fn respond(reader: EventReader, permit: ReadPermit) -> Response {
    let begin = Bytes::from(format!("retry: {RECONNECT_MS}\n\n"));
    let state = Some((reader, permit, Some(begin)));
    let body = stream::unfold(state, |state| async {
        let (mut reader, permit, begin) = state?;
        let chunk = match begin {
            Some(begin) => begin,
            None => match reader.step(&permit).await {
                Step::Events(events) => events.text().clone(),
                Step::Heartbeat => Bytes::from_static(b":\n\n"),
                Step::End => return None,
            },
        };
        Some((Ok::<_, Infallible>(chunk), Some((reader, permit, None))))
    });
    let mut response = Body::from_stream(body.fuse()).into_response();
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-store"),
        (BUFFERING, "no"),
    ];
    for (name, value) in headers {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Responds to a client that has read everything: it need not connect again.
pub(super) fn nothing_more() -> Response {
    StatusCode::NO_CONTENT.into_response()
}

/// Sends each event as a message. A message with an `id` alone follows those that it is the cursor of.
pub(super) async fn serve(mut socket: WebSocket, mut reader: EventReader, permit: ReadPermit) {
    loop {
        let step = tokio::select! {
            step = reader.step(&permit) => step,
            received = socket.recv() => match received {
                // No message of a client has a meaning; pings are answered.
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Text(_) | Message::Binary(_))) => continue,
                _ => return,
            },
        };
        let sent = match step {
            Step::Events(events) => send_all(&mut socket, &events, &permit).await,
            Step::Heartbeat => socket.send(Message::Ping(Bytes::new())).await.ok(),
            Step::End => {
                let _ = socket.send(Message::Close(None)).await;
                return;
            }
        };
        if sent.is_none() {
            return;
        }
    }
}

/// Sends the messages of a batch together, which is one write as long as they fit the buffer.
async fn send_all(socket: &mut WebSocket, batch: &EventBatch, permit: &ReadPermit) -> Option<()> {
    let send = async {
        for text in batch.messages() {
            socket.feed(Message::Text(text.clone())).await?;
        }
        socket.flush().await
    };
    tokio::select! {
        sent = send => sent.ok(),
        () = permit.shutdown() => None,
    }
}
