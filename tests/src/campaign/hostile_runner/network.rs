//! A network on which each connection misbehaves.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bowline_runner::SessionHandle;
use bowline_transport::{Address, Boxed, ByteStream, Network};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::time::{Instant, sleep};

use super::super::Random;
use super::frames::hostile;

/// Maximum of bytes in flight in each direction.
const PIPE_BYTES: usize = 8 << 10;

/// What a server does with a connection. Of the kinds with frames, only those of a single session are
/// spoken without HTTP.
#[derive(Clone, Debug)]
enum Behaviour {
    /// The connection is refused.
    Refuse,
    /// The connection is never made.
    NeverConnect,
    /// The connection is made, and nothing is read or written.
    Deaf,
    /// Everything is read, and nothing is answered.
    Mute,
    /// The connection ends at once.
    Close,
    /// These bytes are written, and the connection ends or stays.
    Say(Vec<u8>, bool),
    /// Bytes without an end, such as a header that continues.
    Flood(&'static [u8]),
    /// The session is reached for a while; then comes the end.
    Session(Duration, Ending),
}

impl Behaviour {
    fn refuses_token(&self) -> bool {
        let statuses: [&[u8]; 2] = [b"HTTP/1.1 401", b"HTTP/1.1 403"];
        matches!(self, Self::Say(bytes, _) if statuses.iter().any(|it| bytes.starts_with(it)))
    }
}

/// How a connection to the session ends.
#[derive(Clone, Debug)]
enum Ending {
    Cut,
    /// Nothing arrives any more in either direction.
    Stall,
    /// These bytes follow, and then the end.
    Say(Vec<u8>),
}

/// An attempt to connect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) at: Instant,
    /// Whether the response begins as that to a wrong token, so that another token is tried at once.
    pub(super) is_token_refused: bool,
}

/// A network whose every connection misbehaves.
#[derive(Debug)]
pub(super) struct HostileNetwork {
    session: SessionHandle,
    is_http: bool,
    random: Mutex<Random>,
    attempts: Mutex<Vec<Attempt>>,
    last_byte: Arc<Mutex<Instant>>,
}

