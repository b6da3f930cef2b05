//! A tokio runtime for the daemon.

use std::io;
use std::time::Duration;

use bowline_transport::check_threads;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::descriptor_limit;

/// Reactor threads. Sessions run in processes of their own.
const WORKER_THREADS: usize = 2;

/// Threads for blocking disk work.
const BLOCKING_THREADS: usize = 4;

/// Keep-alive of blocking threads, so long that none of them is stopped.
const KEEP_ALIVE: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Time limit for the start of the first blocking thread.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Creates a tokio runtime for a [`Runner`](crate::Runner), with blocking threads that are never
/// stopped. In other runtimes, lists and logs are delayed while the system refuses to start another
/// thread. Also raises the process's limit on open descriptors (`RLIMIT_NOFILE`), which sessions do
/// not inherit on Linux.
///
/// # Errors
///
/// Fails if threads or descriptors are exhausted.
pub fn runtime() -> io::Result<Runtime> {
    check_threads(WORKER_THREADS + 1)?;
    descriptor_limit::raise();
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(KEEP_ALIVE)
        .enable_all()
        .build()?;
    let first = async { timeout(START_TIMEOUT, tokio::task::spawn_blocking(|| ())).await };
    match runtime.block_on(first) {
        Ok(_) => Ok(runtime),
        Err(_) => {
            runtime.shutdown_background();
            Err(io::Error::other("cannot start a thread for disk work"))
        }
    }
}
