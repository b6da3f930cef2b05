//! The WebSocket handshake (RFC 6455, section 4.1), over the HTTP client of the other requests, so that the
//! whole body of a refusal is read.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Collected, Empty, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    AUTHORIZATION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::http::header::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use super::credentials::Token;
use super::machine::LinkError;
use super::network::ByteStream;
use super::refusal::{authorization, refused, unanswered};
use super::url::RemoteUrl;
use crate::connection::ReconnectFailure;
use bowline_process::SessionId;
use bowline_wire::{HEADER_BYTES, MAX_PAYLOAD};

/// The WebSocket subprotocol (RFC 6455, section 1.9).
const PROTOCOL: &str = "bowline.frames.v1";

/// Size limit of a WebSocket message, in bytes.
const MESSAGE_BYTES: usize = 1 << 20;

/// Size limit of the body of a refusal, in bytes.
const MAX_REFUSAL_BYTES: usize = 64 << 10;

/// Time limit of the body of a refusal. Without it, the status decides.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// Attaches to a session over a connection to the runner.
pub(super) async fn attach(
    stream: Box<dyn ByteStream>,
    url: &RemoteUrl,
    session: SessionId,
    token: Option<&Token>,
) -> Result<WebSocketStream<Box<dyn ByteStream>>, LinkError> {
    let path = format!("/api/sessions/{session}/attach");
    open(stream, url, &path, Some(PROTOCOL), token, limits()).await
}

/// Opens a WebSocket over a connection to the runner, with a subprotocol that the runner must support.
pub(super) async fn open(
    stream: Box<dyn ByteStream>,
    url: &RemoteUrl,
    path: &str,
    protocol: Option<&'static str>,
    token: Option<&Token>,
    limits: WebSocketConfig,
) -> Result<WebSocketStream<Box<dyn ByteStream>>, LinkError> {
    let request = request(url, path, protocol, token)?;
    let key = request.headers().get(SEC_WEBSOCKET_KEY);
    let accept = key.map(|key| derive_accept_key(key.as_bytes()));
    let lost = |error: hyper::Error| unanswered(url, &error);
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(lost)?;
    let mut connection = std::pin::pin!(connection.without_shutdown());
    let exchange = async {
        let response = sender.send_request(request).await.map_err(lost)?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(refusal(url, response).await);
        }
        Ok(response)
    };
    let mut exchange = std::pin::pin!(exchange);
    // The connection's own result is its stream, after the switch of protocols.
    let (response, parts) = tokio::select! {
        response = &mut exchange => {
            let response = response?;
            (response, connection.await.map_err(lost)?)
        }
        parts = &mut connection => match (exchange.await, parts) {
            (Ok(response), Ok(parts)) => (response, parts),
            (Err(why), Err(error)) if why.failure == ReconnectFailure::Lost => return Err(lost(error)),
            (Err(why), _) => return Err(why),
            (Ok(_), Err(error)) => return Err(lost(error)),
        },
    };
    let header = |name| {
        response
            .headers()
            .get(name)
            .and_then(|it: &HeaderValue| it.to_str().ok())
    };
    if header(SEC_WEBSOCKET_PROTOCOL) != protocol
        || header(SEC_WEBSOCKET_ACCEPT) != accept.as_deref()
    {
        let what = protocol.unwrap_or(path);
        let detail = format!("the runner does not support {what}; use a runner of this version");
        return Err(LinkError::new(ReconnectFailure::Version, detail));
    }
    let (stream, read) = (parts.io.into_inner(), parts.read_buf.to_vec());
    let config = Some(limits);
    Ok(WebSocketStream::from_partially_read(stream, read, Role::Client, config).await)
}

fn request(
    url: &RemoteUrl,
    path: &str,
    protocol: Option<&'static str>,
    token: Option<&Token>,
) -> Result<Request<Empty<Bytes>>, LinkError> {
    let invalid = |error: String| LinkError::lost(error);
    let request = format!("ws://{}{path}", url.authority()).into_client_request();
    let (mut head, ()) = request
        .map_err(|error| invalid(error.to_string()))?
        .into_parts();
    head.uri = Uri::try_from(path).map_err(|error| invalid(error.to_string()))?;
    if let Some(protocol) = protocol {
        let protocol = HeaderValue::from_static(protocol);
        head.headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    if let Some(token) = token {
        head.headers.insert(AUTHORIZATION, authorization(token)?);
    }
    Ok(Request::from_parts(head, Empty::new()))
}

/// Reads the body of a refusal, which explains it, and converts it.
async fn refusal(url: &RemoteUrl, response: Response<Incoming>) -> LinkError {
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_REFUSAL_BYTES).collect();
    let body = timeout(REFUSAL_TIMEOUT, body).await;
    let body = body.ok().and_then(Result::ok);
    let body = body.map(Collected::to_bytes).unwrap_or_default();
    refused(url, &Response::from_parts(head, body))
}

fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .write_buffer_size(0)
        .max_write_buffer_size(MESSAGE_BYTES)
        .max_message_size(Some(MESSAGE_BYTES))
        .max_frame_size(Some(HEADER_BYTES + MAX_PAYLOAD))
}
