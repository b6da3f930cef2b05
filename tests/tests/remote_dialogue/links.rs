//! Links between a host and a real runner that break at random bytes.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bowline_lifecycle::{AgentLocation, Decision, DialectName, DialogueSession, Prompt};
use bowline_transport::{Address, Boxed, ByteStream, Network, SystemNetwork};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use bowline_tests::chaos::Impatient;
use bowline_tests::normalize::{normalized, same};
use bowline_tests::session::{answered, terminate, transcript, until, within};
use serde_json::Value;

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

/// A conversation with a tool, a permission request and some text.
async fn converse(session: &DialogueSession) -> Value {
    for text in ["hello", "/tool ls", "/lines 40"] {
        answered(session, text).await;
    }
    let sent = session.send(Prompt::text("/ask rm")).await;
    let mut receipt = sent.expect("the prompt is sent");
    let open = || session.permissions().open().next().cloned();
    until(session, "a question", |_| open().is_some()).await;
    let request = open().expect("it is open").request_id.clone();
    let answer = session.answer_permission(request, Decision::allow());
    within("an answer", answer).await.expect("it is open");
    within("the turn", receipt.settled()).await;
    let seen = normalized(transcript(session).await);
    terminate(session).await;
    seen
}

#[tokio::test]
async fn dialogue_passes_links_that_carry_less_than_three_kilobytes() {
    for dialect in [DialectName::Claude, DialectName::Codex, DialectName::Acp] {
        let rig = Rig::new().await;
        let mut configuration = rig.configuration();
        if dialect != DialectName::Claude {
            configuration.dialect = dialect;
            let args = ["--dialect", dialect.as_str()];
            configuration.args.extend(args.map(Into::into));
        }
        let whole = DialogueSession::start(configuration.clone()).await;
        let expected = converse(&whole.expect("it starts")).await;
        let network = Arc::new(Breaking::new(31, 3_000));
        let mut remote = rig.http();
        remote.network = Arc::new(Impatient::new(Arc::clone(&network) as _));
        configuration.location = AgentLocation::Runner(remote);
        let cut = DialogueSession::start(configuration).await;
        let seen = converse(&cut.expect("it starts")).await;
        same(&seen, &expected, dialect.as_str());
        let cuts = network.connections.load(Relaxed) - 2;
        assert!(cuts >= 20, "{dialect}: only {cuts} links were cut");
    }
}
