//! What a request shows: `Authorization: Bearer SECRET`, or for browsers, which cannot set that on
//! a WebSocket, `Sec-WebSocket-Protocol: PROTOCOL, tok.SECRET` with the secret in base64url.

use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, SEC_WEBSOCKET_PROTOCOL};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Refusal, only};

/// The subprotocol of the frames door.
pub(crate) const PROTOCOL_FRAMES: &str = "bowline.frames.v1";
/// The subprotocol of the panel door.
pub(crate) const PROTOCOL_PANEL: &str = "bowline.panel.v1";

/// What stands in front of a secret among the subprotocols. It is never echoed.
const CARRIER: &str = "tok.";

/// What every ticket begins with, so that a wrong one is told from a wrong token.
pub(crate) const TICKET: &str = "ticket-";

/// A secret that was shown.
pub(super) struct Shown {
    pub(super) secret: String,
    /// In the subprotocol, where only browsers have to hide it.
    pub(super) in_protocol: bool,
}

impl Shown {
    /// What the headers show. Showing two things is showing something wrong.
    pub(super) fn of(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        let bearer = only(headers, &AUTHORIZATION).map_err(|()| Refusal::WrongToken)?;
        let carried = carried(headers)?;
        match (bearer, carried) {
            (None, None) => Ok(None),
            (Some(bearer), None) => Ok(Some(Self {
                secret: secret(bearer).ok_or(Refusal::WrongToken)?.to_owned(),
                in_protocol: false,
            })),
            (None, Some(secret)) => Ok(Some(Self {
                secret,
                in_protocol: true,
            })),
            (Some(_), Some(_)) => Err(Refusal::WrongToken),
        }
    }

    pub(super) fn is_ticket(&self) -> bool {
        self.secret.starts_with(TICKET)
    }
}

/// The scheme's name may be written in any case (RFC 9110, section 11.1).
fn secret(bearer: &str) -> Option<&str> {
    let (scheme, secret) = bearer.split_once(' ')?;
    let is_bearer = scheme.eq_ignore_ascii_case("bearer") && !secret.is_empty();
    is_bearer.then_some(secret)
}

fn carried(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut found = None;
    for value in headers.get_all(SEC_WEBSOCKET_PROTOCOL) {
        let value = value.to_str().map_err(|_| Refusal::WrongToken)?;
        for word in value.split(',').map(str::trim) {
            let Some(word) = word.strip_prefix(CARRIER) else {
                continue;
            };
            let secret = URL_SAFE_NO_PAD.decode(word).ok();
            let secret = secret.and_then(|it| String::from_utf8(it).ok());
            let secret = secret.ok_or(Refusal::WrongToken)?;
            if found.replace(secret).is_some() {
                return Err(Refusal::WrongToken);
            }
        }
    }
    Ok(found)
}
