//! Who may come in, decided from the head of a request alone: pure, and before a byte is served.

mod credential;
#[cfg(test)]
mod tests;

use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName};

use super::token::TokenHash;
use credential::Shown;
pub(crate) use credential::{PROTOCOL_FRAMES, PROTOCOL_PANEL, TICKET};

/// Sent by browsers: how the page that asks is related to us (Fetch Metadata, section 2.3).
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What is allowed to come in.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    /// The names of this daemon, as `Host` says them: exact, with the port. A page that was led
    /// here by a name of its own (DNS rebinding) says another.
    pub hosts: Vec<String>,
    /// The pages that may ask, as `Origin` says them: exact.
    pub origins: Vec<String>,
    /// The token's hash.
    pub token: TokenHash,
}

/// How a request came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Over the Unix socket, from a process of our own user.
    Local,
    /// Over the network.
    Network,
}

/// What a request that comes in has shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pass {
    /// Our own user, or the token: everything is allowed.
    Owner,
    /// Something that is not the token: a ticket, which is looked up and used up at an attach.
    Ticket(String),
}

/// Why a request does not come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The `Host` is none of ours.
    #[error(
        "the Host header names another server: use the address that the runner listens on, or allow the name with --host"
    )]
    Host,
    /// A page of another site asks.
    #[error("the Origin is not allowed: start the runner with --origin and exactly this origin")]
    Origin,
    /// A browser asks for a page of another site.
    #[error("requests from pages of another site are not allowed")]
    Site,
    /// Nothing was shown.
    #[error("no token: send the contents of the token file as `Authorization: Bearer TOKEN`")]
    NoToken,
    /// Something wrong was shown.
    #[error("the token is wrong: send the contents of the runner's token file")]
    WrongToken,
}

impl Refusal {
    /// A stable name.
    #[must_use]
    pub(crate) const fn code(self) -> &'static str {
        match self {
            Self::Host => "HOST_REFUSED",
            Self::Origin => "ORIGIN_REFUSED",
            Self::Site => "SITE_REFUSED",
            Self::NoToken => "TOKEN_MISSING",
            Self::WrongToken => "TOKEN_WRONG",
        }
    }

    /// Whether something was shown and was wrong, so that the next try is made to wait.
    #[must_use]
    pub(crate) const fn is_a_guess(self) -> bool {
        matches!(self, Self::WrongToken)
    }
}

impl Gate {
    /// Decides about a request from its head.
    pub(crate) fn admit(&self, parts: &Parts, line: Line) -> Result<Pass, Refusal> {
        if line == Line::Network {
            self.check_host(parts)?;
        }
        let has_origin = self.check_origin(&parts.headers)?;
        let shown = Shown::of(&parts.headers)?;
        match (line, shown) {
            (Line::Local, None) => Ok(Pass::Owner),
            (Line::Network, None) => Err(Refusal::NoToken),
            // Only a browser must hide its token in the subprotocol, and browsers say the origin.
            (Line::Network, Some(shown)) if shown.in_protocol && !has_origin => {
                Err(Refusal::NoToken)
            }
            (_, Some(shown)) => self.check_token(&shown),
        }
    }

    fn check_token(&self, shown: &Shown) -> Result<Pass, Refusal> {
        if self.token.is_of(shown.secret.as_bytes()) {
            Ok(Pass::Owner)
        } else if shown.is_ticket() {
            Ok(Pass::Ticket(shown.secret.clone()))
        } else {
            Err(Refusal::WrongToken)
        }
    }

    /// HTTP/2 says the host in `:authority`, which is the URI's here.
    fn check_host(&self, parts: &Parts) -> Result<(), Refusal> {
        let named = only(&parts.headers, &HOST).map_err(|_| Refusal::Host)?;
        let authority = parts.uri.authority().map(|it| it.as_str());
        let is_ours = |host: &str| self.hosts.iter().any(|it| it.eq_ignore_ascii_case(host));
        match (named, authority) {
            (None, None) => Err(Refusal::Host),
            (named, authority) => {
                let all_ours = named.into_iter().chain(authority).all(is_ours);
                all_ours.then_some(()).ok_or(Refusal::Host)
            }
        }
    }

    /// Whether a page asks, which must be one of those that may. A page that may is allowed to be
    /// of another site: that is what its origin was listed for.
    fn check_origin(&self, headers: &HeaderMap) -> Result<bool, Refusal> {
        let origin = only(headers, &ORIGIN).map_err(|_| Refusal::Origin)?;
        let site = only(headers, &FETCH_SITE).map_err(|_| Refusal::Site)?;
        match (origin, site) {
            (Some(origin), _) if self.origins.iter().any(|it| it == origin) => Ok(true),
            (Some(_), _) => Err(Refusal::Origin),
            (None, None | Some("none" | "same-origin")) => Ok(false),
            (None, Some(_)) => Err(Refusal::Site),
        }
    }
}

/// The text of a header that may be there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}
