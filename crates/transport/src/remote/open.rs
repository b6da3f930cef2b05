//! Opens connections to a session: obtains the token, connects, and performs the handshake.

use std::sync::Arc;
use std::time::Duration;

use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::header::{
    AUTHORIZATION, HeaderValue, RETRY_AFTER, SEC_WEBSOCKET_PROTOCOL,
};
use tokio_tungstenite::tungstenite::http::{Response, StatusCode};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::credentials::Token;
use super::link::Link;
use super::machine::LinkError;
use super::network::{Address, ByteStream};
use super::target::Remote;
use super::tls;
use super::trust::Trust;
use super::url::{Carrier, RemoteUrl};
use crate::connection::ReconnectFailure;
use bowline_process::SessionId;
use bowline_wire::{HEADER_BYTES, MAX_PAYLOAD};
use serde::Deserialize;

/// The WebSocket subprotocol (RFC 6455, section 1.9).
const PROTOCOL: &str = "bowline.frames.v1";

/// Size limit of a WebSocket message, in bytes.
const MESSAGE_BYTES: usize = 1 << 20;

/// The error code of a runner that does not accept the `Host` header.
const HOST_REFUSED: &str = "HOST_REFUSED";

/// An open connection and the token that it was authenticated with.
pub(super) struct Opened {
    pub(super) link: Link,
    pub(super) token: Option<Token>,
}

/// The error of a failed connection and the token that was sent.
pub(super) struct OpenError {
    pub(super) why: LinkError,
    pub(super) token: Option<Token>,
}

/// Opens a connection to a session. `refused` is a token that the runner has refused before.
pub(super) async fn open(
    remote: Arc<Remote>,
    session: SessionId,
    refused: Option<Token>,
) -> Result<Opened, OpenError> {
    let token = match token(&remote, refused.as_ref()).await {
        Ok(token) => token,
        Err(why) => {
            return Err(OpenError {
                why,
                token: refused,
            });
        }
    };
    match open_with(&remote, session, token.as_ref()).await {
        Ok(link) => Ok(Opened { link, token }),
        Err(why) => Err(OpenError { why, token }),
    }
}

/// Returns the token to send, as an error of [`ReconnectFailure::Auth`] if there is none.
pub(super) async fn token(
    remote: &Remote,
    refused: Option<&Token>,
) -> Result<Option<Token>, LinkError> {
    let token = remote.credentials.token(refused).await;
    token.map_err(|error| LinkError::new(ReconnectFailure::Auth, error.to_string()))
}

async fn open_with(
    remote: &Remote,
    session: SessionId,
    token: Option<&Token>,
) -> Result<Link, LinkError> {
    let stream = connect(remote, remote.url.carrier()).await?;
    if matches!(remote.url, RemoteUrl::Shim(_)) {
        return Ok(Link::Raw(stream));
    }
    #[cfg(feature = "grpc")]
    if remote.url.carrier() == Carrier::Grpc {
        let link = super::grpc::attach(stream, &remote.url, session, token).await?;
        return Ok(Link::Grpc(Box::new(link)));
    }
    let request = request(remote, session, token)?;
    let (socket, response) = client_async_with_config(request, stream, Some(limits()))
        .await
        .map_err(|error| handshake_error(&remote.url, error))?;
    let spoken = response.headers().get(SEC_WEBSOCKET_PROTOCOL);
    if spoken.is_none_or(|it| it != PROTOCOL) {
        let detail =
            format!("the runner does not support {PROTOCOL}; use a runner of this version");
        return Err(LinkError::new(ReconnectFailure::Version, detail));
    }
    Ok(Link::Socket(Box::new(socket)))
}

/// Connects to the runner, with TLS if the URL requires it.
pub(super) async fn connect(
    remote: &Remote,
    carrier: Carrier,
) -> Result<Box<dyn ByteStream>, LinkError> {
    if !remote.url.is_private() && remote.trust != Trust::Plaintext {
        let detail = "the token would be sent unencrypted; use https://";
        return Err(LinkError::new(ReconnectFailure::Auth, detail));
    }
    let address = match &remote.url {
        RemoteUrl::Unix(path) | RemoteUrl::Shim(path) => Address::Unix(path),
        RemoteUrl::Tcp { host, port, .. } => Address::Tcp(host, *port),
    };
    let lost = |error: std::io::Error| LinkError::lost(format!("{}: {error}", remote.url));
    let stream = remote.network.connect(address).await.map_err(lost)?;
    match &remote.url {
        RemoteUrl::Tcp {
            host, tls: true, ..
        } => tls::secure(stream, host, remote, carrier).await,
        _ => Ok(stream),
    }
}

