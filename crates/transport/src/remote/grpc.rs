//! Carries frames in the bidirectional `Attach` stream of the gRPC service `bowline.runner.v1.Runner`.
//!
//! The messages are those of `proto/runner.proto` in the runner's crate: one or more whole frames each.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_channel::mpsc;
use futures_util::{Sink as _, Stream as _};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper::{Request, Response, Uri};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::task::JoinHandle;
use tonic::client::Grpc;
use tonic::codegen::Service;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::{Code, Status, Streaming};
use tonic_prost::ProstCodec;

use super::batch::batch;
use super::credentials::Token;
use super::machine::LinkError;
use super::network::ByteStream;
use super::tls;
use super::url::RemoteUrl;
use crate::connection::ReconnectFailure;
use bowline_process::SessionId;
use bowline_wire::{HEADER_BYTES, MAX_PAYLOAD};

/// The method's path.
const ATTACH: &str = "/bowline.runner.v1.Runner/Attach";

/// The metadata key that names the session.
const SESSION: &str = "bowline-session";

/// Request messages that may wait for HTTP/2 flow control.
const QUEUED_MESSAGES: usize = 1;

/// The longest message that is accepted, in bytes: four frames of the maximum size.
const MESSAGE_BYTES: usize = 4 * (HEADER_BYTES + MAX_PAYLOAD);

/// HTTP/2 flow-control window, in bytes. The default of RFC 9113 (64 KiB) limits throughput on links
/// with latency.
const WINDOW_BYTES: u32 = 1 << 20;

/// One or more whole frames: the message `Frame` of `proto/runner.proto`.
#[derive(Clone, PartialEq, Eq, Hash, prost::Message)]
struct Frames {
    #[prost(bytes = "bytes", tag = "1")]
    data: Bytes,
}

/// An open `Attach` call. Dropping it closes the connection.
pub(super) struct GrpcLink {
    requests: mpsc::Sender<Frames>,
    responses: Streaming<Frames>,
    _connection: Connection,
}

/// The task that drives the HTTP/2 connection. Aborted on drop.
struct Connection(JoinHandle<()>);

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl GrpcLink {
    /// Sends all frames in `out`. What was not sent stays there.
    pub(super) fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut BytesMut,
    ) -> Poll<Result<(), String>> {
        while !out.is_empty() {
            ready!(self.requests.poll_ready(cx)).map_err(|error| error.to_string())?;
            let data = batch(out);
            let sent = self.requests.start_send(Frames { data });
            sent.map_err(|error| error.to_string())?;
        }
        Pin::new(&mut self.requests)
            .poll_flush(cx)
            .map_err(|error| error.to_string())
    }

    /// Receives the next message.
    pub(super) fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, String>> {
        let message = ready!(Pin::new(&mut self.responses).poll_next(cx));
        Poll::Ready(match message {
            Some(Ok(frames)) => Ok(frames.data),
            Some(Err(status)) => Err(status.message().to_owned()),
            None => Err("the runner closed the stream".to_owned()),
        })
    }
}

/// Calls `Attach` for a session over a connection to the runner.
pub(super) async fn attach(
    stream: Box<dyn ByteStream>,
    url: &RemoteUrl,
    session: SessionId,
    token: Option<&Token>,
) -> Result<GrpcLink, LinkError> {
    let lost = |error: hyper::Error| tls::broken("no response from the runner", &error);
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(lost)?;
    // An error of the connection reaches the call that runs over it.
    let connection = Connection(tokio::spawn(async { drop(connection.await) }));
    let origin = Uri::try_from(format!("http://{}", url.authority()));
    let origin = origin.map_err(|error| LinkError::lost(error.to_string()))?;
    let mut grpc =
        Grpc::with_origin(Http2(sender), origin).max_decoding_message_size(MESSAGE_BYTES);
    let (requests, queued) = mpsc::channel(QUEUED_MESSAGES);
    let mut request = tonic::Request::new(queued);
    let metadata = request.metadata_mut();
    metadata.insert(SESSION, ascii(&session.to_string())?);
    if let Some(token) = token {
        let mut bearer = ascii(&token.bearer())?;
        bearer.set_sensitive(true);
        metadata.insert("authorization", bearer);
    }
    grpc.ready().await.map_err(lost)?;
    let codec = ProstCodec::<Frames, Frames>::default();
    let path = PathAndQuery::from_static(ATTACH);
    let response = grpc.streaming(request, path, codec).await;
    Ok(GrpcLink {
        requests,
        responses: response.map_err(|status| refused(&status))?.into_inner(),
        _connection: connection,
    })
}

fn ascii(text: &str) -> Result<MetadataValue<tonic::metadata::Ascii>, LinkError> {
    MetadataValue::try_from(text).map_err(|_| {
        let detail = "the token has characters that are not allowed in a header; check the token";
        LinkError::new(ReconnectFailure::Auth, detail)
    })
}

/// Maps the status of a refused call, as the runner assigns them to its HTTP statuses.
fn refused(status: &Status) -> LinkError {
    let failure = match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => ReconnectFailure::Auth,
        Code::NotFound => ReconnectFailure::Gone,
        Code::FailedPrecondition => ReconnectFailure::Expired,
        Code::Unimplemented => ReconnectFailure::Version,
        _ => ReconnectFailure::Lost,
    };
    if status.code() == Code::Unknown
        && let Some(source) = std::error::Error::source(status)
    {
        return tls::broken("no response from the runner", source);
    }
    LinkError::new(failure, format!("the runner answered {}", status.message()))
}

/// One HTTP/2 connection as the service that tonic calls.
struct Http2(http2::SendRequest<tonic::body::Body>);

impl Service<Request<tonic::body::Body>> for Http2 {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, hyper::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), hyper::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<tonic::body::Body>) -> Self::Future {
        Box::pin(self.0.send_request(request))
    }
}
