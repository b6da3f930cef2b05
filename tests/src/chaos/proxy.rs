//! The proxy.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::plan::{Fault, Faults, Plan, Way};

/// Size of the read buffer.
const READ_BYTES: usize = 64 << 10;

/// How long the other direction of a half-closed connection stays open.
const HALF_OPEN: Duration = Duration::from_millis(10);

/// Target of the proxy.
#[derive(Clone, Debug)]
pub enum Address {
    /// A TCP address.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// Fault report of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Met {
    /// Number of the connection, from 0.
    pub number: u64,
    /// Its plan.
    pub plan: Plan,
    /// Whether the fault occurred; the connection may have ended before.
    pub happened: bool,
}

impl fmt::Display for Met {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            plan,
            happened,
        } = self;
        write!(
            f,
            "connection {number}: {plan}{}",
            if *happened { "" } else { " (not reached)" }
        )
    }
}

/// A proxy on a free loopback port. Dropping it cuts every connection.
#[derive(Debug)]
pub struct ChaosProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    seed: u64,
    faults: Faults,
    to: Address,
    kind: AtomicBool,
    accepted: AtomicU64,
    met: Mutex<Vec<Met>>,
    severed: AtomicU64,
    /// While set, nothing is read or forwarded.
    frozen: watch::Sender<bool>,
    /// A new value cuts every current connection.
    cut: watch::Sender<u64>,
}

impl ChaosProxy {
    /// Starts a proxy for `to`.
    ///
    /// # Errors
    ///
    /// No loopback port is available.
    pub async fn start(to: Address, seed: u64, faults: Faults) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            seed,
            faults,
            to,
            kind: AtomicBool::new(false),
            accepted: AtomicU64::new(0),
            met: Mutex::new(Vec::new()),
            severed: AtomicU64::new(0),
            frozen: watch::Sender::new(false),
            cut: watch::Sender::new(0),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared))).abort_handle();
        Ok(Self {
            address,
            shared,
            accepting,
        })
    }

    /// The address that hosts connect to.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Disables faults for new connections, so that a run can complete.
    pub fn be_kind(&self) {
        self.shared.kind.store(true, Ordering::Relaxed);
    }

    /// Whether faults are disabled for new connections.
    #[must_use]
    pub fn is_kind(&self) -> bool {
        self.shared.kind.load(Ordering::Relaxed)
    }

    /// Cuts every current connection.
    pub fn cut_all(&self) {
        self.shared.cut.send_modify(|generation| *generation += 1);
    }

    /// Returns the faults so far, in the order of connections; with the seed, they describe the
    /// run.
    #[must_use]
    pub fn met(&self) -> Vec<Met> {
        self.shared.met.lock().clone()
    }

    /// Stops or resumes reading from both sides of every connection. New connections are accepted
    /// and stall, too, as on a dead link.
    pub fn freeze(&self, is_frozen: bool) {
        self.shared.frozen.send_replace(is_frozen);
    }

    /// Number of connections that this proxy has ended, by a fault or by a cut.
    #[must_use]
    pub fn severed(&self) -> u64 {
        self.shared.severed.load(Ordering::Relaxed)
    }

    /// Number of connections that met their fault.
    #[must_use]
    pub fn faults(&self) -> u64 {
        self.met().iter().filter(|met| met.happened).count() as u64
    }
}

impl Drop for ChaosProxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut_all();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((client, _)) = listener.accept().await {
        let number = shared.accepted.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let plan = Plan::of(shared.seed, number, &shared.faults);
            let cut = shared.cut.subscribe();
            let frozen = shared.frozen.subscribe();
            let plan_now = (!shared.kind.load(Ordering::Relaxed)).then_some(plan);
            let over = match shared.to.clone() {
                Address::Tcp(to) => match TcpStream::connect(to).await {
                    Ok(server) => link(Ends::tcp(client, server), plan_now, frozen, cut).await,
                    Err(_) => Over::default(),
                },
                Address::Unix(to) => match UnixStream::connect(to).await {
                    Ok(server) => link(Ends::unix(client, server), plan_now, frozen, cut).await,
                    Err(_) => Over::default(),
                },
            };
            let met = Met {
                number,
                plan,
                happened: over.happened,
            };
            let is_severed = over.is_cut || over.happened && plan.fault.ends_it();
            shared
                .severed
                .fetch_add(u64::from(is_severed), Ordering::Relaxed);
            shared.met.lock().push(met);
        });
    }
}

