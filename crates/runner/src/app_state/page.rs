//! The request to serve the page on a loopback address.

use std::io;
use std::net::SocketAddr;

use tokio::sync::{mpsc, oneshot};

use crate::auth::PageAddress;

/// A request to open the listener, answered with an error if that fails.
pub(crate) type OpenPage = oneshot::Sender<io::Result<()>>;

/// Opens the listener of the page, at most once.
#[derive(Debug)]
pub(crate) struct PageListener {
    pub(super) address: PageAddress,
    requests: mpsc::Sender<OpenPage>,
}

impl PageListener {
    /// Creates the handle, and the end that carries the requests out.
    pub(crate) fn new(address: PageAddress) -> (Self, mpsc::Receiver<OpenPage>) {
        let (requests, queue) = mpsc::channel(1);
        (Self { address, requests }, queue)
    }

    /// Returns the address that the page is served on, after opening it if it is not open.
    pub(crate) async fn open(&self) -> io::Result<SocketAddr> {
        if let Some(address) = self.address.get() {
            return Ok(address);
        }
        let stopping = || io::Error::other("the runner is being stopped");
        let (reply, opened) = oneshot::channel();
        self.requests.send(reply).await.map_err(|_| stopping())?;
        opened.await.map_err(|_| stopping())??;
        self.address.get().ok_or_else(stopping)
    }
}
