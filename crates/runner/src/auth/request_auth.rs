//! Authentication of a request from its head alone.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method};

use super::credential::{AuthError, PresentedSecret, TICKET_PREFIX, single};
use super::named::{CurrentNamedTokens, TokenScope};
use super::page_address::PageAddress;
use super::token::CurrentToken;

/// Sent by browsers: how the requesting page relates to this server (Fetch Metadata, section 2.3).
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What requests are checked against.
#[derive(Clone, Debug)]
pub(crate) struct RequestAuth {
    /// Accepted values of `Host`, including the port. A page that reaches this server through a
    /// name of its own (DNS rebinding) sends another one.
    pub(crate) hosts: Vec<String>,
    /// Accepted values of `Origin`.
    pub(crate) origins: Vec<String>,
    /// The runner's token.
    pub(crate) token: CurrentToken,
    /// Further tokens.
    pub(crate) named: CurrentNamedTokens,
    /// Where the page is served.
    pub(crate) page: PageAddress,
}

/// How a connection reached the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerKind {
    /// Over the Unix socket, from a process of the runner's own user.
    Local,
    /// Over TCP.
    Network,
    /// A link of the fleet, whose other end has at most this scope. It was authenticated by the fleet's servers.
    Link(TokenScope),
}

/// The peer of a connection, attached to each of its requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) kind: PeerKind,
    /// The remote address, for TCP.
    pub(crate) address: Option<IpAddr>,
}

/// Counts a connection for as long as it exists, attached to each of its requests. An upgrade to
/// WebSocket takes it along.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionGuard {
    pub(crate) _counted: Arc<dyn Any + Send + Sync>,
}

/// Marks the response to a request that was authenticated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Authenticated;

/// The authenticated sender of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Principal {
    /// The runner's own user, or a client with the token: everything is allowed.
    Owner,
    /// A client with a named token.
    Named {
        /// The token's name.
        name: String,
        /// What it permits.
        scope: TokenScope,
    },
    /// A host or a gateway of the fleet, with the scope that it has at most.
    Link(TokenScope),
    /// A client with the secret of a ticket, which the attach endpoints redeem.
    Ticket(String),
}

impl Principal {
    /// Returns what the sender may do; `None` with a ticket, which permits one request.
    pub(crate) const fn scope(&self) -> Option<TokenScope> {
        match self {
            Self::Owner => Some(TokenScope::Own),
            Self::Named { scope, .. } | Self::Link(scope) => Some(*scope),
            Self::Ticket(_) => None,
        }
    }
}

impl RequestAuth {
    /// Authenticates a request from its head.
    pub(crate) fn authenticate(
        &self,
        parts: &Parts,
        peer: PeerKind,
    ) -> Result<Principal, AuthError> {
        if peer == PeerKind::Network {
            self.check_host(parts)?;
        }
        if let PeerKind::Link(scope) = peer {
            return Ok(Principal::Link(scope));
        }
        let has_origin = self.check_origin(&parts.headers)?;
        let secret = PresentedSecret::of(&parts.headers)?;
        match (peer, secret) {
            (PeerKind::Local, None) => Ok(Principal::Owner),
            (PeerKind::Network | PeerKind::Link(_), None) => Err(AuthError::NoToken),
            // Only browsers need the subprotocol for their secret, and browsers send the origin.
            (PeerKind::Network, Some(secret)) if secret.in_protocol && !has_origin => {
                Err(AuthError::NoToken)
            }
            (_, Some(secret)) => self.check_secret(secret),
        }
    }

    /// Returns whether what a sender was authenticated by is still accepted. A connection lasts longer than its first
    /// request.
    pub(crate) fn is_valid(&self, principal: &Principal) -> bool {
        match principal {
            Principal::Named { name, scope } => self.named.has(name, *scope),
            Principal::Owner | Principal::Ticket(_) | Principal::Link(_) => true,
        }
    }

