//! The simulated network between hosts and the owner of their session.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bowline_runner::SessionHandle;
use bowline_transport::{Address, Boxed, ByteStream, Network};
use tokio::io::duplex;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::campaign::Random;
use crate::chaos::{Fault, Faults, Plan, proxy_link};

/// Buffer size of each direction of each half of a connection, in bytes.
const PIPE_BYTES: usize = 8 << 10;

/// State shared by all links of a schedule.
#[derive(Debug)]
pub(super) struct Conditions {
    host: SessionHandle,
    seed: u64,
    connections: AtomicU64,
    is_calm: AtomicBool,
    /// Whether the owner is unreachable for all hosts.
    is_down: AtomicBool,
    cut: watch::Sender<u64>,
}

impl Conditions {
    pub(super) fn new(host: SessionHandle, seed: u64) -> Self {
        Self {
            host,
            seed,
            connections: AtomicU64::new(0),
            is_calm: AtomicBool::new(false),
            is_down: AtomicBool::new(false),
            cut: watch::Sender::new(0),
        }
    }

    pub(super) fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Disables all faults from now on.
    pub(super) fn disable_faults(&self) {
        self.is_calm.store(true, Ordering::Relaxed);
        self.is_down.store(false, Ordering::Relaxed);
        // Links with a silent fault would be detected only by the pings.
        self.cut.send_modify(|cut| *cut += 1);
    }

    /// Cuts all links at once now and then, as a restart of the runner does.
    pub(super) async fn partition(self: Arc<Self>, mut random: Random) {
        loop {
            sleep(Duration::from_millis(random.below(20_000))).await;
            self.cut.send_modify(|cut| *cut += 1);
            if random.below(2) == 0 {
                self.is_down.store(true, Ordering::Relaxed);
                sleep(Duration::from_millis(random.below(30_000))).await;
                self.is_down.store(false, Ordering::Relaxed);
            }
        }
    }
}

/// Behaviour of a link in this simulation.
fn faults() -> Faults {
    Faults {
        kinds: vec![
            Fault::Cut,
            Fault::HalfClose,
            // Longer than the silence timeout of a link (14 s).
            Fault::Stall(Duration::from_secs(20)),
            Fault::Delay(Duration::from_secs(2)),
            Fault::Delay(Duration::from_millis(200)),
            Fault::Corrupt,
        ],
        after: 0..48 << 10,
    }
}

/// One host's network.
#[derive(Debug)]
pub(super) struct HostNetwork {
    conditions: Arc<Conditions>,
    /// Set when the host is killed; pending data is discarded.
    is_dead: AtomicBool,
    cut: watch::Sender<u64>,
}

impl HostNetwork {
    pub(super) fn new(conditions: &Arc<Conditions>) -> Self {
        Self {
            conditions: Arc::clone(conditions),
            is_dead: AtomicBool::new(false),
            cut: watch::Sender::new(0),
        }
    }

    /// Disconnects the host without notice.
    pub(super) fn kill(&self) {
        self.is_dead.store(true, Ordering::Relaxed);
        self.cut.send_modify(|cut| *cut += 1);
    }

    async fn sail(&self) -> io::Result<Box<dyn ByteStream>> {
        let conditions = &self.conditions;
        let number = conditions.connections.fetch_add(1, Ordering::Relaxed);
        let mut random = Random::new(conditions.seed ^ number);
        sleep(Duration::from_millis(random.below(200))).await;
        let is_out =
            || conditions.is_down.load(Ordering::Relaxed) || self.is_dead.load(Ordering::Relaxed);
        if is_out() {
            return Err(io::ErrorKind::NetworkUnreachable.into());
        }
        let is_calm = conditions.is_calm.load(Ordering::Relaxed);
        let plan = (!is_calm).then(|| Plan::of(conditions.seed, number, &faults()));
        let (ours, near) = duplex(PIPE_BYTES);
        let (far, theirs) = duplex(PIPE_BYTES);
        let (mut all, mut own) = (conditions.cut.subscribe(), self.cut.subscribe());
        let (either, cut) = watch::channel(0);
        tokio::spawn(async move {
            tokio::select! {
                _ = all.changed() => {}
                _ = own.changed() => {}
                () = either.closed() => {}
            }
            either.send_replace(1);
        });
        tokio::spawn(proxy_link(near, far, plan, cut));
        conditions.host.connect(theirs).await;
        Ok(Box::new(ours))
    }
}

impl Network for HostNetwork {
    fn connect<'a>(&'a self, _: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        Box::pin(self.sail())
    }
}
