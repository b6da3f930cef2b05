//! Credentials, and what a file of `bowline fleet init` says of its fleet.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How much of the logs the servers keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogLimits {
    /// Days after which what was copied is removed; `None` keeps it.
    pub days: Option<u32>,
    /// Size in bytes at which no more is copied; `None` is what the servers' disks have.
    pub bytes: Option<u64>,
}

/// What `bowline fleet init` was asked for. Each runner's file has it, since runners create the stream of logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetSettings {
    /// Replicas of what the servers keep; `None` takes what they can have.
    pub replicas: Option<usize>,
    /// Limits of the stream of logs.
    pub log: LogLimits,
}

/// Names of the settings in a file.
const REPLICAS: &str = "replicas";
const LOG_DAYS: &str = "log-days";
const LOG_BYTES: &str = "log-bytes";

impl fmt::Display for FleetSettings {
    /// Formats the settings as lines of a file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: Option<u64>| match value {
            Some(value) => writeln!(f, "{name} {value}"),
            None => Ok(()),
        };
        line(REPLICAS, self.replicas.map(|it| it as u64))?;
        line(LOG_DAYS, self.log.days.map(u64::from))?;
        line(LOG_BYTES, self.log.bytes)
    }
}

/// Credentials: a user's JWT with its key (`.creds`), or a file of `bowline fleet init`, with the lines `user NAME`
/// and `nkey SEED`, and the settings of the fleet.
#[derive(Clone)]
pub struct NatsCredentials {
    pub(super) user: Option<String>,
    pub(super) secret: NatsSecret,
    pub(super) settings: FleetSettings,
}

#[derive(Clone)]
pub(super) enum NatsSecret {
    Jwt(String),
    Seed(String),
}

impl fmt::Debug for NatsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NatsCredentials")
            .field("user", &self.user)
            .field("settings", &self.settings)
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
    /// A setting that is no number.
    #[error("`{name}` in {path} is not a number; correct it, or remove the line")]
    Setting {
        /// The file.
        path: String,
        /// The setting.
        name: &'static str,
    },
}

impl NatsCredentials {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read, has no credentials, or has a setting that is no number.
    pub fn read(path: &Path) -> Result<Self, BadCredentials> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|source| BadCredentials::Read {
            path: name.clone(),
            source,
        })?;
        Self::parse(&text, &name)
    }

    /// Returns the name of the user, if the file has one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns what the file says of the fleet.
    #[must_use]
    pub const fn settings(&self) -> FleetSettings {
        self.settings
    }

    fn parse(text: &str, path: &str) -> Result<Self, BadCredentials> {
        let empty = || BadCredentials::Empty {
            path: path.to_owned(),
        };
        if text.contains("BEGIN NATS USER JWT") {
            return Ok(Self {
                user: None,
                secret: NatsSecret::Jwt(text.to_owned()),
                settings: FleetSettings::default(),
            });
        }
        Ok(Self {
            user: value(text, "user").map(str::to_owned),
            secret: NatsSecret::Seed(value(text, "nkey").ok_or_else(empty)?.to_owned()),
            settings: FleetSettings {
                replicas: number(text, path, REPLICAS)?,
                log: LogLimits {
                    days: number(text, path, LOG_DAYS)?,
                    bytes: number(text, path, LOG_BYTES)?,
                },
            },
        })
    }
}

/// Returns the rest of the first line that begins with a word.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(' '));
    lines.find(|it| it.0 == name).map(|it| it.1.trim())
}

fn number<T: FromStr>(
    text: &str,
    path: &str,
    name: &'static str,
) -> Result<Option<T>, BadCredentials> {
    let bad = |_| BadCredentials::Setting {
        path: path.to_owned(),
        name,
    };
    value(text, name).map(str::parse).transpose().map_err(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<NatsCredentials, BadCredentials> {
        NatsCredentials::parse(text, "a.creds")
    }

    #[test]
    fn credentials_are_read_in_both_forms() {
        let ours = parse("# a comment\nuser laptop\nnkey SUAB\n").unwrap();
        assert_eq!(ours.user(), Some("laptop"));
        assert_eq!(ours.settings(), FleetSettings::default());
        assert!(!format!("{ours:?}").contains("SUAB"));
        let jwt = parse("-----BEGIN NATS USER JWT-----\nx").unwrap();
        assert!(matches!(jwt.secret, NatsSecret::Jwt(_)));
        let empty = parse("user laptop\n").unwrap_err().to_string();
        assert_eq!(
            empty,
            "a.creds has no credentials; pass a .creds file, or one that `bowline fleet init` wrote"
        );
    }

    #[test]
    fn settings_of_the_fleet_are_read_back() {
        let settings = FleetSettings {
            replicas: Some(3),
            log: LogLimits {
                days: Some(30),
                bytes: Some(5_000_000_000),
            },
        };
        let read = parse(&format!("user a\nnkey SUAB\n{settings}")).unwrap();
        assert_eq!(read.settings(), settings);
        assert_eq!(FleetSettings::default().to_string(), "");
        let bad = parse("nkey SUAB\nlog-days many\n").unwrap_err().to_string();
        let line = "`log-days` in a.creds is not a number; correct it, or remove the line";
        assert_eq!(bad, line);
    }
}
