//! Check for available threads.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time limit for ended threads to disappear from the system's count.
const TIME_LIMIT: Duration = Duration::from_secs(1);

/// Checks that `count` threads can run at once, by starting and joining them.
///
/// Call it before building tokio's multi-threaded runtime, which panics if it cannot start any
/// worker and sometimes hangs if it starts too few.
///
/// # Errors
///
/// Returns the error of pthread_create(3): the thread limit is reached, or memory is exhausted.
pub fn check_threads(count: usize) -> io::Result<()> {
    let (gate, entries) = (Mutex::new(()), Mutex::new(Vec::new()));
    let waits = || {
        entries.lock().extend(entry());
        drop(gate.lock());
    };
    thread::scope(|scope| {
        let _closed = gate.lock();
        for _ in 0..count {
            thread::Builder::new().spawn_scoped(scope, waits)?;
        }
        io::Result::Ok(())
    })?;
    // A join returns before the kernel has released the thread.
    let entries: Vec<PathBuf> = entries.into_inner();
    let until = Instant::now() + TIME_LIMIT;
    while entries.iter().any(|entry| entry.exists()) && Instant::now() < until {
        thread::yield_now();
    }
    Ok(())
}

/// Returns the /proc entry of this thread (proc(5)); `None` on systems without it.
fn entry() -> Option<PathBuf> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    Some(Path::new("/proc").join(link))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_threads_can_start() {
        check_threads(8).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn thread_entry_exists() {
        let (here, there) = (entry().unwrap(), thread::spawn(entry).join().unwrap());
        assert!(here.exists());
        assert_ne!(Some(here), there);
    }
}
