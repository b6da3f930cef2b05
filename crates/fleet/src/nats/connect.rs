//! Connecting: the URL, the credentials and the options of the client.

use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions};

use super::refusals::Reports;

/// Oldest version of the server that has what the fleet needs.
const MIN_VERSION: (i64, i64, i64) = (2, 12, 0);

/// Time for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between two pings. The client gives a connection up after three of them without an answer, as to a
/// server that is frozen or behind a dead link.
const PING_EVERY: Duration = Duration::from_secs(3);

/// Pauses between attempts to connect again.
const RECONNECT_AFTER: Duration = Duration::from_millis(100);
const MAX_RECONNECT_AFTER: Duration = Duration::from_secs(2);

/// Maximum number of unread messages of a subscription, after which the client drops messages: more than the credit of a link.
const SUBSCRIPTION_QUEUE: usize = 4096;

/// The address of NATS servers: `nats`, `tls`, `ws` or `wss://host:port`, or several with commas between. It has
/// no user and no password, since URLs appear in process tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetUrl(Vec<String>);

/// A text that is not a [`FleetUrl`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the address of a NATS server; write nats, tls, ws or wss://host:port, and pass secrets with --creds"
)]
pub struct BadFleetUrl(String);

impl FromStr for FleetUrl {
    type Err = BadFleetUrl;

    fn from_str(text: &str) -> Result<Self, BadFleetUrl> {
        let urls: Vec<_> = text.split(',').map(|it| it.trim().to_owned()).collect();
        let is_address = |url: &String| {
            let rest = ["nats://", "tls://", "ws://", "wss://"];
            let rest = rest.iter().find_map(|scheme| url.strip_prefix(scheme));
            rest.is_some_and(|rest| !rest.is_empty() && !rest.contains('@'))
        };
        if urls.iter().all(is_address) {
            Ok(Self(urls))
        } else {
            Err(BadFleetUrl(text.to_owned()))
        }
    }
}

impl fmt::Display for FleetUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

/// Credentials: a user's JWT with its key (`.creds`), or a file of `bowline fleet init`, with the lines `user NAME`
/// and `nkey SEED`.
#[derive(Clone)]
pub struct NatsCredentials {
    user: Option<String>,
    secret: NatsSecret,
}

#[derive(Clone)]
enum NatsSecret {
    Jwt(String),
    Seed(String),
}

impl fmt::Debug for NatsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsCredentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

/// Why credentials are unusable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadCredentials {
    /// The file cannot be read.
    #[error("read the credentials in {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// It has neither a JWT nor a key.
    #[error(
        "{path} has no credentials; pass a .creds file, or one that `bowline fleet init` wrote"
    )]
    Empty {
        /// The file.
        path: String,
    },
}

impl NatsCredentials {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or has no credentials.
    pub fn read(path: &Path) -> Result<Self, BadCredentials> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| BadCredentials::Read {
            path: name.clone(),
            source,
        })?;
        Self::parse(&text).ok_or(BadCredentials::Empty { path: name })
    }

    /// Returns the name of the user, if the file has one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    fn parse(text: &str) -> Option<Self> {
        if text.contains("BEGIN NATS USER JWT") {
            let secret = NatsSecret::Jwt(text.to_owned());
            return Some(Self { user: None, secret });
        }
        let value = |name: &str| {
            let mut lines = text.lines().filter_map(|line| line.trim().split_once(' '));
            lines
                .find(|it| it.0 == name)
                .map(|it| it.1.trim().to_owned())
        };
        let secret = NatsSecret::Seed(value("nkey")?);
        let user = value("user");
        Some(Self { user, secret })
    }
}