/// Copies bytes between two streams until one ends, `cut` changes, or the planned fault occurs;
/// returns whether it occurred. A reset is a cut here.
pub async fn proxy_link(
    client: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    server: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    plan: Option<Plan>,
    cut: watch::Receiver<u64>,
) -> bool {
    let (from_client, to_client) = split(client);
    let (from_server, to_server) = split(server);
    let ends = Ends {
        up: (Box::new(from_client), Box::new(to_server)),
        down: (Box::new(from_server), Box::new(to_client)),
        reset: Box::new(|| {}),
    };
    let frozen = watch::Sender::new(false);
    link(ends, plan, frozen.subscribe(), cut).await.happened
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Default)]
struct Over {
    /// Whether its fault occurred.
    happened: bool,
    /// Whether it was cut together with all others.
    is_cut: bool,
}

/// Both ends of a connection, by direction.
struct Ends {
    up: (
        Box<dyn AsyncRead + Send + Unpin>,
        Box<dyn AsyncWrite + Send + Unpin>,
    ),
    down: (
        Box<dyn AsyncRead + Send + Unpin>,
        Box<dyn AsyncWrite + Send + Unpin>,
    ),
    /// Makes a later close of a TCP end a reset.
    reset: Box<dyn Fn() + Send + Sync>,
}

impl Ends {
    fn tcp(client: TcpStream, server: TcpStream) -> Self {
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let twins = [twin(&client), twin(&server)];
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        Self {
            up: (Box::new(from_client), Box::new(to_server)),
            down: (Box::new(from_server), Box::new(to_client)),
            reset: Box::new(move || twins.iter().flatten().for_each(linger_none)),
        }
    }

    fn unix(client: TcpStream, server: UnixStream) -> Self {
        let _ = client.set_nodelay(true);
        let twin = twin(&client);
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        Self {
            up: (Box::new(from_client), Box::new(to_server)),
            down: (Box::new(from_server), Box::new(to_client)),
            reset: Box::new(move || twin.iter().for_each(linger_none)),
        }
    }
}

fn twin(stream: &TcpStream) -> Option<std::os::fd::OwnedFd> {
    use std::os::fd::AsFd as _;
    stream.as_fd().try_clone_to_owned().ok()
}

/// With a zero linger time, closing sends RST (socket(7), SO_LINGER).
fn linger_none(stream: &std::os::fd::OwnedFd) {
    let _ = rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO));
}

/// Copies bytes until an end, a cut or the fault.
async fn link(
    ends: Ends,
    plan: Option<Plan>,
    frozen: watch::Receiver<bool>,
    mut cut: watch::Receiver<u64>,
) -> Over {
    let Ends { up, down, reset } = ends;
    let (held, hold) = watch::channel(false);
    let of = |way| plan.filter(|plan| plan.way == way);
    let piece = plan.map_or(READ_BYTES, |plan| plan.piece);
    let happened = AtomicBool::new(false);
    let is_cut = tokio::select! {
        () = copy_direction(up, of(Way::Up), piece, &held, [hold.clone(), frozen.clone()], &happened) => false,
        () = copy_direction(down, of(Way::Down), piece, &held, [hold, frozen], &happened) => false,
        _ = cut.changed() => true,
    };
    let happened = happened.into_inner();
    if happened && plan.is_some_and(|plan| plan.fault == Fault::Reset) {
        reset();
    }
    Over { happened, is_cut }
}

/// Copies one direction until the connection is over. Sets `happened` as soon as the fault occurs, since
/// the other direction may end first.
async fn copy_direction(
    (mut from, mut to): (
        Box<dyn AsyncRead + Send + Unpin>,
        Box<dyn AsyncWrite + Send + Unpin>,
    ),
    mut plan: Option<Plan>,
    piece: usize,
    held: &watch::Sender<bool>,
    mut holds: [watch::Receiver<bool>; 2],
    happened: &AtomicBool,
) {
    let mut buffer = vec![0; READ_BYTES];
    let mut passed = 0_u64;
    loop {
        released(&mut holds).await;
        let Ok(count @ 1..) = from.read(&mut buffer).await else {
            // The other side may still have data to send.
            let _ = to.shutdown().await;
            tokio::time::sleep(HALF_OPEN).await;
            return;
        };
        released(&mut holds).await;
        let mut bytes = buffer.get_mut(..count).unwrap_or_default();
        if let Some(due) = plan.filter(|plan| plan.after < passed + count as u64) {
            let (before, after) = bytes.split_at_mut((due.after - passed) as usize);
            if write(&mut to, before, piece).await.is_err() {
                return;
            }
            happened.store(true, Ordering::Relaxed);
            if !suffer(due.fault, after, &mut to, held).await {
                return;
            }
            bytes = after;
            plan = None;
        }
        if write(&mut to, bytes, piece).await.is_err() {
            return;
        }
        passed += count as u64;
    }
}