fn request(
    remote: &Remote,
    session: SessionId,
    token: Option<&Token>,
) -> Result<Request, LinkError> {
    let authority = remote.url.authority();
    let uri = format!("ws://{authority}/api/sessions/{session}/attach");
    let mut request = uri
        .into_client_request()
        .map_err(|error| LinkError::lost(error.to_string()))?;
    let headers = request.headers_mut();
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, authorization(token)?);
    }
    Ok(request)
}

/// Returns the value of the `Authorization` header.
pub(super) fn authorization(token: &Token) -> Result<HeaderValue, LinkError> {
    let mut value = HeaderValue::from_str(&token.bearer()).map_err(|_| {
        let detail = "the token has characters that are not allowed in a header; check the token";
        LinkError::new(ReconnectFailure::Auth, detail)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .write_buffer_size(0)
        .max_write_buffer_size(MESSAGE_BYTES)
        .max_message_size(Some(MESSAGE_BYTES))
        .max_frame_size(Some(HEADER_BYTES + MAX_PAYLOAD))
}

/// Converts an error of the WebSocket handshake.
fn handshake_error(url: &RemoteUrl, error: Error) -> LinkError {
    match error {
        Error::Http(response) => refused(url, &response),
        error => tls::broken("no response from the runner", &error),
    }
}

/// Converts a refusal of the WebSocket handshake. The body may be missing or cut off.
fn refused(url: &RemoteUrl, response: &Response<Option<Vec<u8>>>) -> LinkError {
    let status = response.status();
    let body = response.body().as_deref().unwrap_or_default();
    if let Some(refused) = host_refused(url, status, body) {
        return refused;
    }
    let mut why = LinkError::new(failure(status), format!("the runner answered {status}"));
    let wait = response.headers().get(RETRY_AFTER);
    let seconds = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
    why.after = seconds.map(Duration::from_secs);
    why
}

/// Returns the error if the runner refused the `Host` header, which another token does not change.
pub(super) fn host_refused(url: &RemoteUrl, status: StatusCode, body: &[u8]) -> Option<LinkError> {
    #[derive(Deserialize)]
    struct Refusal {
        code: String,
    }

    let refusal: Refusal = serde_json::from_slice(body).ok()?;
    (status == StatusCode::FORBIDDEN && refusal.code == HOST_REFUSED).then(|| {
        let host = url.authority();
        LinkError::lost(format!(
            "the runner refused the host name {host}; start it with --host {host}"
        ))
    })
}

/// Maps the status of a refusal to the kind of failure.
pub(super) fn failure(status: StatusCode) -> ReconnectFailure {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ReconnectFailure::Auth,
        StatusCode::NOT_FOUND => ReconnectFailure::Gone,
        StatusCode::GONE => ReconnectFailure::Expired,
        StatusCode::UPGRADE_REQUIRED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => {
            ReconnectFailure::Version
        }
        _ => ReconnectFailure::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: StatusCode, body: &str) -> LinkError {
        let url = "http://127.0.0.1:8080".parse().unwrap();
        let mut response = Response::new(Some(body.as_bytes().to_vec()));
        *response.status_mut() = status;
        refused(&url, &response)
    }

    #[test]
    fn refused_host_is_not_a_refused_token() {
        let error = refusal(StatusCode::FORBIDDEN, r#"{"code":"HOST_REFUSED"}"#);
        let detail = "the runner refused the host name 127.0.0.1:8080; \
                      start it with --host 127.0.0.1:8080";
        assert_eq!(error, LinkError::lost(detail));
    }

    #[test]
    fn other_refusals_are_authentication_failures() {
        for body in ["", "<html>", r#"{"code":"ORIGIN_REFUSED"}"#] {
            let error = refusal(StatusCode::FORBIDDEN, body);
            assert_eq!(error.failure, ReconnectFailure::Auth, "{body}");
        }
    }
}
