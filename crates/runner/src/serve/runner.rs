//! The daemon as a whole: start and stop.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tracing::info;

use super::configuration::ServeConfiguration;
use super::directory::Directory;
use super::gate::Gate;
use super::hall::Hall;
use super::life::{Life, Lives};
use super::listener::{self, Bound};
use super::tls::{Encryption, TlsError};
use super::token::{TokenError, TokenHash, read_or_create_token};
use crate::doors;

/// A daemon that serves. Dropped, it stops at once; sessions live on in their shims either way.
#[derive(Debug)]
pub struct Runner {
    lives: Lives,
    socket: Option<Bound>,
    addresses: Vec<SocketAddr>,
    fingerprint: Option<String>,
    patience: Duration,
    directory: Arc<Directory>,
}

/// Why a daemon does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Nothing to listen on was given.
    #[error("serve: there is nothing to listen on, give a socket or an address")]
    Nowhere,
    /// An address that others can reach would be served in clear text.
    #[error("listen on {0}: others can reach it, so it needs TLS, give a certificate and its key")]
    ClearText(SocketAddr),
    /// The Unix socket cannot be had.
    #[error("listen on {path}: {source}")]
    Socket {
        /// The socket.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The address cannot be had.
    #[error("listen on {address}: {source}, choose another one")]
    Address {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// The token cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// There is no TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// What a daemon left when it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopReport {
    /// Whether every client was gone in time.
    pub is_clean: bool,
    /// Sessions that run and live on.
    pub running: usize,
}

/// What is listened on, before anything is served.
struct Doorstep {
    local: Option<(UnixListener, Bound)>,
    network: Vec<TcpListener>,
    encryption: Option<Encryption>,
}

impl Runner {
    /// Starts to serve.
    ///
    /// # Errors
    ///
    /// The token, the certificate, the socket or an address cannot be used; nothing is served then.
    pub async fn start(configuration: ServeConfiguration) -> Result<Self, ServeError> {
        let token = read_or_create_token(&configuration.token_file)?;
        let token = TokenHash::of(token.as_bytes());
        let doorstep = Doorstep::new(&configuration).await?;
        let addresses = doorstep.addresses();
        let gate = Gate {
            hosts: hosts(
                &configuration.hosts,
                &addresses,
                doorstep.encryption.is_some(),
            ),
            origins: configuration.origins.clone(),
            token,
        };
        let limits = configuration.limits;
        let directory = Directory::new(configuration.state, configuration.shim, limits.sessions);
        let directory = Arc::new(directory);
        let (lives, life) = Lives::new();
        let hall = Arc::new(Hall::new(
            gate,
            Arc::clone(&directory),
            limits,
            life.clone(),
        ));
        doors::take_over(&hall).await;
        let fingerprint = doorstep
            .encryption
            .as_ref()
            .map(|it| it.fingerprint.clone());
        let socket = doorstep.open(&hall, &life);
        Ok(Self {
            lives,
            socket,
            addresses,
            fingerprint,
            patience: limits.goodbye,
            directory,
        })
    }

    /// The Unix socket, if there is one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_ref().map(Bound::path)
    }

    /// The addresses of the network, with the ports that were given out.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The SHA-256 of the certificate in hexadecimal, if there is TLS.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// Stops: clients are told to come back, and sessions live on in their shims.
    pub async fn stop(self) -> StopReport {
        drop(self.socket);
        let is_clean = self.lives.end(self.patience).await;
        let running = self
            .directory
            .count()
            .await
            .map_or(0, |(running, _)| running);
        info!(is_clean, running, "stopped");
        StopReport { is_clean, running }
    }
}

impl Doorstep {
    async fn new(configuration: &ServeConfiguration) -> Result<Self, ServeError> {
        if configuration.socket.is_none() && configuration.listen.is_empty() {
            return Err(ServeError::Nowhere);
        }
        let encryption = configuration
            .tls
            .as_ref()
            .map(Encryption::new)
            .transpose()?;
        let local = configuration.socket.as_deref().map(bind).transpose()?;
        let mut network = Vec::new();
        for &address in &configuration.listen {
            if encryption.is_none() && !address.ip().is_loopback() {
                return Err(ServeError::ClearText(address));
            }
            let listener = TcpListener::bind(address).await;
            network.push(listener.map_err(|source| ServeError::Address { address, source })?);
        }
        Ok(Self {
            local,
            network,
            encryption,
        })
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        let addresses = self.network.iter().filter_map(|it| it.local_addr().ok());
        addresses.collect()
    }

    fn open(self, hall: &Arc<Hall>, life: &Life) -> Option<Bound> {
        let app = doors::router(hall);
        for listener in self.network {
            let encryption = self.encryption.clone();
            let (app, life) = (app.clone(), life.clone());
            tokio::spawn(listener::serve_network(listener, encryption, app, life));
        }
        let (listener, bound) = self.local?;
        tokio::spawn(listener::serve_local(listener, app, life.clone()));
        Some(bound)
    }
}

fn bind(path: &Path) -> Result<(UnixListener, Bound), ServeError> {
    listener::bind(path).map_err(|source| ServeError::Socket {
        path: path.to_owned(),
        source,
    })
}

/// What `Host` may say: the addresses that are listened on, `localhost` where that leads to one of
/// them, and what was configured; and each of them without its port where that is the scheme's own,
/// which browsers leave out (RFC 9110, section 4.2.3).
fn hosts(configured: &[String], addresses: &[SocketAddr], is_encrypted: bool) -> Vec<String> {
    let mut hosts = configured.to_vec();
    for address in addresses {
        hosts.push(address.to_string());
        if address.ip().is_loopback() {
            hosts.push(format!("localhost:{}", address.port()));
        }
    }
    let port = if is_encrypted { ":443" } else { ":80" };
    let short = |host: &String| host.strip_suffix(port).map(str::to_owned);
    let short: Vec<_> = hosts.iter().filter_map(short).collect();
    hosts.extend(short);
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_of_the_scheme_may_be_left_out() {
        let of = |address: &str, is_encrypted| {
            let address = address.parse().unwrap();
            hosts(&["here.example:443".into()], &[address], is_encrypted)
        };
        let all = [
            "here.example:443",
            "10.0.0.7:443",
            "here.example",
            "10.0.0.7",
        ];
        assert_eq!(of("10.0.0.7:443", true), all);
        assert_eq!(of("[2001:db8::7]:443", true)[3], "[2001:db8::7]");
        assert_eq!(of("10.0.0.7:443", false), all[..2]);
        let at_home = [
            "here.example:443",
            "127.0.0.1:80",
            "localhost:80",
            "127.0.0.1",
            "localhost",
        ];
        assert_eq!(of("127.0.0.1:80", false), at_home);
    }
}