/// Waits until the connection is not stalled.
async fn released(holds: &mut [watch::Receiver<bool>; 2]) {
    for hold in holds {
        // A dropped sender no longer stalls it.
        let _ = hold.wait_for(|held| !held).await;
    }
}

/// Applies a fault to the bytes that arrive now; returns `false` if it ends the connection.
async fn suffer(
    fault: Fault,
    next: &mut [u8],
    to: &mut (impl AsyncWrite + Unpin),
    held: &watch::Sender<bool>,
) -> bool {
    match fault {
        Fault::Cut | Fault::Reset => false,
        Fault::HalfClose => {
            let _ = to.shutdown().await;
            tokio::time::sleep(HALF_OPEN).await;
            false
        }
        Fault::Stall(pause) => {
            held.send_replace(true);
            tokio::time::sleep(pause).await;
            false
        }
        Fault::Delay(pause) => {
            tokio::time::sleep(pause).await;
            true
        }
        Fault::Corrupt => {
            if let Some(byte) = next.first_mut() {
                *byte ^= 0x10;
            }
            true
        }
    }
}

async fn write(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8], piece: usize) -> io::Result<()> {
    // A piece of one byte takes a thousand times as long, and finds nothing more after a while.
    let piece = piece.max(bytes.len() / 64);
    for piece in bytes.chunks(piece.max(1)) {
        to.write_all(piece).await?;
        to.flush().await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends what it gets back to where it came from.
    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut from, mut to) = stream.into_split();
                    let _ = tokio::io::copy(&mut from, &mut to).await;
                });
            }
        });
        address
    }

    /// What comes back of `sent`, until the connection is over.
    async fn round(proxy: &ChaosProxy, sent: &[u8]) -> Vec<u8> {
        let stream = TcpStream::connect(proxy.address()).await.unwrap();
        let (mut from, mut to) = stream.into_split();
        let mut back = Vec::new();
        let send = async {
            let _ = to.write_all(sent).await;
            let _ = to.shutdown().await;
        };
        let receive = async {
            let mut byte = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut byte).await {
                back.extend_from_slice(&byte[..count]);
            }
        };
        tokio::join!(send, receive);
        back
    }

    fn only(fault: Fault, after: u64) -> Faults {
        Faults {
            kinds: vec![fault],
            after: after..after + 1,
        }
    }

    async fn proxied(faults: Faults, bytes: &[u8]) -> (Vec<u8>, ChaosProxy) {
        let proxy = ChaosProxy::start(Address::Tcp(echo().await), 1, faults)
            .await
            .unwrap();
        (round(&proxy, bytes).await, proxy)
    }

    #[tokio::test]
    async fn bytes_before_a_cut_are_a_prefix() {
        let sent: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
        for fault in [Fault::Cut, Fault::Reset, Fault::HalfClose] {
            let (back, proxy) = proxied(only(fault, 777), &sent).await;
            assert!(
                back.len() < sent.len() && sent.starts_with(&back),
                "{fault:?}"
            );
            let reported = async {
                while proxy.faults() == 0 {
                    tokio::task::yield_now().await;
                }
            };
            let reported = tokio::time::timeout(Duration::from_secs(10), reported).await;
            reported.unwrap_or_else(|_| panic!("{fault:?} is not reported"));
        }
    }

    #[tokio::test]
    async fn delay_loses_nothing_and_flip_changes_one_byte() {
        let sent = vec![7; 5000];
        let (back, _) = proxied(only(Fault::Delay(Duration::from_millis(1)), 100), &sent).await;
        assert_eq!(back, sent);
        let (back, _) = proxied(only(Fault::Corrupt, 100), &sent).await;
        let differs: Vec<usize> = (0..5000).filter(|&at| back[at] != sent[at]).collect();
        assert_eq!(differs, [100]);
    }

    #[tokio::test]
    async fn proxy_without_faults_changes_nothing() {
        let proxy = ChaosProxy::start(Address::Tcp(echo().await), 1, only(Fault::Cut, 0)).await;
        let proxy = proxy.unwrap();
        proxy.be_kind();
        assert_eq!(round(&proxy, b"ahoy").await, b"ahoy");
    }
}
