//! Whether threads are to be had.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread that has ended may still count.
const PATIENCE: Duration = Duration::from_secs(1);

/// Makes sure that a runtime can start so many threads: it has them all at once for a moment.
///
/// To be called before tokio's runtime with many threads is built, which panics where it gets none
/// and hangs at times where it gets too few.
///
/// # Errors
///
/// What pthread_create(3) says: the limit of threads is reached, or there is no memory.
pub fn check_threads(count: usize) -> io::Result<()> {
    let (gate, had) = (Mutex::new(()), Mutex::new(Vec::new()));
    let waits = || {
        had.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(entry());
        drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
    };
    thread::scope(|scope| {
        let _closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..count {
            thread::Builder::new().spawn_scoped(scope, waits)?;
        }
        io::Result::Ok(())
    })?;
    // Who waits for a thread's end is woken before the system has let go of it.
    let had = had.into_inner().unwrap_or_else(PoisonError::into_inner);
    let until = Instant::now() + PATIENCE;
    while had.iter().any(|entry| entry.exists()) && Instant::now() < until {
        thread::yield_now();
    }
    Ok(())
}

/// Where the system lists this thread (proc(5)), on a system that does.
fn entry() -> Option<PathBuf> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    Some(Path::new("/proc").join(link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_to_be_had() {
        check_threads(8).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_knows_where_it_is_listed() {
        let (here, there) = (entry().unwrap(), thread::spawn(entry).join().unwrap());
        assert!(here.exists());
        assert_ne!(Some(here), there);
    }
}
