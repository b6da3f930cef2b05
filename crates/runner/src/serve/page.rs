//! The listener of the page: a port on loopback that stays the same, so that open pages find the next daemon.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tracing::warn;

use super::listeners::Network;
use crate::app_state::OpenPage;
use crate::auth::PageAddress;

/// The port of the page, if it is free.
const PORT: u16 = 7420;

/// Ports that are tried after it.
const MORE_PORTS: u16 = 20;

/// File name of the port that was used last, in the state folder.
const PORT_FILE: &str = "page-port";

/// Opens the listener of the page when it is first asked for.
pub(super) struct Page {
    pub(super) state: PathBuf,
    pub(super) address: PageAddress,
    pub(super) network: Network,
}

impl Page {
    /// Opens the listener at once if an earlier daemon had one. A page of it may be open.
    pub(super) async fn reopen(&self) {
        if self.remembered().is_some()
            && let Err(error) = self.open().await
        {
            warn!(%error, "cannot serve the page");
        }
    }

    /// Carries out requests to open the listener, until the daemon stops.
    pub(super) async fn run(self, mut requests: mpsc::Receiver<OpenPage>) {
        let shutdown = self.network.shutdown();
        while let Some(Some(reply)) = shutdown.run_until_cancelled(requests.recv()).await {
            let opened = match self.address.get() {
                Some(_) => Ok(()),
                None => self.open().await,
            };
            // The client may have disconnected.
            let _ = reply.send(opened);
        }
    }

    async fn open(&self) -> io::Result<()> {
        let listener = self.bind().await?;
        let address = listener.local_addr()?;
        let port = address.port().to_string();
        if let Err(error) = fs::write(self.state.join(PORT_FILE), port) {
            warn!(%error, "the next runner may serve the page on another port");
        }
        self.address.set(address);
        tokio::spawn(self.network.clone().serve(listener));
        Ok(())
    }

    /// Binds the port that was used last, else the first free one, else any.
    async fn bind(&self) -> io::Result<TcpListener> {
        let usual = PORT..=PORT + MORE_PORTS;
        for port in self.remembered().into_iter().chain(usual) {
            if let Ok(listener) = TcpListener::bind(address(port)).await {
                return Ok(listener);
            }
        }
        TcpListener::bind(address(0)).await
    }

    fn remembered(&self) -> Option<u16> {
        let port = fs::read_to_string(self.state.join(PORT_FILE)).ok()?;
        port.trim().parse().ok()
    }
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}
