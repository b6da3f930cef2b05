//! The backend's URL, and what a POST to it came to.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use hyper::Uri;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use crate::http::{PostTarget, Tls};
use crate::{HookBackend, HookServerError, HookTokenProvider};

/// Delivers a body to a backend.
pub(super) trait Deliver: Send + Sync + 'static {
    fn deliver(&self, body: Bytes) -> impl Future<Output = Result<(), DeliveryError>> + Send;
}

/// Why a server did not accept what was posted to it. See [`Webhook`](crate::Webhook).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeliveryError {
    /// The connection failed.
    Connection(String),
    /// There was no response in time.
    Timeout,
    /// The response has this status.
    Status(u16),
    /// The backend refused the token of the provider, which is asked for another one.
    TokenRefused,
    /// There is no token.
    NoToken(String),
}

impl DeliveryError {
    /// Returns whether another attempt may succeed (RFC 9110, 15: the statuses that are temporary).
    #[must_use]
    pub const fn is_transient(&self) -> bool {
        match self {
            Self::Connection(_) | Self::Timeout | Self::TokenRefused | Self::NoToken(_) => true,
            Self::Status(status) => matches!(status, 408 | 425 | 429 | 500..),
        }
    }
}

impl fmt::Display for DeliveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(reason) => write!(f, "cannot reach the backend: {reason}"),
            Self::Timeout => f.write_str("no response from the backend in time"),
            Self::Status(status) => write!(f, "the backend answered {status}"),
            Self::TokenRefused => f.write_str("the backend refused the token"),
            Self::NoToken(reason) => write!(f, "no token for the backend: {reason}"),
        }
    }
}

impl std::error::Error for DeliveryError {}

impl Deliver for PostTarget {
    async fn deliver(&self, body: Bytes) -> Result<(), DeliveryError> {
        let posted = self.post(body).await;
        let posted = posted.map_err(|error| DeliveryError::Connection(error.0))?;
        let status = posted.response.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(DeliveryError::Status(status.as_u16()))
        }
    }
}

/// A target whose tokens come from a provider, if there is one.
#[derive(Debug)]
pub(super) struct BackendTarget {
    post: PostTarget,
    tokens: Option<Arc<dyn HookTokenProvider>>,
    /// Whether the last token was refused.
    was_refused: AtomicBool,
}

impl Deliver for BackendTarget {
    async fn deliver(&self, body: Bytes) -> Result<(), DeliveryError> {
        let Some(tokens) = &self.tokens else {
            return self.post.deliver(body).await;
        };
        let was_refused = self.was_refused.swap(false, Ordering::Relaxed);
        let token = tokens.token(was_refused).await;
        let mut target = self.post.clone();
        if let Some(token) = token.map_err(DeliveryError::NoToken)? {
            let bearer = bearer(&token).map_err(DeliveryError::NoToken)?;
            target.headers.insert(AUTHORIZATION, bearer);
        }
        match target.deliver(body).await {
            Err(DeliveryError::Status(401)) => {
                self.was_refused.store(true, Ordering::Relaxed);
                Err(DeliveryError::TokenRefused)
            }
            delivered => delivered,
        }
    }
}

/// Checks the backend's URL, token and certificates.
pub(super) fn target(backend: &HookBackend) -> Result<BackendTarget, HookServerError> {
    let post = parse(backend).map_err(|reason| HookServerError::Backend {
        url: backend.url.clone(),
        reason,
    })?;
    Ok(BackendTarget {
        post,
        tokens: backend.token_provider.clone(),
        was_refused: AtomicBool::new(false),
    })
}

fn bearer(token: &SecretString) -> Result<HeaderValue, String> {
    let bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()));
    let mut bearer = bearer.map_err(|_| "its token is not a valid header value")?;
    // Keeps it out of `Debug`.
    bearer.set_sensitive(true);
    Ok(bearer)
}

fn parse(backend: &HookBackend) -> Result<PostTarget, String> {
    let authorities = backend.authorities.as_deref();
    let mut target = endpoint(&backend.url, authorities, backend.allow_clear_text)?;
    let base = target.path.split('?').next().unwrap_or_default();
    target.path = path(base, &backend.session_id);
    if let Some(token) = &backend.token {
        target.headers.insert(AUTHORIZATION, bearer(token)?);
    }
    Ok(target)
}

