//! A network whose lost connections are retried at once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bowline_transport::{Address, Boxed, ByteStream, Network};

/// Delay of a retry.
const DELAY: Duration = Duration::from_millis(30);

/// A network that reports a change after each lost connection, so that the host reconnects at once. Without
/// it, a host waits some seconds between connections that break soon, and a campaign would mostly wait.
/// Applies to TCP URLs.
#[derive(Debug)]
pub struct Impatient {
    network: Arc<dyn Network>,
    /// Connections whose loss was not reported as a change.
    unreported: AtomicU64,
}

impl Impatient {
    /// Wraps a network.
    #[must_use]
    pub fn new(network: Arc<dyn Network>) -> Self {
        Self {
            network,
            unreported: AtomicU64::new(0),
        }
    }
}

impl Network for Impatient {
    fn connect<'a>(&'a self, to: Address<'a>) -> Boxed<'a, io::Result<Box<dyn ByteStream>>> {
        self.unreported.fetch_add(1, Ordering::Relaxed);
        self.network.connect(to)
    }

    fn changed(&self) -> Boxed<'static, ()> {
        // Once for each connection: a change also restarts a connection that is being made.
        let lower = |count: u64| count.checked_sub(1);
        let order = Ordering::Relaxed;
        match self.unreported.fetch_update(order, order, lower) {
            Ok(_) => Box::pin(tokio::time::sleep(DELAY)),
            Err(_) => Box::pin(std::future::pending()),
        }
    }
}
