//! The secret of a request: `Authorization: Bearer SECRET`, or for browsers, which cannot set that
//! header on a WebSocket, `Sec-WebSocket-Protocol: PROTOCOL, tok.SECRET` with the secret in
//! base64url.

use axum::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use axum::http::{HeaderMap, HeaderName};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// The subprotocol of frames over WebSocket.
pub(crate) const PROTOCOL_FRAMES: &str = "bowline.frames.v1";
/// The subprotocol of the web terminal.
pub(crate) const PROTOCOL_WEB_TERMINAL: &str = "bowline.panel.v1";

/// Marks the subprotocol that carries a secret. The server never echoes it.
const SECRET_PREFIX: &str = "tok.";

/// Marks the secret of a ticket, to distinguish a wrong ticket from a wrong token.
pub(crate) const TICKET_PREFIX: &str = "ticket-";

/// Why a request is refused. The texts are `FACT: REMEDY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AuthError {
    /// The `Host` header is not an accepted name.
    #[error(
        "the host name is not allowed: use the address that the runner listens on, or start it with --host and this name"
    )]
    Host,
    /// The `Origin` header is not an accepted origin.
    #[error("the origin is not allowed: start the runner with --origin and exactly this origin")]
    Origin,
    /// A browser sends the request for a page of another site.
    #[error("the request comes from a page of another site: send it without a browser")]
    Site,
    /// The request comes over the Unix socket from a process of another user.
    #[error("the runner belongs to another user: run the command as that user")]
    User,
    /// The request has no secret.
    #[error("no token: send the contents of the token file as `Authorization: Bearer TOKEN`")]
    NoToken,
    /// The secret is malformed or wrong.
    #[error("the token is wrong: send the contents of the runner's token file")]
    WrongToken,
    /// The ticket of a login link is unknown, used or expired.
    #[error("the login link was used or has expired: run `bowline ui` for a new one")]
    WrongLink,
}

impl AuthError {
    /// The stable code of the error.
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Host => "HOST_REFUSED",
            Self::Origin => "ORIGIN_REFUSED",
            Self::Site => "SITE_REFUSED",
            Self::User => "USER_REFUSED",
            Self::NoToken => "TOKEN_MISSING",
            Self::WrongToken => "TOKEN_WRONG",
            Self::WrongLink => "LINK_WRONG",
        }
    }
}

/// The secret that a request presents.
pub(super) struct PresentedSecret {
    pub(super) text: String,
    /// Whether it was in the subprotocol, which is for browsers only.
    pub(super) in_protocol: bool,
}

impl PresentedSecret {
    /// Reads the secret from the headers. More than one secret is an error.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, AuthError> {
        let authorization = single(headers, &AUTHORIZATION).map_err(|()| AuthError::WrongToken)?;
        let in_protocol = protocol_secret(headers)?;
        match (authorization, in_protocol) {
            (None, None) => Ok(None),
            (Some(value), None) => Ok(Some(Self {
                text: bearer(value).ok_or(AuthError::WrongToken)?.to_owned(),
                in_protocol: false,
            })),
            (None, Some(text)) => Ok(Some(Self {
                text,
                in_protocol: true,
            })),
            (Some(_), Some(_)) => Err(AuthError::WrongToken),
        }
    }
}

/// The scheme's name is case-insensitive (RFC 9110, section 11.1).
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, secret) = authorization.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer") && !secret.is_empty();
    is_bearer.then_some(secret)
}

fn protocol_secret(headers: &HeaderMap) -> Result<Option<String>, AuthError> {
    let mut found = None;
    for value in headers.get_all(SEC_WEBSOCKET_PROTOCOL) {
        let value = value.to_str().map_err(|_| AuthError::WrongToken)?;
        for protocol in value.split(',').map(str::trim) {
            let Some(encoded) = protocol.strip_prefix(SECRET_PREFIX) else {
                continue;
            };
            let secret = URL_SAFE_NO_PAD.decode(encoded).ok();
            let secret = secret.and_then(|it| String::from_utf8(it).ok());
            let secret = secret.ok_or(AuthError::WrongToken)?;
            if found.replace(secret).is_some() {
                return Err(AuthError::WrongToken);
            }
        }
    }
    Ok(found)
}

/// The text of a header that may occur at most once.
pub(super) fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}