impl HostileNetwork {
    pub(super) fn new(session: SessionHandle, is_http: bool, seed: u64) -> Self {
        Self {
            session,
            is_http,
            random: Mutex::new(Random::new(seed)),
            attempts: Mutex::default(),
            last_byte: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// Each attempt to connect.
    pub(super) fn attempts(&self) -> Vec<Attempt> {
        self.attempts.lock().clone()
    }

    /// When the host was last sent a byte.
    pub(super) fn last_byte(&self) -> Instant {
        *self.last_byte.lock()
    }

    fn behaviour(&self) -> Behaviour {
        let random = &mut *self.random.lock();
        match random.below(12) {
            0 => Behaviour::Refuse,
            1 => Behaviour::NeverConnect,
            2 => Behaviour::Deaf,
            3 => Behaviour::Mute,
            4 => Behaviour::Close,
            5 => Behaviour::Say((0..200).map(|_| random.draw() as u8).collect(), false),
            6 if self.is_http => Behaviour::Flood(b"x-more: and more\r\n"),
            _ if self.is_http => response(random),
            6 => Behaviour::Flood(&[0]),
            7 => Behaviour::Say(hostile(random), random.below(2) == 0),
            8 => Behaviour::Session(moment(random), Ending::Stall),
            9 => Behaviour::Session(moment(random), Ending::Say(hostile(random))),
            _ => Behaviour::Session(moment(random), Ending::Cut),
        }
    }

    async fn open(&self) -> io::Result<Box<dyn ByteStream>> {
        let behaviour = self.behaviour();
        self.attempts.lock().push(Attempt {
            at: Instant::now(),
            is_token_refused: behaviour.refuses_token(),
        });
        let (ours, theirs) = duplex(PIPE_BYTES);
        match behaviour {
            Behaviour::Refuse => return Err(io::ErrorKind::NetworkUnreachable.into()),
            Behaviour::NeverConnect => return std::future::pending().await,
            Behaviour::Session(time, ending) => {
                let (near, far) = duplex(PIPE_BYTES);
                self.session.connect(far).await;
                let last_byte = Arc::clone(&self.last_byte);
                tokio::spawn(reach(theirs, near, (time, ending), last_byte));
            }
            other => {
                tokio::spawn(misbehave(theirs, other, Arc::clone(&self.last_byte)));
            }
        }
        Ok(Box::new(ours))
    }
}

impl Network for HostileNetwork {
    fn connect<'a>(&'a self, _: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(self.open())
    }
}

/// Most connections end right after the attach.
fn moment(random: &mut Random) -> Duration {
    let most = [5, 50, 5_000, 60_000][random.below(4) as usize];
    Duration::from_millis(1 + random.below(most))
}

/// A response in place of the upgrade to WebSocket.
fn response(random: &mut Random) -> Behaviour {
    let most = u64::MAX.to_string();
    let delays = ["", "retry-after: 86400\r\n", "retry-after: -1\r\n"];
    let delay = match random.below(4) {
        3 => format!("retry-after: {most}\r\n"),
        other => delays[other as usize].to_owned(),
    };
    let status = [
        "302 Found\r\nlocation: https://elsewhere.example/",
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "426 Upgrade Required",
        "429 Too Many Requests",
        "500 Internal Server Error",
        "502 Bad Gateway",
        "503 Service Unavailable",
        "101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket",
        "200 OK",
    ];
    // Most of them are retried.
    let at = match random.below(2) {
        0 => 5 + random.below(4),
        _ => random.below(status.len() as u64),
    };
    let length = ["0", "10", &most][random.below(3) as usize];
    let head = format!(
        "HTTP/1.1 {}\r\n{delay}content-length: {length}\r\n\r\n",
        status[at as usize]
    );
    let cut = match random.below(4) {
        0 => random.below(head.len() as u64) as usize,
        _ => head.len(),
    };
    let bytes = head.as_bytes().iter().take(cut).copied().collect();
    Behaviour::Say(bytes, random.below(2) == 0)
}

/// Acts as a server without a session. Errors mean that the host is gone.
async fn misbehave(mut stream: DuplexStream, behaviour: Behaviour, last_byte: Arc<Mutex<Instant>>) {
    let mut request = [0; 512];
    match behaviour {
        Behaviour::Deaf => std::future::pending().await,
        Behaviour::Mute => while stream.read(&mut request).await.is_ok_and(|it| it > 0) {},
        Behaviour::Say(bytes, stays) => {
            let _ = stream.read(&mut request).await;
            *last_byte.lock() = Instant::now();
            let _ = stream.write_all(&bytes).await;
            while stays && stream.read(&mut request).await.is_ok_and(|it| it > 0) {}
        }
        Behaviour::Flood(bytes) => {
            let _ = stream.read(&mut request).await;
            while stream.write_all(bytes).await.is_ok() {
                *last_byte.lock() = Instant::now();
                sleep(Duration::from_millis(100)).await;
            }
        }
        _ => {}
    }
}

/// Connects the host with the session for a time. Errors mean that one of both is gone.
async fn reach(
    host: DuplexStream,
    session: DuplexStream,
    (time, ending): (Duration, Ending),
    last_byte: Arc<Mutex<Instant>>,
) {
    let (mut from_host, mut to_host) = tokio::io::split(host);
    let (mut from_session, mut to_session) = tokio::io::split(session);
    let up = tokio::io::copy(&mut from_host, &mut to_session);
    let down = async {
        let mut bytes = vec![0; 4096];
        while let Ok(length @ 1..) = from_session.read(&mut bytes).await {
            *last_byte.lock() = Instant::now();
            let part = bytes.get(..length).unwrap_or_default();
            if to_host.write_all(part).await.is_err() {
                break;
            }
        }
    };
    tokio::select! {
        _ = up => return,
        () = down => return,
        () = sleep(time) => {}
    }
    match ending {
        Ending::Cut => {}
        Ending::Stall => std::future::pending().await,
        Ending::Say(bytes) => {
            *last_byte.lock() = Instant::now();
            let _ = to_host.write_all(&bytes).await;
        }
    }
}
