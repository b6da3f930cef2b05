//! The runtime that a runner is at its best in.

use std::io;
use std::time::Duration;

use bowline_transport::check_threads;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// Threads of the reactor: sessions have processes of their own.
const WORKERS: usize = 2;

/// Threads that may wait for disks at the same time. Those that were started stay.
const WAITERS: usize = 4;

/// They never have been idle for so long.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// How long the first of them may take to start.
const PATIENCE: Duration = Duration::from_secs(5);

/// A tokio runtime that has the threads which a [`Runner`](crate::Runner) cannot do without, and
/// keeps them: in any other, lists and logs wait while the system refuses it another thread.
///
/// # Errors
///
/// The system does not give the threads or the descriptors.
pub fn runtime() -> io::Result<Runtime> {
    check_threads(WORKERS + 1)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(WAITERS)
        .thread_keep_alive(FOR_EVER)
        .enable_all()
        .build()?;
    let first = async { timeout(PATIENCE, tokio::task::spawn_blocking(|| ())).await };
    match runtime.block_on(first) {
        Ok(_) => Ok(runtime),
        Err(_) => {
            runtime.shutdown_background();
            Err(io::Error::other("no thread is to be had for the disk"))
        }
    }
}
