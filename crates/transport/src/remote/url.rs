//! Where a runner is.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where a runner listens. As text:
///
/// | text | what is there |
/// |---|---|
/// | `unix:/path` | a runner's socket on this machine |
/// | `http://host:port` | a runner; this machine only, since the token can be read on the way |
/// | `https://host:port` | a runner behind TLS |
/// | `shim:/path` | the socket of one session, with no runner in between |
///
/// A URL carries no token, no user and no query: those end up in logs and process tables.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RemoteUrl {
    /// A runner's socket.
    Unix(PathBuf),
    /// The socket of one session.
    Shim(PathBuf),
    /// A runner on a network.
    Tcp {
        /// A name or an address; that of IPv6 without brackets.
        host: String,
        /// 80 or 443 where the text has none.
        port: u16,
        /// Whether what is said is encrypted, and the runner proves who it is.
        tls: bool,
    },
}

/// The text is not a runner's URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the runner's URL: {reason}, give unix:/path, http://host:port or https://host:port")]
pub struct BadUrl {
    reason: &'static str,
}

impl RemoteUrl {
    /// Whether nobody else can listen in: it stays on this machine, or is encrypted.
    #[must_use]
    pub fn is_private(&self) -> bool {
        match self {
            Self::Unix(_) | Self::Shim(_) => true,
            Self::Tcp { host, tls, .. } => *tls || is_loopback(host),
        }
    }

    /// What a request says it is for.
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
        let http = text.strip_prefix("http://").map(|rest| (rest, false));
        let https = || text.strip_prefix("https://").map(|rest| (rest, true));
        let (rest, tls) = http.or_else(https).ok_or(BadUrl {
            reason: "it begins with none of the known schemes",
        })?;
        let (host, port) = split(rest.strip_suffix('/').unwrap_or(rest))?;
        let port = port.unwrap_or(if tls { 443 } else { 80 });
        let host = host.to_owned();
        Ok(Self::Tcp { host, port, tls })
    }
}

fn absolute(path: &str) -> Result<PathBuf, BadUrl> {
    let path = Path::new(path.strip_prefix("//").unwrap_or(path));
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let reason = "the socket's path does not begin at the root";
    Err(BadUrl { reason })
}

/// Host and port. Anything else that a URL may have is refused.
fn split(authority: &str) -> Result<(&str, Option<u16>), BadUrl> {
    if authority.contains(['/', '?', '#', '@']) {
        let reason = "it has more than a host and a port";
        return Err(BadUrl { reason });
    }
    let bad = BadUrl {
        reason: "it has no host, or a port that is none",
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
            Self::Tcp { tls: false, .. } => write!(f, "http://{}", self.authority()),
            Self::Tcp { tls: true, .. } => write!(f, "https://{}", self.authority()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_written() {
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
    fn what_has_no_place_in_a_url_is_refused() {
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
