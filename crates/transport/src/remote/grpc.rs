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
use hyper::{Request, Response, StatusCode, Uri};
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
use super::refusal::{Problem, failure, misconfigured, redirected, unanswered};
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
    let lost = |error: hyper::Error| unanswered(url, &error);
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
        responses: response
            .map_err(|status| refused(url, &status))?
            .into_inner(),
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
fn refused(url: &RemoteUrl, status: &Status) -> LinkError {
    let problem = Problem::of_grpc(status.message());
    if let Some(refused) = problem.not_of_token(url) {
        return refused;
    }
    let message = status.message();
    // What answers in place of a runner sends no status of gRPC; the client derives one.
    if let Some((_, http)) = message.split_once("HTTP status code ") {
        let number = http.get(..3).and_then(|it| it.parse().ok());
        return match number.and_then(|it| StatusCode::from_u16(it).ok()) {
            Some(status) if status.is_redirection() => {
                misconfigured(redirected(status.as_str(), None))
            }
            Some(status) if failure(status) == ReconnectFailure::Lost => {
                LinkError::lost(format!("the runner answered {status}"))
            }
            _ => misconfigured(format!(
                "no runner with gRPC answers at {url}: {http}; check the URL"
            )),
        };
    }
    if status.code() == Code::Unknown
        && let Some(source) = std::error::Error::source(status)
    {
        return tls::broken("no response from the runner", source);
    }
    let (failure, remedy) = match status.code() {
        Code::Unauthenticated | Code::PermissionDenied => {
            (ReconnectFailure::Auth, "check the token")
        }
        Code::NotFound => (ReconnectFailure::Gone, ""),
        Code::FailedPrecondition => (ReconnectFailure::Expired, ""),
        Code::Unimplemented => (ReconnectFailure::Version, "use a runner of this version"),
        _ => (ReconnectFailure::Lost, ""),
    };
    let separator = if remedy.is_empty() || !problem.is_empty() {
        ""
    } else {
        "; "
    };
    let remedy = if separator.is_empty() { "" } else { remedy };
    LinkError::new(
        failure,
        format!("the runner answered {message}{separator}{remedy}"),
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(code: Code, message: &str) -> LinkError {
        let url = "grpc://127.0.0.1:8080".parse().unwrap();
        refused(&url, &Status::new(code, message))
    }

    #[test]
    fn refused_host_is_not_a_refused_token() {
        let message = "HOST_REFUSED: the host name is not this runner's; start it with --host";
        let error = refusal(Code::PermissionDenied, message);
        assert_eq!(error.failure, ReconnectFailure::Misconfigured);
        assert!(
            error.detail.ends_with("--host 127.0.0.1:8080"),
            "{}",
            error.detail
        );
    }

    #[test]
    fn runner_explains_its_refusal() {
        let message = "TOKEN_WRONG: the token is wrong; read it again";
        let error = refusal(Code::Unauthenticated, message);
        assert_eq!(error.failure, ReconnectFailure::Auth);
        assert_eq!(error.detail, format!("the runner answered {message}"));
        let message = "SCOPE_REFUSED: the token t has the scope look; this needs own; use another";
        let error = refusal(Code::PermissionDenied, message);
        assert_eq!(error.detail, format!("the runner answered {message}"));
        let message = "ORIGIN_REFUSED: the origin is not allowed; start the runner with --origin";
        let error = refusal(Code::PermissionDenied, message);
        assert_eq!(error.failure, ReconnectFailure::Misconfigured);
        assert_eq!(error.detail, format!("the runner answered {message}"));
        let error = refusal(Code::PermissionDenied, "no");
        assert!(
            error.detail.ends_with("; check the token"),
            "{}",
            error.detail
        );
    }

    #[test]
    fn status_of_another_server_is_recognized() {
        let derived = "grpc-status header missing, mapped from HTTP status code ";
        for (status, failure, remedy) in [
            ("302", ReconnectFailure::Misconfigured, "a redirect"),
            ("404", ReconnectFailure::Misconfigured, "check the URL"),
            ("403", ReconnectFailure::Misconfigured, "check the URL"),
            ("503", ReconnectFailure::Lost, "503"),
        ] {
            let error = refusal(Code::Unknown, &format!("{derived}{status}"));
            assert_eq!(error.failure, failure, "{status}");
            assert!(error.detail.contains(remedy), "{}", error.detail);
        }
    }
}
