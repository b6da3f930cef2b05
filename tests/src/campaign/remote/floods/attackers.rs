//! What is done to a runner by those who mean it no good.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bowline_runner::wire::{Frame, Message, encode};
use bowline_transport::SessionId;
use bytes::BytesMut;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::super::super::Random;
use super::super::daemon::Daemon;

/// Handshakes that are under way at a time, of each attacker: a thousand in all.
const HANDSHAKES: usize = 250;

/// What a client says that goes on with its head a byte at a time.
const SLOW_HEAD: &[u8] = b"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ";

/// How long one that waits for an answer waits.
const PATIENCE: Duration = Duration::from_millis(200);

/// A pause of an attacker that has nothing to wait for, so that it is no test of this machine's
/// scheduler.
const BREATH: Duration = Duration::from_millis(1);

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attack {
    /// Nothing: how things are.
    None,
    /// A thousand connections that begin, and go on by a byte now and then.
    SlowHandshakes,
    /// Attaches to one session as fast as they are answered.
    Attaches,
    /// Heads and messages that are longer than any may be.
    Oversize,
    /// Pings, of a client that was let in.
    Pings,
}

/// Whom it is done to, and what with.
#[derive(Debug)]
pub(super) struct Target {
    address: SocketAddr,
    /// What is said to be asked for.
    host: SocketAddr,
    token: String,
    session: SessionId,
}

impl Target {
    pub(super) fn of(daemon: &Daemon, session: SessionId) -> Self {
        Self {
            address: daemon.address(),
            host: daemon.address(),
            token: daemon.token().to_owned(),
            session,
        }
    }

    /// The same things, said to somebody else.
    pub(super) fn at(self, address: SocketAddr) -> Self {
        Self { address, ..self }
    }
}

impl Attack {
    pub(super) const ALL: [Self; 5] = [
        Self::None,
        Self::SlowHandshakes,
        Self::Attaches,
        Self::Oversize,
        Self::Pings,
    ];

    /// Does it until it is over; how often.
    pub(super) async fn rage(
        self,
        target: &Target,
        mut random: Random,
        is_over: &AtomicBool,
    ) -> u64 {
        let mut deeds = 0;
        let mut held = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            // Whatever is refused or cut off is what was to be expected.
            match self {
                Self::None => sleep(PATIENCE).await,
                Self::SlowHandshakes => crawl(target, &mut held, &mut random).await,
                Self::Attaches => attach(target).await,
                Self::Oversize => overdo(target, &mut random).await,
                Self::Pings => ping(target, is_over).await,
            }
            deeds += 1;
            sleep(BREATH).await;
        }
        deeds
    }
}

/// One more connection, up to a bound, or one more byte on one of them.
async fn crawl(target: &Target, held: &mut Vec<TcpStream>, random: &mut Random) {
    if held.len() < HANDSHAKES {
        if let Ok(mut stream) = TcpStream::connect(target.address).await {
            let _ = stream.write_all(SLOW_HEAD).await;
            held.push(stream);
        }
        return;
    }
    let at = random.below(held.len() as u64) as usize;
    if held[at].write_all(b"x").await.is_err() {
        held.swap_remove(at);
    }
    sleep(Duration::from_millis(1)).await;
}

fn upgrade(target: &Target) -> String {
    let Target {
        host,
        token,
        session,
        ..
    } = target;
    format!(
        "GET /api/sessions/{session}/attach HTTP/1.1\r\nHost: {host}\r\n\
         Authorization: Bearer {token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: bowline.frames.v1\r\n\r\n"
    )
}

/// A connection that has asked to attach, and whether it was let in.
async fn asked(target: &Target) -> Option<(TcpStream, bool)> {
    let mut stream = TcpStream::connect(target.address).await.ok()?;
    stream.write_all(upgrade(target).as_bytes()).await.ok()?;
    let mut answer = [0; 512];
    let count = timeout(PATIENCE, stream.read(&mut answer))
        .await
        .ok()?
        .ok()?;
    let is_in = answer[..count].starts_with(b"HTTP/1.1 101");
    Some((stream, is_in))
}

async fn attach(target: &Target) {
    // Gone again at once, whatever was answered.
    drop(asked(target).await);
}

async fn overdo(target: &Target, random: &mut Random) {
    if random.below(2) == 0 {
        let Ok(mut stream) = TcpStream::connect(target.address).await else {
            return;
        };
        let head = format!("GET / HTTP/1.1\r\nX-Long: {}\r\n\r\n", "x".repeat(64 << 10));
        let _ = stream.write_all(head.as_bytes()).await;
        let _ = timeout(PATIENCE, stream.read(&mut [0; 64])).await;
        return;
    }
    let Some((mut stream, _)) = asked(target).await else {
        return;
    };
    // A message that says it has 2^40 bytes, and some of them.
    let mut message = vec![0x82, 0xff];
    message.extend_from_slice(&(1_u64 << 40).to_be_bytes());
    message.extend_from_slice(&[0; 4 + (64 << 10)]);
    let _ = stream.write_all(&message).await;
    let _ = timeout(PATIENCE, stream.read(&mut [0; 64])).await;
}

/// Pings in the frames of one connection until it is shut.
async fn ping(target: &Target, is_over: &AtomicBool) {
    let Some((mut stream, _)) = asked(target).await else {
        return;
    };
    let mut frame = BytesMut::new();
    encode(&Frame::new(0, Message::Ping { nonce: 1 }), &mut frame);
    // Masked with nothing, as RFC 6455, section 5.2 allows.
    let mut message = vec![0x82, 0x80 | frame.len() as u8, 0, 0, 0, 0];
    message.extend_from_slice(&frame);
    while !is_over.load(Ordering::Relaxed) && stream.write_all(&message).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
