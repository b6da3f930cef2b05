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
use super::peer::{check_loopback, check_unix, current_user};
use super::socket::watch_peer;
use super::unix_connection::UnixConnection;
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

    /// Connects to a Unix socket, or to a port without TLS, where the runner is not authenticated by a
    /// certificate. The system's network fails if the listener is on this machine and belongs neither to
    /// this user nor to root.
    ///
    /// The owner of a loopback port is known on Linux only. A port that no process of the network
    /// namespace has, such as one that the kernel forwards to a container, passes; and a listener of this
    /// user or of root is trusted whatever it forwards to.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    fn connect_to_owner<'a>(
        &'a self,
        to: Address<'a>,
    ) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        self.connect(to)
    }

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
            Ok(match to {
                Address::Unix(path) => {
                    boxed(UnixConnection::new(UnixStream::connect(path).await?)?)
                }
                Address::Tcp(host, port) => boxed(connect_tcp(host, port).await?),
            })
        })
    }

    fn connect_to_owner<'a>(
        &'a self,
        to: Address<'a>,
    ) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async move {
            Ok(match to {
                Address::Unix(path) => {
                    let stream = UnixStream::connect(path).await?;
                    check_unix(&stream, current_user())?;
                    boxed(UnixConnection::new(stream)?)
                }
                Address::Tcp(host, port) => {
                    let stream = connect_tcp(host, port).await?;
                    check_loopback(&stream, current_user()).await?;
                    boxed(stream)
                }
            })
        })
    }

    fn changed(&self) -> Boxed<'static, ()> {
        network_change()
    }
}

fn boxed(stream: impl ByteStream + 'static) -> Box<dyn ByteStream> {
    Box::new(stream)
}

async fn connect_tcp(host: &str, port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect((host, port)).await?;
    stream.set_nodelay(true)?;
    // Optional: pings also detect a dead connection, only later.
    let _ = watch_peer(&stream, KEEPALIVE, DEAD_AFTER);
    Ok(stream)
}
