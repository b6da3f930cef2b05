//! Opens connections: finds the token, connects, and asks the runner for the session.

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
use super::machine::Breakage;
use super::network::{Address, ByteStream};
use super::target::Remote;
use super::tls::{self, Trust};
use super::url::{Carrier, RemoteUrl};
use crate::connection::ReconnectFailure;
use bowline_process::SessionId;
use bowline_wire::{HEADER_BYTES, MAX_PAYLOAD};

/// What is spoken over the WebSocket.
const PROTOCOL: &str = "bowline.frames.v1";

/// The longest message that is taken, in bytes.
const MESSAGE_BYTES: usize = 1 << 20;

/// A connection, and the token that it was made with.
pub(super) struct Opened {
    pub(super) link: Link,
    pub(super) token: Option<Token>,
}

/// A connection that could not be made, and the token that was shown.
pub(super) struct Unopened {
    pub(super) why: Breakage,
    pub(super) token: Option<Token>,
}

/// Opens a connection to a session.
pub(super) async fn open(
    remote: Arc<Remote>,
    session: SessionId,
    refused: Option<Token>,
) -> Result<Opened, Unopened> {
    let token = match token(&remote, refused.as_ref()).await {
        Ok(token) => token,
        Err(why) => {
            return Err(Unopened {
                why,
                token: refused,
            });
        }
    };
    match open_with(&remote, session, token.as_ref()).await {
        Ok(link) => Ok(Opened { link, token }),
        Err(why) => Err(Unopened { why, token }),
    }
}

/// The token to show.
pub(super) async fn token(
    remote: &Remote,
    refused: Option<&Token>,
) -> Result<Option<Token>, Breakage> {
    let token = remote.credentials.token(refused).await;
    token.map_err(|error| Breakage::new(ReconnectFailure::Auth, error.to_string()))
}

async fn open_with(
    remote: &Remote,
    session: SessionId,
    token: Option<&Token>,
) -> Result<Link, Breakage> {
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
        .map_err(unwelcome)?;
    let spoken = response.headers().get(SEC_WEBSOCKET_PROTOCOL);
    if spoken.is_none_or(|it| it != PROTOCOL) {
        let detail = format!("it does not speak {PROTOCOL}, use a runner of this version");
        return Err(Breakage::new(ReconnectFailure::Version, detail));
    }
    Ok(Link::Socket(Box::new(socket)))
}

/// Connects, with TLS where the URL says so.
pub(super) async fn connect(
    remote: &Remote,
    carrier: Carrier,
) -> Result<Box<dyn ByteStream>, Breakage> {
    if !remote.url.is_private() && remote.trust != Trust::Unprotected {
        let detail = "a token would be readable on the way, use https://";
        return Err(Breakage::new(ReconnectFailure::Auth, detail));
    }
    let address = match &remote.url {
        RemoteUrl::Unix(path) | RemoteUrl::Shim(path) => Address::Unix(path),
        RemoteUrl::Tcp { host, port, .. } => Address::Tcp(host, *port),
    };
    let lost = |error: std::io::Error| Breakage::lost(format!("{}: {error}", remote.url));
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
) -> Result<Request, Breakage> {
    let authority = remote.url.authority();
    let uri = format!("ws://{authority}/api/sessions/{session}/attach");
    let mut request = uri
        .into_client_request()
        .map_err(|error| Breakage::lost(error.to_string()))?;
    let headers = request.headers_mut();
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(PROTOCOL));
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, authorization(token)?);
    }
    Ok(request)
}

/// The header that a token is shown in.
pub(super) fn authorization(token: &Token) -> Result<HeaderValue, Breakage> {
    let mut value = HeaderValue::from_str(&token.bearer()).map_err(|_| {
        let detail = "the token has characters that no header may have, check it";
        Breakage::new(ReconnectFailure::Auth, detail)
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

/// Why the runner did not let us in.
fn unwelcome(error: Error) -> Breakage {
    match error {
        Error::Http(response) => turned_down(&response),
        error => tls::broken("the runner does not answer", &error),
    }
}

fn turned_down<T>(response: &Response<T>) -> Breakage {
    let status = response.status();
    let mut why = Breakage::new(failure(status), format!("the runner answers {status}"));
    let wait = response.headers().get(RETRY_AFTER);
    let seconds = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
    why.after = seconds.map(Duration::from_secs);
    why
}

/// What a refusal means for a link.
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
