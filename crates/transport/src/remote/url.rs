//! The address of a runner.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The address of a runner. As text:
///
/// | text | address |
/// |---|---|
/// | `unix:/path` | a runner's Unix socket on this machine |
/// | `http://host:port` | a runner without TLS; loopback only, since the token is readable on the network |
/// | `https://host:port` | a runner with TLS |
/// | `grpc://host:port`, `grpcs://host:port` | the same two, with frames over gRPC instead of WebSocket (feature `grpc`) |
/// | `shim:/path` | the Unix socket of a single session, without a runner |
///
/// A URL has no token, user, path or query, since URLs appear in logs and process tables.
///
/// ```
/// use bowline_transport::RemoteUrl;
///
/// let url: RemoteUrl = "https://runner.example:7420".parse()?;
/// assert!(url.is_private());
/// # Ok::<(), bowline_transport::BadUrl>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RemoteUrl {
    /// A runner's Unix socket.
    Unix(PathBuf),
    /// The Unix socket of one session.
    Shim(PathBuf),
    /// A runner on a network.
    Tcp {
        /// A host name or an IP address; IPv6 without brackets.
        host: String,
        /// The port; 80 or 443 if the text has none.
        port: u16,
        /// Whether the connection uses TLS.
        tls: bool,
        /// The protocol that carries the frames of a session.
        carrier: Carrier,
    },
}

/// The protocol that carries the frames of a session. REST requests use HTTP/1.1 with either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Carrier {
    /// Binary WebSocket messages (RFC 6455).
    #[default]
    WebSocket,
    /// The bidirectional stream `Attach` of `bowline.runner.v1.Runner`, over HTTP/2.
    Grpc,
}

/// The text is not the URL of a runner.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid runner URL: {reason}; use unix:/path, http://host:port, https://host:port, grpc://host:port or grpcs://host:port"
)]
pub struct BadUrl {
    reason: &'static str,
}

impl RemoteUrl {
    /// Returns whether others cannot read the traffic: it stays on this machine or is encrypted.
    #[must_use]
    pub fn is_private(&self) -> bool {
        match self {
            Self::Unix(_) | Self::Shim(_) => true,
            Self::Tcp { host, tls, .. } => *tls || is_loopback(host),
        }
    }

    /// Returns the protocol that carries the frames of a session.
    #[must_use]
    pub const fn carrier(&self) -> Carrier {
        match self {
            Self::Unix(_) | Self::Shim(_) => Carrier::WebSocket,
            Self::Tcp { carrier, .. } => *carrier,
        }
    }

    /// Returns the `Host` of a request.
    pub(super) fn authority(&self) -> String {
        match self {
            Self::Unix(_) | Self::Shim(_) => "localhost".to_owned(),
            Self::Tcp { host, port, .. } if host.contains(':') => format!("[{host}]:{port}"),
            Self::Tcp { host, port, .. } => format!("{host}:{port}"),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    address.map_or(host == "localhost", |address| address.is_loopback())
}

impl FromStr for RemoteUrl {
    type Err = BadUrl;

    fn from_str(text: &str) -> Result<Self, BadUrl> {
        if let Some(path) = text.strip_prefix("unix:") {
            return absolute(path).map(Self::Unix);
        }
        if let Some(path) = text.strip_prefix("shim:") {
            return absolute(path).map(Self::Shim);
        }
        let (scheme, rest) = text.split_once("://").ok_or(UNKNOWN_SCHEME)?;
        let (tls, carrier) = match scheme {
            "http" => (false, Carrier::WebSocket),
            "https" => (true, Carrier::WebSocket),
            "grpc" | "grpcs" if !cfg!(feature = "grpc") => return Err(NO_GRPC),
            "grpc" => (false, Carrier::Grpc),
            "grpcs" => (true, Carrier::Grpc),
            _ => return Err(UNKNOWN_SCHEME),
        };
        let (host, port) = split(rest.strip_suffix('/').unwrap_or(rest))?;
        Ok(Self::Tcp {
            host: host.to_owned(),
            port: port.unwrap_or(if tls { 443 } else { 80 }),
            tls,
            carrier,
        })
    }
}

const UNKNOWN_SCHEME: BadUrl = BadUrl {
    reason: "the scheme is unknown",
};

const NO_GRPC: BadUrl = BadUrl {
    reason: "gRPC is not compiled in (feature `grpc`)",
};

fn absolute(path: &str) -> Result<PathBuf, BadUrl> {
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let reason = "the path of the socket is not absolute";
    Err(BadUrl { reason })
}

/// Splits host and port. Refuses the other parts of a URL.
fn split(authority: &str) -> Result<(&str, Option<u16>), BadUrl> {
    if authority.contains(['/', '?', '#', '@']) {
        let reason = "it has more than a host and a port";
        return Err(BadUrl { reason });
    }
    let bad = BadUrl {
        reason: "the host is missing or the port is not a number",
    };
    let (host, rest) = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or_else(|| bad.clone())?,
        None => match authority.find(':') {
            Some(colon) => authority.split_at(colon),
            None => (authority, ""),
        },
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => Some(port.parse().map_err(|_| bad.clone())?),
        None if rest.is_empty() => None,
        None => return Err(bad),
    };
    if host.is_empty() || !host.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(bad);
    }
    Ok((host, port))
}

impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Shim(path) => write!(f, "shim:{}", path.display()),
            Self::Tcp { tls, carrier, .. } => {
                let scheme = match (carrier, tls) {
                    (Carrier::WebSocket, false) => "http",
                    (Carrier::WebSocket, true) => "https",
                    (Carrier::Grpc, false) => "grpc",
                    (Carrier::Grpc, true) => "grpcs",
                };
                write!(f, "{scheme}://{}", self.authority())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_round_trip() {
        for (text, written, is_private) in [
            ("unix:/run/b.sock", "unix:/run/b.sock", true),
            ("unix:///run/b.sock", "unix:/run/b.sock", true),
            ("shim:/run/s/sock", "shim:/run/s/sock", true),
            ("http://127.0.0.1:7070/", "http://127.0.0.1:7070", true),
            ("http://[::1]:7070", "http://[::1]:7070", true),
            ("http://localhost", "http://localhost:80", true),
            ("http://runner:1", "http://runner:1", false),
            ("https://runner.example", "https://runner.example:443", true),
        ] {
            let url: RemoteUrl = text.parse().unwrap();
            assert_eq!(
                (url.to_string().as_str(), url.is_private()),
                (written, is_private)
            );
            assert_eq!(written.parse(), Ok(url));
        }
    }

    #[test]
    fn invalid_urls_are_refused() {
        for text in [
            "",
            "runner:7070",
            "ftp://runner",
            "unix:relative",
            "http://",
            "http://:80",
            "http://token@runner",
            "http://runner/?token=x",
            "http://runner/path",
            "http://runner:99999",
            "http://[::1",
            "http://run ner",
        ] {
            assert!(text.parse::<RemoteUrl>().is_err(), "{text}");
        }
    }
}
