//! One POST to the backend.

use std::fmt;
use std::net::IpAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::super::{HookBackend, HookServerError};
use super::tls::Tls;

/// Brings a body to a backend.
pub(super) trait Post: Send + Sync + 'static {
    fn post(&self, body: Bytes) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Why a backend did not take an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// It was not reached, or hung up.
    Link(String),
    /// It took too long.
    NoAnswer,
    /// It answered with this status.
    Status(u16),
}

impl Failure {
    /// Whether another try may go better.
    pub(super) const fn may_pass(&self) -> bool {
        match self {
            Self::Link(_) | Self::NoAnswer => true,
            Self::Status(status) => matches!(status, 408 | 425 | 429 | 500..),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(why) => write!(f, "the backend was not reached: {why}"),
            Self::NoAnswer => f.write_str("the backend gave no answer in time"),
            Self::Status(status) => write!(f, "the backend answered {status}"),
        }
    }
}

/// The backend's address and what is shown there.
#[derive(Debug)]
pub(super) struct Target {
    host: String,
    port: u16,
    /// None in clear text.
    tls: Option<Tls>,
    authority: HeaderValue,
    path: String,
    authorization: Option<HeaderValue>,
}

impl Target {
    pub(super) fn of(backend: &HookBackend) -> Result<Self, HookServerError> {
        Self::taken_apart(backend).map_err(|reason| HookServerError::Backend {
            url: backend.url.clone(),
            reason,
        })
    }

    fn taken_apart(backend: &HookBackend) -> Result<Self, String> {
        let uri = backend.url.parse::<Uri>();
        let uri =
            uri.map_err(|_| "it is not an address, give one such as https://backend.example")?;
        let authority = uri.authority().filter(|it| !it.as_str().contains('@'));
        let authority = authority.ok_or("it has no host, or a password: leave it out")?;
        let host = authority.host().trim_matches(['[', ']']);
        let (tls, port) = match uri.scheme_str() {
            Some("https") => (Some(Tls::new(host, backend.authorities.as_deref())?), 443),
            Some("http") if is_loopback(host) || backend.allow_clear_text => (None, 80),
            Some("http") => {
                return Err(
                    "it is another machine and http:// hides nothing: use https://, or \
                            allow clear text"
                        .to_owned(),
                );
            }
            _ => return Err("it is neither https:// nor http://".to_owned()),
        };
        Ok(Self {
            host: host.to_owned(),
            port: authority.port_u16().unwrap_or(port),
            tls,
            authority: header(authority.as_str()).ok_or("it is not an address")?,
            path: path(uri.path(), &backend.session_id),
            authorization: authorization(backend)
                .map_err(|()| "its token cannot stand in a header, check it")?,
        })
    }

    async fn exchange(&self, body: Bytes) -> Result<StatusCode, Failure> {
        let stream = TcpStream::connect((self.host.as_str(), self.port));
        let stream = stream.await.map_err(link)?;
        match &self.tls {
            None => self.ask(stream, body).await,
            Some(tls) => {
                let secured = tls.connector.connect(tls.name.clone(), stream);
                self.ask(secured.await.map_err(link)?, body).await
            }
        }
    }

    async fn ask(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        body: Bytes,
    ) -> Result<StatusCode, Failure> {
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(link)?;
        let mut response = std::pin::pin!(sender.send_request(self.request(body)?));
        // The connection is driven here, and is gone with this call. It may end in the same moment
        // in which it hands over the response.
        let response = tokio::select! {
            biased;
            response = &mut response => response,
            _ = connection => response.await,
        };
        Ok(response.map_err(link)?.status())
    }

    fn request(&self, body: Bytes) -> Result<Request<Full<Bytes>>, Failure> {
        let mut request = Request::post(&self.path)
            .header(HOST, self.authority.clone())
            .header(CONTENT_TYPE, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        request.body(Full::new(body)).map_err(link)
    }
}

impl Post for Target {
    async fn post(&self, body: Bytes) -> Result<(), Failure> {
        let status = self.exchange(body).await?;
        if status.is_success() {
            Ok(())
        } else {
            Err(Failure::Status(status.as_u16()))
        }
    }
}

fn authorization(backend: &HookBackend) -> Result<Option<HeaderValue>, ()> {
    let Some(token) = &backend.token else {
        return Ok(None);
    };
    let mut value = header(&format!("Bearer {}", token.expose_secret())).ok_or(())?;
    // Keeps it out of `Debug`.
    value.set_sensitive(true);
    Ok(Some(value))
}

fn header(text: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(text).ok()
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

/// The backend's path for a session; what has a meaning in a path is written by number.
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

fn link(error: impl fmt::Display) -> Failure {
    Failure::Link(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(url: &str) -> Result<Target, String> {
        let mut backend = HookBackend::new(url, "s/1");
        backend.token = Some("hunter2".into());
        Target::of(&backend).map_err(|error| error.to_string())
    }

    #[test]
    fn a_backend_is_taken_apart() {
        let target = target("http://localhost:4000/base/").unwrap();
        assert_eq!((target.host.as_str(), target.port), ("localhost", 4000));
        assert_eq!(target.path, "/base/api/sessions/s%2F1/events");
        assert!(!format!("{target:?}").contains("hunter2"));
    }

    #[test]
    fn a_backend_that_would_give_secrets_away_is_refused() {
        for (url, why) in [
            ("ftp://backend.invalid", "neither https:// nor http://"),
            ("http://backend.invalid", "another machine"),
            ("http://10.0.0.1", "another machine"),
            ("http://user:pass@localhost", "leave it out"),
            ("localhost", "neither https:// nor http://"),
            ("http://local host", "not an address"),
        ] {
            let said = target(url).unwrap_err();
            assert!(
                said.contains(why) && !said.contains("hunter2"),
                "{url}: {said}"
            );
        }
        assert!(target("http://[::1]:1").is_ok());
        let secure = target("https://backend.invalid/x").unwrap();
        assert_eq!((secure.port, secure.tls.is_some()), (443, true));
        let mut backend = HookBackend::new("https://backend.invalid", "s");
        backend.authorities = Some("/no/such/file".into());
        let said = Target::of(&backend).unwrap_err().to_string();
        assert!(said.contains("/no/such/file cannot be used"), "{said}");
    }
}