/// Reads a URL, whose path and query stay as they are.
pub(super) fn endpoint(
    url: &str,
    authorities: Option<&Path>,
    allow_clear_text: bool,
) -> Result<PostTarget, String> {
    let uri = url.parse::<Uri>();
    let uri = uri.map_err(|_| "it is not a URL; pass one such as https://backend.example")?;
    let authority = uri.authority().filter(|it| !it.as_str().contains('@'));
    let authority = authority.ok_or("it has no host, or has credentials; leave them out")?;
    let host = authority.host().trim_matches(['[', ']']);
    let (tls, port) = match uri.scheme_str() {
        Some("https") => (Some(tls(host, authorities)?), 443),
        Some("http") if is_loopback(host) || allow_clear_text => (None, 80),
        Some("http") => {
            return Err(
                "it is on another machine and http:// is not encrypted; use https:// or set \
                 allow_clear_text"
                    .to_owned(),
            );
        }
        _ => return Err("its scheme is neither https:// nor http://".to_owned()),
    };
    let value = |text: &str| HeaderValue::from_str(text);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Ok(PostTarget {
        host: host.to_owned(),
        port: authority.port_u16().unwrap_or(port),
        tls,
        authority: value(authority.as_str()).map_err(|_| "it is not a URL")?,
        path: uri
            .path_and_query()
            .map_or("/", |it| it.as_str())
            .to_owned(),
        headers,
    })
}

#[cfg(feature = "https")]
fn tls(host: &str, authorities: Option<&Path>) -> Result<Tls, String> {
    Tls::new(host, authorities)
}

#[cfg(not(feature = "https"))]
fn tls(_: &str, _: Option<&Path>) -> Result<Tls, String> {
    Err("TLS is not compiled in; enable the feature `https` of bowline-hooks".to_owned())
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

/// The path of a session's events; reserved bytes of the id are percent-encoded (RFC 3986, 2.1).
fn path(base: &str, session_id: &str) -> String {
    let mut path = format!("{}/api/sessions/", base.trim_end_matches('/'));
    for byte in session_id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path.push_str("/events");
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<PostTarget, String> {
        let mut backend = HookBackend::new(url, "s/1");
        backend.token = Some("hunter2".into());
        let target = target(&backend).map_err(|error| error.to_string());
        target.map(|it| it.post)
    }

    #[test]
    fn url_and_session_become_a_target_that_shows_no_token() {
        let target = parsed("http://localhost:4000/base/").unwrap();
        assert_eq!((target.host.as_str(), target.port), ("localhost", 4000));
        assert_eq!(target.path, "/base/api/sessions/s%2F1/events");
        assert!(!format!("{target:?}").contains("hunter2"));
    }

    #[test]
    fn insecure_or_invalid_url_is_refused() {
        for (url, reason) in [
            ("ftp://backend.invalid", "neither https:// nor http://"),
            ("http://backend.invalid", "another machine"),
            ("http://10.0.0.1", "another machine"),
            ("http://user:pass@localhost", "leave them out"),
            ("localhost", "neither https:// nor http://"),
            ("http://local host", "not a URL"),
        ] {
            let error = parsed(url).unwrap_err();
            assert!(
                error.contains(reason) && !error.contains("hunter2"),
                "{url}: {error}"
            );
        }
        assert!(parsed("http://[::1]:1").is_ok());
    }

    #[cfg(feature = "https")]
    #[test]
    fn https_takes_its_port_and_readable_authorities() {
        let secure = parsed("https://backend.invalid/x").unwrap();
        assert_eq!((secure.port, secure.tls.is_some()), (443, true));
        let mut backend = HookBackend::new("https://backend.invalid", "s");
        backend.authorities = Some("/no/such/file".into());
        let error = target(&backend).unwrap_err().to_string();
        assert!(error.contains("authorities /no/such/file"), "{error}");
    }
}
