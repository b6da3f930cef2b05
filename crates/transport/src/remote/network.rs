//! The network that connections are made over. Tests replace it.

use std::fmt;
use std::future::pending;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

use super::credentials::Boxed;
use super::network_change::network_change;
use super::socket::watch_peer;
use bowline_wire::DEAD_AFTER;

/// A bidirectional byte stream.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// An address to connect to.
#[derive(Clone, Copy, Debug)]
pub enum Address<'a> {
    /// The path of a Unix socket.
    Unix(&'a Path),
    /// A host name or IP address, and a port.
    Tcp(&'a str, u16),
}

/// Makes connections. The caller limits the time.
pub trait Network: fmt::Debug + Send + Sync {
    /// Connects to an address.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn connect<'a>(&'a self, to: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>>;

    /// Resolves when this machine's links, addresses or routes change after the call, so that a lost
    /// connection is retried at once. Never resolves where the system does not report changes; the
    /// next retry then comes within 5 s.
    fn changed(&self) -> Boxed<'static, ()> {
        Box::pin(pending())
    }
}

/// The network of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNetwork;

/// Idle time before the first TCP keepalive probe, and the interval between probes.
const KEEPALIVE: Duration = Duration::from_secs(5);

impl Network for SystemNetwork {
    fn connect<'a>(&'a self, to: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async move {
            match to {
                Address::Unix(path) => {
                    let stream: Box<dyn ByteStream> = Box::new(UnixStream::connect(path).await?);
                    Ok(stream)
                }
                Address::Tcp(host, port) => {
                    let stream = TcpStream::connect((host, port)).await?;
                    stream.set_nodelay(true)?;
                    // Optional: pings also detect a dead connection, only later.
                    let _ = watch_peer(&stream, KEEPALIVE, DEAD_AFTER);
                    let stream: Box<dyn ByteStream> = Box::new(stream);
                    Ok(stream)
                }
            }
        })
    }

    fn changed(&self) -> Boxed<'static, ()> {
        network_change()
    }
}
