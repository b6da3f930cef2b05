//! Work that waits for a disk, beside the reactor.
//!
//! A thread of its own each time, and none where the system gives none: tokio's pool panics then, or
//! lets the work lie until somebody else is given a thread, and a session has to live on.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tokio::sync::oneshot;

/// The work has panicked.
#[derive(Debug, thiserror::Error)]
#[error("do what needs the disk: it broke off")]
pub(crate) struct BrokeOff;

/// Does it in a thread of its own; where none is to be had at once, in this one.
pub(crate) fn aside(work: impl FnOnce() + Send + 'static) {
    aside_in(thread::Builder::new().name("bowline-disk".to_owned()), work);
}

fn aside_in(thread: thread::Builder, work: impl FnOnce() + Send + 'static) {
    let work = Arc::new(Mutex::new(Some(work)));
    let theirs = Arc::clone(&work);
    if thread.spawn(move || run(&theirs)).is_err() {
        run(&work);
    }
}

/// The same, for who waits for what comes of it.
pub(crate) async fn done_aside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, BrokeOff> {
    let (told, result) = oneshot::channel();
    aside(move || {
        // Who asked may be gone.
        let _ = told.send(work());
    });
    result.await.map_err(|_| BrokeOff)
}

fn run(work: &Mutex<Option<impl FnOnce()>>) {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(work) = work {
        work();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_is_done_in_another_thread() {
        let here = thread::current().id();
        let there = done_aside(|| thread::current().id()).await.unwrap();
        assert_ne!(here, there);
    }

    #[test]
    fn without_a_thread_the_work_is_done_here() {
        // No address space has room for its stack.
        let refused = thread::Builder::new().stack_size(1 << 60);
        let (told, heard) = std::sync::mpsc::channel();
        aside_in(refused, move || told.send(thread::current().id()).unwrap());
        assert_eq!(heard.try_recv().unwrap(), thread::current().id());
    }

    #[tokio::test]
    async fn who_waits_for_work_that_panics_is_told() {
        let broke_off = done_aside(|| panic!("as it is meant to")).await;
        assert!(broke_off.is_err());
    }
}
