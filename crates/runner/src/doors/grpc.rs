//! The gRPC door: the same frames, in a stream of messages each way.

#[expect(
    clippy::allow_attributes,
    clippy::default_trait_access,
    unreachable_pub,
    unused_qualifications,
    reason = "generated from proto/runner.proto, and compared with it by a test"
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
use bowline_transport::wire::{HEADER_BYTES, MAX_PAYLOAD};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tonic::codegen::tokio_stream::Stream;
use tonic::{Code, Status, Streaming};

use super::admission::{Admission, Door};
use super::frames::{Cutter, Rights, farewell};
use super::panel::pass_on;
use super::problem::Problem;
use crate::serve::{Hall, Pass};
use generated::Frame;
use generated::runner_server::{Runner, RunnerServer};

/// The metadata that names the session.
const SESSION: &str = "bowline-session";

/// Bytes that are read from a shim at a time.
const CHUNK: usize = 256 << 10;

/// Messages that may wait for a client beside what HTTP/2 holds for it.
const WAITING: usize = 2;

/// The service, to be put behind the gate.
#[derive(Debug)]
struct Service(Arc<Hall>);

/// Answers a request of the gRPC door.
pub(super) async fn answer(hall: Arc<Hall>, request: Request) -> Response {
    use tonic::codegen::Service as _;
    let server = RunnerServer::new(Service(hall));
    // A message may hold as many frames as the wire lets be under way.
    let mut server = server.max_decoding_message_size(4 * (MAX_PAYLOAD + HEADER_BYTES));
    let answer = server.call(request).await;
    answer
        .unwrap_or_else(|never| match never {})
        .map(axum::body::Body::new)
}

#[tonic::async_trait]
impl Runner for Service {
    type AttachStream = Outward;

    async fn attach(
        &self,
        request: tonic::Request<Streaming<Frame>>,
    ) -> Result<tonic::Response<Outward>, Status> {
        let hall = Arc::clone(&self.0);
        let pass = request.extensions().get::<Pass>().cloned();
        let session = named(&request).ok_or_else(|| nameless(pass.as_ref()))?;
        let admission = Admission::of(&hall, pass, session, Door::Grpc);
        let (shim, rights) = admission.open(&hall).await.map_err(status)?;
        let (read, write) = shim.into_split();
        let (give, taken) = mpsc::channel(WAITING);
        let (open, heard) = oneshot::channel();
        let taker = give.clone();
        tokio::spawn(inward(
            request.into_inner(),
            write,
            rights,
            Arc::clone(&hall),
            open,
            taker,
        ));
        tokio::spawn(outward(read, give, heard, hall, session));
        Ok(tonic::Response::new(Outward(taken)))
    }
}

/// Who has shown nothing but a ticket, which is for a session, is told nothing without one.
fn nameless(pass: Option<&Pass>) -> Status {
    match pass {
        Some(Pass::Owner) => {
            Status::invalid_argument("name the session in the metadata `bowline-session`")
        }
        _ => status(Problem::no_ticket()),
    }
}

fn named<T>(request: &tonic::Request<T>) -> Option<SessionId> {
    request.metadata().get(SESSION)?.to_str().ok()?.parse().ok()
}

/// From the client to the shim, until one is gone or the client does what it may not, which is told
/// to who serves the other way.
async fn inward(
    mut stream: Streaming<Frame>,
    mut shim: OwnedWriteHalf,
    mut rights: Rights,
    hall: Arc<Hall>,
    wrong: oneshot::Sender<Status>,
    taker: mpsc::Sender<Result<Frame, Status>>,
) {
    while let Ok(Some(frame)) = stream.message().await {
        hall.metrics.grpc.taken.add(frame.data.len() as u64);
        match rights.check(&frame.data, Instant::now()) {
            Ok(true) => pass_on(&hall, rights.session).await,
            Ok(false) => {}
            Err(error) => {
                let _ = wrong.send(Status::permission_denied(error.to_string()));
                return;
            }
        }
        if shim.write_all(&frame.data).await.is_err() {
            return;
        }
    }
    // A client that has said everything still listens, and the shim must not take it for gone.
    taker.closed().await;
}

/// From the shim to the client.
async fn outward(
    mut shim: OwnedReadHalf,
    give: mpsc::Sender<Result<Frame, Status>>,
    wrong: oneshot::Receiver<Status>,
    hall: Arc<Hall>,
    session: SessionId,
) {
    let _open = hall.metrics.grpc.open.hold();
    let mut life = hall.life.clone();
    let (frames, last) = tokio::select! {
        () = pass(&mut shim, &give, &hall, session) => {
            match farewell::killed(&hall, session).await {
                Some(frames) => (Some(frames), status(Problem::killed())),
                None => (None, Status::unavailable("the session is gone")),
            }
        }
        status = told(wrong) => (None, status),
        () = life.ending() => {
            let next = Status::unavailable("the runner ends, connect again");
            (Some(farewell::go_away()), next)
        }
        () = give.closed() => return,
    };
    if let Some(data) = frames {
        let _ = give.send(Ok(Frame { data })).await;
    }
    let _ = give.send(Err(last)).await;
}

/// What the client did wrong. One that has only ended its side is still served.
async fn told(wrong: oneshot::Receiver<Status>) -> Status {
    match wrong.await {
        Ok(status) => status,
        Err(_) => std::future::pending().await,
    }
}

async fn pass(
    shim: &mut OwnedReadHalf,
    give: &mpsc::Sender<Result<Frame, Status>>,
    hall: &Hall,
    session: SessionId,
) {
    let mut cutter = Cutter::default();
    loop {
        cutter.buffer().reserve(CHUNK);
        match shim.read_buf(cutter.buffer()).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        while let Some(cut) = cutter.next() {
            if cut.has_attached {
                hall.parked.cancel(session);
            }
            let data = cut.frames;
            hall.metrics.grpc.given.add(data.len() as u64);
            if give.send(Ok(Frame { data })).await.is_err() {
                return;
            }
        }
    }
}

/// What a client is sent.
#[derive(Debug)]
struct Outward(mpsc::Receiver<Result<Frame, Status>>);

impl Stream for Outward {
    type Item = Result<Frame, Status>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context)
    }
}

/// A refusal as a client of this door understands it.
pub(super) fn refusal(problem: Problem) -> Response {
    status(problem).into_http()
}

/// Whether a request is for this door.
pub(super) fn is_call(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"application/grpc"))
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
