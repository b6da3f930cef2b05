//! Whether threads are to be had.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Makes sure that a runtime can start so many threads: it has them all at once for a moment.
///
/// To be called before tokio's runtime with many threads is built, which panics where it gets none
/// and hangs at times where it gets too few.
///
/// # Errors
///
/// What pthread_create(3) says: the limit of threads is reached, or there is no memory.
pub fn check_threads(count: usize) -> io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let _closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..count {
            let waits = || drop(gate.lock().unwrap_or_else(PoisonError::into_inner));
            thread::Builder::new().spawn_scoped(scope, waits)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_to_be_had() {
        check_threads(8).unwrap();
    }
}
