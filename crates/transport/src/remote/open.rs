//! Opens connections to a session: obtains the token, connects, and performs the handshake.

use std::io;
use std::sync::Arc;

use super::credentials::Token;
use super::link::Link;
use super::machine::LinkError;
use super::network::{Address, ByteStream};
use super::peer::foreign_peer;
use super::target::Remote;
use super::tls;
use super::trust::Trust;
use super::url::{Carrier, RemoteUrl};
use super::web_socket;
use crate::connection::ReconnectFailure;
use bowline_process::SessionId;

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
    if is_shim(&remote.url) {
        return Ok(Link::Raw(stream));
    }
    #[cfg(feature = "grpc")]
    if remote.url.carrier() == Carrier::Grpc {
        let link = super::grpc::attach(stream, &remote.url, session, token).await?;
        return Ok(Link::Grpc(Box::new(link)));
    }
    let socket = web_socket::attach(stream, &remote.url, session, token).await?;
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
    match &remote.url {
        RemoteUrl::Tcp {
            host, tls: true, ..
        } => {
            let connected = remote.network.connect(address).await;
            let stream = connected.map_err(|error| unconnected(&remote.url, &error))?;
            tls::secure(stream, host, remote, carrier).await
        }
        _ => {
            let connected = remote.network.connect_to_owner(address).await;
            connected.map_err(|error| unconnected(&remote.url, &error))
        }
    }
}

fn unconnected(url: &RemoteUrl, error: &io::Error) -> LinkError {
    let failure = match foreign_peer(error) {
        Some(_) => ReconnectFailure::ForeignPeer,
        None if is_shim(url) && has_no_listener(error) => ReconnectFailure::Gone,
        None => ReconnectFailure::Lost,
    };
    if let Some(detail) = sandboxed(error, bowline_process::is_sandboxed()) {
        return LinkError::new(
            ReconnectFailure::Misconfigured,
            format!("{url}: {error}; {detail}"),
        );
    }
    LinkError::new(failure, format!("{url}: {error}"))
}

/// Returns the remedy for a connection that the App Sandbox of macOS has refused, with EPERM.
fn sandboxed(error: &io::Error, is_sandboxed: bool) -> Option<&'static str> {
    let is_refused = error.kind() == io::ErrorKind::PermissionDenied;
    (is_refused && is_sandboxed).then_some(
        "this app is in the App Sandbox; sign it with the entitlement com.apple.security.network.client, or \
         use a socket in an app group",
    )
}

const fn is_shim(url: &RemoteUrl) -> bool {
    matches!(url, RemoteUrl::Shim(_))
}

/// Returns whether no process listens on a Unix socket. That of a shim has no other one afterwards.
fn has_no_listener(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    matches!(error.kind(), ConnectionRefused | NotFound)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote::peer::check;

    #[test]
    fn foreign_listener_is_a_failure_of_its_own() {
        let url = "unix:/run/runner.sock".parse().unwrap();
        let error = check(1000, [1001]).unwrap_err();
        let why = unconnected(&url, &error);
        assert_eq!(why.failure, ReconnectFailure::ForeignPeer);
        assert!(why.detail.contains("user id 1001"), "{}", why.detail);
        let error = io::ErrorKind::ConnectionRefused.into();
        assert_eq!(unconnected(&url, &error).failure, ReconnectFailure::Lost);
    }

    #[test]
    fn refusal_of_the_app_sandbox_names_the_entitlement() {
        let denied = io::Error::from_raw_os_error(rustix::io::Errno::PERM.raw_os_error());
        let remedy = sandboxed(&denied, true).unwrap();
        assert!(remedy.contains("com.apple.security.network.client"));
        assert_eq!(sandboxed(&denied, false), None);
        let refused = io::ErrorKind::ConnectionRefused.into();
        assert_eq!(sandboxed(&refused, true), None);
    }

    #[test]
    fn session_whose_shim_does_not_listen_is_gone() {
        let shim = "shim:/run/s/sock".parse().unwrap();
        let failure = |kind: io::ErrorKind| unconnected(&shim, &kind.into()).failure;
        assert_eq!(
            failure(io::ErrorKind::ConnectionRefused),
            ReconnectFailure::Gone
        );
        assert_eq!(failure(io::ErrorKind::NotFound), ReconnectFailure::Gone);
        // The queue of its listener is full (unix(7)).
        assert_eq!(failure(io::ErrorKind::WouldBlock), ReconnectFailure::Lost);
    }
}
