//! A network in memory. Its connections break at pseudorandom bytes, in either direction, within
//! frames or between them.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bowline_transport::{Address, Boxed, ByteStream, Network};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};

use crate::http_server::HttpServer;
use crate::owner::Owner;

/// Maximum of bytes in flight in each direction.
const PIPE_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub(crate) struct Chaos {
    owner: Owner,
    random: Mutex<u64>,
    /// Maximum length of a connection in bytes; 0 is unlimited.
    reach: AtomicUsize,
    pub(crate) connections: AtomicUsize,
    /// Whether connecting fails.
    pub(crate) is_down: AtomicBool,
    /// The HTTP server in front of the session, if any.
    pub(crate) server: Option<Arc<HttpServer>>,
    /// Whether connections break without an error.
    pub(crate) is_silent: AtomicBool,
    /// Whether connecting panics.
    pub(crate) is_faulty: AtomicBool,
}

impl Chaos {
    pub(crate) fn new(owner: Owner, seed: u64, reach: usize) -> Self {
        Self {
            owner,
            random: Mutex::new(seed | 1),
            reach: AtomicUsize::new(reach),
            connections: AtomicUsize::new(0),
            is_down: AtomicBool::new(false),
            server: None,
            is_silent: AtomicBool::new(false),
            is_faulty: AtomicBool::new(false),
        }
    }

    /// Makes the network reliable from now on.
    pub(crate) fn calm(&self) {
        self.reach.store(0, Relaxed);
    }

    fn distance(&self) -> usize {
        let reach = self.reach.load(Relaxed);
        if reach == 0 {
            return usize::MAX;
        }
        let mut random = self.random.lock().expect("no thread panics with it");
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        (*random % reach as u64) as usize
    }
}

impl Network for Chaos {
    fn connect<'a>(&'a self, _: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async {
            if self.is_down.load(Relaxed) {
                return Err(io::ErrorKind::NetworkUnreachable.into());
            }
            assert!(!self.is_faulty.load(Relaxed), "a faulty network");
            self.connections.fetch_add(1, Relaxed);
            let (ours, theirs) = duplex(PIPE_BYTES);
            match &self.server {
                Some(server) => server.serve(&self.owner, theirs),
                None => self.owner.serve(theirs),
            }
            let stream: Box<dyn ByteStream> = Box::new(Fragile {
                inner: Some(ours),
                reads: self.distance(),
                writes: self.distance(),
                is_silent: self.is_silent.load(Relaxed),
            });
            Ok(stream)
        })
    }
}

/// A connection that breaks in both directions after a number of bytes.
struct Fragile {
    inner: Option<DuplexStream>,
    reads: usize,
    writes: usize,
    is_silent: bool,
}

impl Fragile {
    /// Breaks the connection and drops the bytes in flight. A silent break accepts all writes and
    /// returns nothing.
    fn broken<T>(&mut self, swallowed: T) -> Poll<io::Result<T>> {
        if self.is_silent {
            return Poll::Ready(Ok(swallowed));
        }
        self.inner = None;
        Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()))
    }
}

impl AsyncRead for Fragile {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.reads == 0 && self.is_silent {
            return Poll::Pending;
        }
        let left = self.reads;
        let Some(inner) = self.inner.as_mut().filter(|_| left > 0) else {
            return self.broken(());
        };
        let mut part = buffer.take(left);
        let before = part.remaining();
        let read = Pin::new(inner).poll_read(cx, &mut part);
        let count = before - part.remaining();
        // The part is the beginning of the buffer's own space, which was filled there.
        let filled = part.filled().to_vec();
        buffer.put_slice(&filled[..count]);
        self.reads -= count;
        read
    }
}

impl AsyncWrite for Fragile {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let left = self.writes.min(bytes.len());
        let Some(inner) = self.inner.as_mut().filter(|_| left > 0) else {
            return self.broken(bytes.len());
        };
        let written = Pin::new(inner).poll_write(cx, &bytes[..left]);
        if let Poll::Ready(Ok(count)) = written {
            self.writes -= count;
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner = None;
        Poll::Ready(Ok(()))
    }
}
