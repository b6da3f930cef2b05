//! Frames over gRPC: the frames of the WebSocket endpoint, in a stream of messages each way.

#[expect(
    clippy::allow_attributes,
    clippy::default_trait_access,
    unreachable_pub,
    unused_qualifications,
    reason = "generated from proto/runner.proto; a test compares them"
)]
#[rustfmt::skip]
mod generated;

use std::sync::Arc;
use std::time::Instant;

use axum::extract::Request;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bowline_transport::SessionId;
use bowline_transport::wire::DEAD_AFTER;
use tokio::io::{AsyncRead, AsyncWriteExt as _};
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tonic::codegen::tokio_stream::Stream;
use tonic::{Code, Status, Streaming};
use tracing::Instrument as _;

use super::attach::MAX_CLIENT_MESSAGE;
use super::attach_permit::{AttachPermit, Endpoint};
use super::frames::{FrameGuard, ShimFrames, final_frames};
use super::problem::Problem;
use super::trace;
use super::web_terminal::release_to_host;
use crate::app_state::AppState;
use crate::auth::{AttachSlot, ConnectionAttaches, Principal};
use generated::Frame;
use generated::runner_server::{Runner, RunnerServer};

/// The metadata key of the session's id.
const SESSION_METADATA: &str = "bowline-session";

/// Messages that may be queued for a client, besides what HTTP/2 buffers.
const CLIENT_QUEUE: usize = 2;

/// The implementation of the service.
#[derive(Debug)]
struct Service(Arc<AppState>);

/// Responds to a gRPC request.
pub(super) async fn respond(app: Arc<AppState>, request: Request) -> Response {
    use tonic::codegen::Service as _;
    let server = RunnerServer::new(Service(app));
    let mut server = server.max_decoding_message_size(MAX_CLIENT_MESSAGE);
    let response = server.call(request).await;
    response
        .unwrap_or_else(|never| match never {})
        .map(axum::body::Body::new)
}

#[tonic::async_trait]
impl Runner for Service {
    type AttachStream = ClientStream;

    async fn attach(
        &self,
        request: tonic::Request<Streaming<Frame>>,
    ) -> Result<tonic::Response<ClientStream>, Status> {
        let app = Arc::clone(&self.0);
        let principal = request.extensions().get::<Principal>().cloned();
        let session = session_id(&request).ok_or_else(|| no_session_id(principal.as_ref()))?;
        let connection = request.extensions().get::<Arc<ConnectionAttaches>>();
        let slot = connection.and_then(|it| it.attach(principal.as_ref()));
        let slot = slot.ok_or_else(too_many_sessions)?;
        let permit = AttachPermit::of(&app, principal, session, Endpoint::Grpc);
        let (shim, guard) = permit.connect(&app).await.map_err(status)?;
        let span = trace::attach_span("grpc", Some(session));
        let (read, write) = shim.into_split();
        let (to_client, queue) = mpsc::channel(CLIENT_QUEUE);
        let (violation, violated) = oneshot::channel();
        let frames = ShimFrames::new(read, &app, &guard);
        let input = forward_to_shim(
            request.into_inner(),
            write,
            guard,
            Arc::clone(&app),
            violation,
            to_client.clone(),
        );
        tokio::spawn(input.instrument(span.clone()));
        let client = Client {
            queue: to_client,
            app,
            session,
            _slot: slot,
        };
        let output = client.serve(frames, violated);
        tokio::spawn(output.instrument(span));
        Ok(tonic::Response::new(ClientStream(queue)))
    }
}

fn too_many_sessions() -> Status {
    let detail = "too many sessions are attached over this connection; open another one";
    Status::resource_exhausted(detail)
}

/// A ticket is bound to a session, so that without an id it is invalid.
fn no_session_id(principal: Option<&Principal>) -> Status {
    match principal {
        Some(Principal::Owner | Principal::Named { .. } | Principal::Link(_)) => {
            Status::invalid_argument("no session id; send it in the metadata `bowline-session`")
        }
        _ => status(Problem::invalid_ticket()),
    }
}

fn session_id<T>(request: &tonic::Request<T>) -> Option<SessionId> {
    let value = request.metadata().get(SESSION_METADATA)?;
    value.to_str().ok()?.parse().ok()
}

