//! Work of a shim that waits for a disk, beside its reactor.
//!
//! A thread of its own each time, and none where the system gives none: tokio's pool panics then,
//! and a session has to live on.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

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

fn run(work: &Mutex<Option<impl FnOnce()>>) {
    let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(work) = work {
        work();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn work_is_done_in_another_thread() {
        let (told, heard) = channel();
        aside(move || told.send(thread::current().id()).unwrap());
        assert_ne!(heard.recv().unwrap(), thread::current().id());
    }

    #[test]
    fn without_a_thread_the_work_is_done_here() {
        // No address space has room for its stack.
        let refused = thread::Builder::new().stack_size(1 << 60);
        let (told, heard) = channel();
        aside_in(refused, move || told.send(thread::current().id()).unwrap());
        assert_eq!(heard.try_recv().unwrap(), thread::current().id());
    }
}
