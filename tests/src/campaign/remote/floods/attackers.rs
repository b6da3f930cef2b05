//! Attacks on a runner.

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

/// Concurrent handshakes of each attacker; a thousand in total.
const HANDSHAKES: usize = 250;

/// A request head that is continued a byte at a time.
const SLOW_HEAD: &[u8] = b"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ";

/// Time limit of a response.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Pause of an attacker that waits for no response, so that the attack does not measure this
/// machine's scheduler.
const BREATH: Duration = Duration::from_millis(1);

/// Kind of attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attack {
    /// None, as the baseline.
    None,
    /// A thousand connections that start, and continue by a byte now and then.
    SlowHandshakes,
    /// Attaches to one session as fast as they are answered.
    Attaches,
    /// Oversized heads and messages.
    Oversize,
    /// Pings of an authenticated client.
    Pings,
}

/// Target of an attack, with its credentials.
#[derive(Debug)]
pub(super) struct Target {
    address: SocketAddr,
    /// The path of the request.
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

    /// The same requests for another target.
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

    /// Attacks until the end and returns the number of attacks.
    pub(super) async fn run(
        self,
        target: &Target,
        mut random: Random,
        is_over: &AtomicBool,
    ) -> u64 {
        let mut actions = 0;
        let mut held = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            // A refused or closed connection is expected.
            match self {
                Self::None => sleep(TIMEOUT).await,
                Self::SlowHandshakes => crawl(target, &mut held, &mut random).await,
                Self::Attaches => attach(target).await,
                Self::Oversize => overdo(target, &mut random).await,
                Self::Pings => ping(target, is_over).await,
            }
            actions += 1;
            sleep(BREATH).await;
        }
        actions
    }
}

/// Opens one more connection, up to a limit, or sends one more byte on one of them.
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

/// Sends an attach request and returns the connection and whether it was accepted.
async fn upgraded(target: &Target) -> Option<(TcpStream, bool)> {
    let mut stream = TcpStream::connect(target.address).await.ok()?;
    stream.write_all(upgrade(target).as_bytes()).await.ok()?;
    let mut answer = [0; 512];
    let count = timeout(TIMEOUT, stream.read(&mut answer))
        .await
        .ok()?
        .ok()?;
    let is_in = answer[..count].starts_with(b"HTTP/1.1 101");
    Some((stream, is_in))
}

async fn attach(target: &Target) {
    // Disconnects at once, whatever the response was.
    drop(upgraded(target).await);
}

async fn overdo(target: &Target, random: &mut Random) {
    if random.below(2) == 0 {
        let Ok(mut stream) = TcpStream::connect(target.address).await else {
            return;
        };
        let head = format!("GET / HTTP/1.1\r\nX-Long: {}\r\n\r\n", "x".repeat(64 << 10));
        let _ = stream.write_all(head.as_bytes()).await;
        let _ = timeout(TIMEOUT, stream.read(&mut [0; 64])).await;
        return;
    }
    let Some((mut stream, _)) = upgraded(target).await else {
        return;
    };
    // A message with a declared length of 2^40 bytes, and part of its payload.
    let mut message = vec![0x82, 0xff];
    message.extend_from_slice(&(1_u64 << 40).to_be_bytes());
    message.extend_from_slice(&[0; 4 + (64 << 10)]);
    let _ = stream.write_all(&message).await;
    let _ = timeout(TIMEOUT, stream.read(&mut [0; 64])).await;
}

/// Sends pings on one connection until it is closed.
async fn ping(target: &Target, is_over: &AtomicBool) {
    let Some((mut stream, _)) = upgraded(target).await else {
        return;
    };
    let mut frame = BytesMut::new();
    encode(&Frame::new(0, Message::Ping { nonce: 1 }), &mut frame);
    // A zero mask, as RFC 6455, section 5.2 permits.
    let mut message = vec![0x82, 0x80 | frame.len() as u8, 0, 0, 0, 0];
    message.extend_from_slice(&frame);
    while !is_over.load(Ordering::Relaxed) && stream.write_all(&message).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