    /// Checks host and origin of a request, and no secret.
    pub(crate) fn check_sender(&self, parts: &Parts, peer: PeerKind) -> Result<(), AuthError> {
        if peer == PeerKind::Network {
            self.check_host(parts)?;
        }
        self.check_origin(&parts.headers).map(drop)
    }

    fn check_secret(&self, secret: PresentedSecret) -> Result<Principal, AuthError> {
        if self.token.matches(secret.text.as_bytes()) {
            Ok(Principal::Owner)
        } else if secret.text.starts_with(TICKET_PREFIX) {
            Ok(Principal::Ticket(secret.text))
        } else if let Some((name, scope)) = self.named.find(secret.text.as_bytes()) {
            Ok(Principal::Named { name, scope })
        } else {
            Err(AuthError::WrongToken)
        }
    }

    /// Checks a request that needs no secret: that of the page's files, and of its login. Any page may link to
    /// a file.
    pub(crate) fn authenticate_public(
        &self,
        parts: &Parts,
        peer: PeerKind,
    ) -> Result<(), AuthError> {
        if peer == PeerKind::Network {
            self.check_host(parts)?;
        }
        match parts.method {
            Method::GET => Ok(()),
            _ => self.check_origin(&parts.headers).map(drop),
        }
    }

    /// HTTP/2 has the host in `:authority`, which is the authority of the URI here.
    fn check_host(&self, parts: &Parts) -> Result<(), AuthError> {
        let header = single(&parts.headers, &HOST).map_err(|()| AuthError::Host)?;
        let authority = parts.uri.authority().map(|it| it.as_str());
        if header.is_none() && authority.is_none() {
            return Err(AuthError::Host);
        }
        let is_configured = |host: &str| self.hosts.iter().any(|it| it.eq_ignore_ascii_case(host));
        let is_accepted = |host: &str| is_configured(host) || self.page.accepts_host(host);
        let all_accepted = header.into_iter().chain(authority).all(is_accepted);
        all_accepted.then_some(()).ok_or(AuthError::Host)
    }

    /// Checks the `Origin` header and returns whether there is one. A listed origin may be of
    /// another site.
    fn check_origin(&self, headers: &HeaderMap) -> Result<bool, AuthError> {
        let origin = single(headers, &ORIGIN).map_err(|()| AuthError::Origin)?;
        let site = single(headers, &FETCH_SITE).map_err(|()| AuthError::Site)?;
        match (origin, site) {
            (Some(origin), _)
                if self.origins.iter().any(|it| it == origin)
                    || self.page.accepts_origin(origin) =>
            {
                Ok(true)
            }
            (Some(_), _) => Err(AuthError::Origin),
            (None, None | Some("none" | "same-origin")) => Ok(false),
            (None, Some(_)) => Err(AuthError::Site),
        }
    }
}

/// Returns the accepted values of `Host`: the configured names, the listening addresses, and
/// `localhost` for loopback; each also without the port if it is the scheme's default, which
/// browsers omit (RFC 9110, section 4.2.3).
pub(crate) fn accepted_hosts(
    configured: &[String],
    addresses: &[SocketAddr],
    is_encrypted: bool,
) -> Vec<String> {
    let mut hosts = configured.to_vec();
    for address in addresses {
        hosts.push(address.to_string());
        if address.ip().is_loopback() {
            hosts.push(format!("localhost:{}", address.port()));
        }
    }
    let port = if is_encrypted { ":443" } else { ":80" };
    let without_port = |host: &String| host.strip_suffix(port).map(str::to_owned);
    let without_port: Vec<_> = hosts.iter().filter_map(without_port).collect();
    hosts.extend(without_port);
    hosts
}

/// Returns the accepted values of `Origin`: the configured ones, and those of pages from this server itself.
pub(crate) fn accepted_origins(
    configured: Vec<String>,
    hosts: &[String],
    is_encrypted: bool,
) -> Vec<String> {
    let scheme = if is_encrypted { "https" } else { "http" };
    let own = hosts.iter().map(|host| format!("{scheme}://{host}"));
    configured.into_iter().chain(own).collect()
}
