//! Connecting: the URL, and the options of the client.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions};

use super::credentials::{FleetSettings, NatsCredentials, NatsSecret};
use super::refusals::Reports;

/// Oldest version of the server that has what the fleet needs.
const MIN_VERSION: (i64, i64, i64) = (2, 12, 0);

/// Time for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between two pings. The client gives a connection up after three of them without an answer, as to a
/// server that is frozen or behind a dead link.
const PING_EVERY: Duration = Duration::from_secs(3);

/// Pause before the second attempt to connect again, doubled for each later one. The first is made at once, and often at
/// the server that has ended; with three servers, the third attempt is the last that can be in vain after one ended.
const RECONNECT_AFTER: Duration = Duration::from_millis(20);
const MAX_RECONNECT_AFTER: Duration = Duration::from_secs(2);

/// Returns the pause before an attempt, which are counted from 1.
fn reconnect_pause(attempt: usize) -> Duration {
    match attempt {
        0 | 1 => Duration::ZERO,
        _ => RECONNECT_AFTER
            .saturating_mul(1 << (attempt - 2).min(8))
            .min(MAX_RECONNECT_AFTER),
    }
}

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
    /// What the credentials say of the fleet.
    pub(super) settings: FleetSettings,
    /// The name of the user, if the credentials have one.
    pub(super) user: Option<String>,
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
            .reconnect_delay_callback(reconnect_pause)
            .event_callback(move |event| {
                let reports = on_event.clone();
                async move { reports.on_event(event) }
            });
        if let Some(NatsCredentials { user, secret, .. }) = credentials {
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
        Ok(Self {
            client,
            reports,
            url: url.clone(),
            settings: credentials.map(|it| it.settings).unwrap_or_default(),
            user: credentials.and_then(|it| it.user.clone()),
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
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::TcpListener;

    use super::*;

    /// Accepts a connection as a server of a version does, and returns its address.
    async fn server(version: &'static str) -> FleetUrl {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a client");
            let (read, mut write) = stream.into_split();
            let info =
                serde_json::json!({ "server_id": "S", "version": version, "max_payload": 1 << 20 });
            let greeting = format!("INFO {info}\r\n");
            write
                .write_all(greeting.as_bytes())
                .await
                .expect("a client");
            let mut lines = BufReader::new(read).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if line == "PING" {
                    write.write_all(b"PONG\r\n").await.expect("a client");
                }
            }
        });
        format!("nats://{address}").parse().expect("an address")
    }

    #[tokio::test]
    async fn old_server_is_refused_with_its_version() {
        let url = server("2.9.10").await;
        let refused = Connection::open(&url, None, "test").await;
        let Err(error @ ConnectError::TooOld { .. }) = refused else {
            panic!("{refused:?}");
        };
        let line = format!(
            "the NATS server at {url} has version 2.9.10, and 2.12 or later is needed; update it"
        );
        assert_eq!(error.to_string(), line);
        let url = server("2.12.0").await;
        let opened = Connection::open(&url, None, "test").await;
        assert_eq!(opened.expect("new enough").version(), "2.12.0");
    }

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
}
