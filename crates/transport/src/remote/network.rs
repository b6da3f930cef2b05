//! The network as a host sees it: something that connects. Tests put another one in its place.

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

/// Bytes both ways.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

/// What to connect to.
#[derive(Clone, Copy, Debug)]
pub enum Address<'a> {
    /// A socket in the file system.
    Unix(&'a Path),
    /// A name or an address, and a port.
    Tcp(&'a str, u16),
}

/// Connects. The time that it takes is bounded by who asks.
pub trait Network: fmt::Debug + Send + Sync {
    /// Makes a connection.
    fn connect<'a>(&'a self, to: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>>;

    /// Resolves when this machine's links, addresses or routes change from now on, so that a lost
    /// link is tried at once. Never, where nobody tells: the next try comes within 5 s.
    fn changed(&self) -> Boxed<'static, ()> {
        Box::pin(pending())
    }
}

/// The network of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemNetwork;

/// After so long without a sign of the other side the kernel begins to look for one, and then asks
/// this often.
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
                    // Where the system has no such thing, the pings find out alone.
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
