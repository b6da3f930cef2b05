//! Links between a host and a real runner that break at random bytes.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bowline_lifecycle::{AgentLocation, DialogueSession};
use bowline_transport::{Address, Boxed, ByteStream, Network, SystemNetwork};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use bowline_tests::chaos::Impatient;
use bowline_tests::normalize::same;

use crate::rig::{Rig, transcript_of};

/// A network whose connections break within the given number of bytes in each direction.
#[derive(Debug)]
pub(crate) struct Breaking {
    random: Mutex<u64>,
    reach: u64,
    pub(crate) connections: AtomicUsize,
}

impl Breaking {
    pub(crate) fn new(seed: u64, reach: u64) -> Self {
        Self {
            random: Mutex::new(seed | 1),
            reach,
            connections: AtomicUsize::new(0),
        }
    }

    fn distance(&self) -> usize {
        let mut random = self.random.lock().expect("no panic while the lock is held");
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        usize::try_from(*random % self.reach).expect("it is small")
    }
}

impl Network for Breaking {
    fn connect<'a>(&'a self, to: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(async move {
            let number = self.connections.fetch_add(1, Relaxed);
            let inner = SystemNetwork.connect(to).await?;
            // The request that creates the session is not retried, so it passes.
            let whole = number == 0;
            let stream: Box<dyn ByteStream> = Box::new(Fragile {
                inner: Some(inner),
                reads: if whole { usize::MAX } else { self.distance() },
                writes: if whole { usize::MAX } else { self.distance() },
            });
            Ok(stream)
        })
    }
}

/// A connection that carries a number of bytes in each direction, and then nothing.
struct Fragile {
    inner: Option<Box<dyn ByteStream>>,
    reads: usize,
    writes: usize,
}

impl Fragile {
    fn broken<T>(&mut self) -> Poll<io::Result<T>> {
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
        let left = self.reads;
        let Some(inner) = self.inner.as_mut().filter(|_| left > 0) else {
            return self.broken();
        };
        let mut space = vec![0; left.min(buffer.remaining())];
        let mut part = ReadBuf::new(&mut space);
        let read = Pin::new(inner).poll_read(cx, &mut part);
        buffer.put_slice(part.filled());
        let count = part.filled().len();
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
            return self.broken();
        };
        let written = Pin::new(inner).poll_write(cx, &bytes[..left]);
        if let Poll::Ready(Ok(count)) = written {
            self.writes -= count;
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.inner.as_mut() {
            Some(inner) => Pin::new(inner).poll_flush(cx),
            None => self.broken(),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.inner = None;
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn transcript_is_same_over_broken_links() {
    let rig = Rig::new().await;
    let expected = transcript_of(DialogueSession::start(rig.configuration()).await).await;
    let mut cuts = 0;
    for seed in 1..=3 {
        let network = Arc::new(Breaking::new(seed * 123_457, 100_000));
        let mut remote = rig.http();
        remote.network = Arc::new(Impatient::new(Arc::clone(&network) as _));
        let mut configuration = rig.configuration();
        configuration.location = AgentLocation::Runner(remote);
        let interrupted = transcript_of(DialogueSession::start(configuration).await).await;
        same(&interrupted, &expected, &format!("seed {seed}"));
        cuts += network.connections.load(Relaxed) - 2;
    }
    assert!(cuts >= 40, "only {cuts} links were cut");
}
