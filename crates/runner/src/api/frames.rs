//! Frames in WebSocket messages, forwarded to the session's shim and back.
//!
//! The endpoint has no state of its own for a session. It decodes what clients send only to enforce
//! their lease.

pub(super) mod final_frames;
mod guard;
mod shim_frames;
mod splitter;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::ws::{CloseFrame, Message, WebSocket};
use bowline_transport::wire::DEAD_AFTER;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWriteExt as _, WriteHalf};
use tokio::time::timeout;
use tracing::debug;

use crate::api::problem::Problem;
use crate::api::web_terminal::release_to_host;
use crate::app_state::AppState;
use bowline_transport::UnixConnection;
pub(super) use guard::{FrameGuard, FrameViolation};
pub(super) use shim_frames::ShimFrames;

/// Close code: the server goes away (RFC 6455, section 7.4.1).
const GOING_AWAY: u16 = 1001;
/// Close code: the client violated the protocol's policy (RFC 6455, section 7.4.1).
const POLICY_VIOLATION: u16 = 1008;

/// Forwards frames until the client or the shim disconnects. The session continues either way.
pub(super) async fn serve(
    socket: WebSocket,
    shim: UnixConnection,
    guard: FrameGuard,
    app: Arc<AppState>,
) {
    let session = guard.session;
    let _connection = app.metrics.frames.connections.increment();
    let (sink, stream) = socket.split();
    let (read, write) = tokio::io::split(shim);
    let mut frames = ShimFrames::new(read, &app, &guard);
    let mut client = ClientSink { sink, app: &app };
    let (close, text) = tokio::select! {
        refusal = forward_to_shim(stream, write, guard, &app) => match refusal {
            Some(Refusal::Violation(violation)) => (POLICY_VIOLATION, violation.to_string()),
            Some(Refusal::ShimStalled) => (GOING_AWAY, Problem::session_not_responding().detail),
            None => return,
        },
        () = client.forward_from(&mut frames) => {
            if let Some(frames) = final_frames::session_killed(&app, session).await {
                let _ = client.send(frames).await;
            }
            (GOING_AWAY, final_frames::DISCONNECTED.to_owned())
        }
        () = app.shutdown.cancelled() => {
            let _ = client.send(final_frames::go_away()).await;
            (GOING_AWAY, "the runner is shutting down".to_owned())
        }
    };
    debug!(
        close,
        reason = text,
        "closing the connection of a frames client"
    );
    client.close(close, text).await;
}

/// Why a client's frames are not forwarded any more.
enum Refusal {
    Violation(FrameViolation),
    /// The shim takes nothing for [`DEAD_AFTER`].
    ShimStalled,
}

/// Forwards the client's frames until one is refused. Returns `None` once the client has disconnected.
async fn forward_to_shim(
    mut stream: SplitStream<WebSocket>,
    mut shim: WriteHalf<UnixConnection>,
    mut guard: FrameGuard,
    app: &AppState,
) -> Option<Refusal> {
    // Clients ping at least every 9 s, so silence means that the connection is lost.
    while let Ok(Some(Ok(message))) = timeout(DEAD_AFTER, stream.next()).await {
        match message {
            Message::Binary(bytes) => {
                app.metrics.frames.received_bytes.add(bytes.len() as u64);
                match guard.check(&bytes, Instant::now()) {
                    Ok(true) => release_to_host(app, guard.session).await,
                    Ok(false) => {}
                    Err(violation) => return Some(Refusal::Violation(violation)),
                }
                match timeout(DEAD_AFTER, shim.write_all(&bytes)).await {
                    Ok(Ok(())) => {}
                    // The other direction ends too, and determines why.
                    Ok(Err(_)) => std::future::pending().await,
                    Err(_) => return Some(Refusal::ShimStalled),
                }
            }
            Message::Ping(_) => {
                if let Err(violation) = guard.count_ping(Instant::now()) {
                    return Some(Refusal::Violation(violation));
                }
            }
            Message::Pong(_) => {}
            Message::Text(_) => return Some(Refusal::Violation(FrameViolation::Text)),
            Message::Close(_) => return None,
        }
    }
    None
}

/// The sending half of a client's WebSocket.
struct ClientSink<'a> {
    sink: SplitSink<WebSocket, Message>,
    app: &'a AppState,
}

impl ClientSink<'_> {
    /// Forwards the shim's frames until either side disconnects.
    async fn forward_from(&mut self, shim: &mut ShimFrames<impl AsyncRead + Unpin>) {
        while let Some(frames) = shim.next().await {
            if self.send(frames).await.is_err() {
                return;
            }
        }
    }

    /// Sends frames. Fails if the client takes nothing for [`DEAD_AFTER`].
    async fn send(&mut self, frames: Bytes) -> Result<(), ()> {
        self.app.metrics.frames.sent_bytes.add(frames.len() as u64);
        let sent = timeout(DEAD_AFTER, self.sink.send(Message::Binary(frames))).await;
        sent.map_err(drop)?.map_err(drop)
    }

    async fn close(mut self, code: u16, text: String) {
        let reason = text.into();
        let frame = Message::Close(Some(CloseFrame { code, reason }));
        let _ = timeout(Duration::from_secs(1), self.sink.send(frame)).await;
    }
}