/// Forwards the client's frames until either side disconnects or the client sends a message that it
/// must not, which goes to `violation`.
async fn forward_to_shim(
    mut stream: Streaming<Frame>,
    mut shim: OwnedWriteHalf,
    mut guard: FrameGuard,
    app: Arc<AppState>,
    violation: oneshot::Sender<Status>,
    to_client: mpsc::Sender<Result<Frame, Status>>,
) {
    loop {
        let frame = match stream.message().await {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(error) => {
                // Fails if the error is that the client has disconnected.
                let _ = violation.send(message_refused(&error));
                return;
            }
        };
        app.metrics.grpc.received_bytes.add(frame.data.len() as u64);
        match guard.check(&frame.data, Instant::now()) {
            Ok(true) => release_to_host(&app, guard.session).await,
            Ok(false) => {}
            Err(error) => {
                let _ = violation.send(Status::permission_denied(error.to_string()));
                return;
            }
        }
        match timeout(DEAD_AFTER, shim.write_all(&frame.data)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) => {
                let _ = violation.send(status(Problem::session_not_responding()));
                return;
            }
        }
    }
    // A client that has closed its side still receives. Dropping `shim` would disconnect it.
    to_client.closed().await;
}

/// The status for a message that cannot be decoded, such as one that is too large.
fn message_refused(error: &Status) -> Status {
    Status::invalid_argument(format!(
        "message refused: {}; send whole frames, at most {MAX_CLIENT_MESSAGE} bytes per message",
        error.message()
    ))
}

/// The sending side of an attached client.
struct Client {
    queue: mpsc::Sender<Result<Frame, Status>>,
    app: Arc<AppState>,
    session: SessionId,
    _slot: AttachSlot,
}

impl Client {
    /// Forwards the shim's frames, and ends the stream with a status.
    async fn serve(
        self,
        mut shim: ShimFrames<impl AsyncRead + Unpin>,
        violated: oneshot::Receiver<Status>,
    ) {
        let _connection = self.app.metrics.grpc.connections.increment();
        let (frames, last) = tokio::select! {
            () = self.forward_from(&mut shim) => {
                match final_frames::session_killed(&self.app, self.session).await {
                    Some(frames) => (Some(frames), status(Problem::session_killed())),
                    None => (None, Status::unavailable(final_frames::DISCONNECTED)),
                }
            }
            status = violation(violated) => (None, status),
            () = self.app.shutdown.cancelled() => {
                let status = Status::unavailable("the runner is shutting down; connect again");
                (Some(final_frames::go_away()), status)
            }
            () = self.queue.closed() => return,
        };
        if let Some(data) = frames {
            let _ = self.send(Ok(Frame { data })).await;
        }
        let _ = self.send(Err(last)).await;
    }

    /// Forwards the shim's frames until either side disconnects.
    async fn forward_from(&self, shim: &mut ShimFrames<impl AsyncRead + Unpin>) {
        while let Some(data) = shim.next().await {
            self.app.metrics.grpc.sent_bytes.add(data.len() as u64);
            if self.send(Ok(Frame { data })).await.is_err() {
                return;
            }
        }
    }

    /// Sends a message. Fails if the client takes nothing for [`DEAD_AFTER`].
    async fn send(&self, message: Result<Frame, Status>) -> Result<(), ()> {
        let sent = timeout(DEAD_AFTER, self.queue.send(message)).await;
        sent.map_err(drop)?.map_err(drop)
    }
}

/// Waits for a violation. Never returns if the client has only closed its side.
async fn violation(violated: oneshot::Receiver<Status>) -> Status {
    match violated.await {
        Ok(status) => status,
        Err(_) => std::future::pending().await,
    }
}

/// The response stream of a client.
#[derive(Debug)]
struct ClientStream(mpsc::Receiver<Result<Frame, Status>>);

impl Stream for ClientStream {
    type Item = Result<Frame, Status>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// Converts a problem to a gRPC response.
pub(super) fn refuse(problem: Problem) -> Response {
    status(problem).into_http()
}

/// Returns whether a request is a gRPC call.
pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
}

/// Returns whether a response begins a stream of messages; a failed call has its status in the
/// headers.
pub(super) fn is_stream(response: &Response) -> bool {
    is_grpc(response.headers()) && Status::from_header_map(response.headers()).is_none()
}

fn status(problem: Problem) -> Status {
    let code = match problem.status {
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        404 => Code::NotFound,
        409 | 410 => Code::FailedPrecondition,
        429 => Code::ResourceExhausted,
        400 => Code::InvalidArgument,
        _ => Code::Unavailable,
    };
    let Problem {
        code: name,
        detail,
        next,
        ..
    } = problem;
    Status::new(code, format!("{name}: {detail}; {next}"))
}