/// Why connecting failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The credentials were refused.
    #[error(
        "the NATS servers at {0} refused the credentials; pass those of this fleet with --creds"
    )]
    Refused(FleetUrl),
    /// The server is too old.
    #[error(
        "the NATS server at {url} has version {version}, and 2.12 or later is needed; update it"
    )]
    TooOld {
        /// The address.
        url: FleetUrl,
        /// Its version.
        version: String,
    },
    /// The key in the credentials cannot sign.
    #[error(
        "the key in the credentials is not usable; pass a file that `bowline fleet init` wrote"
    )]
    BadKey,
    /// Another failure.
    #[error("reach the NATS servers at {url}: {reason}; check the address and that a server runs")]
    Unreachable {
        /// The address.
        url: FleetUrl,
        /// The reason.
        reason: String,
    },
}

/// A connection to the servers of a fleet. It is made again whenever it is lost.
#[derive(Clone, Debug)]
pub struct Connection {
    pub(super) client: Client,
    pub(super) reports: Reports,
    pub(super) url: FleetUrl,
}

impl Connection {
    /// Connects. `name` is what the servers list.
    ///
    /// # Errors
    ///
    /// No server answers, the credentials are refused, or the server is too old.
    pub async fn open(
        url: &FleetUrl,
        credentials: Option<&NatsCredentials>,
        name: &str,
    ) -> Result<Self, ConnectError> {
        let reports = Reports::default();
        let on_event = reports.clone();
        let mut options = ConnectOptions::new()
            .name(name)
            .connection_timeout(CONNECT_TIMEOUT)
            .ping_interval(PING_EVERY)
            .subscription_capacity(SUBSCRIPTION_QUEUE)
            .reconnect_delay_callback(|attempts| {
                let pause = RECONNECT_AFTER.saturating_mul(1 << attempts.min(8));
                pause.min(MAX_RECONNECT_AFTER)
            })
            .event_callback(move |event| {
                let reports = on_event.clone();
                async move { reports.on_event(event) }
            });
        if let Some(NatsCredentials { user, secret }) = credentials {
            if let Some(user) = user {
                options = options.custom_inbox_prefix(format!("_INBOX.{user}"));
            }
            options = match secret {
                NatsSecret::Jwt(text) => options
                    .credentials(text)
                    .map_err(|_| ConnectError::BadKey)?,
                NatsSecret::Seed(seed) => options.nkey(seed.clone()),
            };
        }
        let client = options.connect(url.0.clone()).await;
        let client = client.map_err(|error| match error.kind() {
            ConnectErrorKind::AuthorizationViolation => ConnectError::Refused(url.clone()),
            ConnectErrorKind::Authentication => ConnectError::BadKey,
            _ => ConnectError::Unreachable {
                url: url.clone(),
                reason: error.to_string(),
            },
        })?;
        let (major, minor, patch) = MIN_VERSION;
        if !client.is_server_compatible(major, minor, patch) {
            return Err(ConnectError::TooOld {
                url: url.clone(),
                version: client.server_info().version,
            });
        }
        let url = url.clone();
        Ok(Self {
            client,
            reports,
            url,
        })
    }

    /// Returns the address.
    #[must_use]
    pub const fn url(&self) -> &FleetUrl {
        &self.url
    }

    /// Returns the version of the server.
    #[must_use]
    pub fn version(&self) -> String {
        self.client.server_info().version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_has_no_secret() {
        for good in ["nats://h:4222", "tls://a:1,tls://b:1", "wss://h"] {
            assert_eq!(good.parse::<FleetUrl>().unwrap().to_string(), good);
        }
        for bad in [
            "",
            "h:4222",
            "http://h",
            "nats://",
            "nats://u:p@h",
            "nats://a,b",
        ] {
            assert!(bad.parse::<FleetUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn credentials_are_read_in_both_forms() {
        let ours = NatsCredentials::parse("# a comment\nuser laptop\nnkey SUAB\n").unwrap();
        assert_eq!(ours.user.as_deref(), Some("laptop"));
        assert!(!format!("{ours:?}").contains("SUAB"));
        let jwt = NatsCredentials::parse("-----BEGIN NATS USER JWT-----\nx").unwrap();
        assert!(matches!(jwt.secret, NatsSecret::Jwt(_)));
        assert!(NatsCredentials::parse("user laptop\n").is_none());
    }
}
