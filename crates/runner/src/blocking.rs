//! Blocking disk work of a shim, run off its reactor.
//!
//! A plain thread is used rather than tokio's blocking pool: the pool panics when the system
//! refuses a new thread, and a session must survive that.

use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// Runs `work` in a new thread, or in the current one if no thread can be spawned.
pub(crate) fn spawn_or_run(work: impl FnOnce() + Send + 'static) {
    let builder = thread::Builder::new().name("bowline-disk".to_owned());
    spawn_or_run_with(builder, work);
}

fn spawn_or_run_with(builder: thread::Builder, work: impl FnOnce() + Send + 'static) {
    let work = Arc::new(Mutex::new(Some(work)));
    let shared = Arc::clone(&work);
    if builder.spawn(move || run(&shared)).is_err() {
        run(&work);
    }
}

fn run(work: &Mutex<Option<impl FnOnce()>>) {
    let work = work.lock().take();
    if let Some(work) = work {
        work();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn work_runs_in_another_thread() {
        let (sender, receiver) = channel();
        spawn_or_run(move || sender.send(thread::current().id()).unwrap());
        assert_ne!(receiver.recv().unwrap(), thread::current().id());
    }

    #[test]
    fn work_runs_in_this_thread_if_spawn_fails() {
        // No address space has room for this stack.
        let builder = thread::Builder::new().stack_size(1 << 60);
        let (sender, receiver) = channel();
        spawn_or_run_with(builder, move || {
            sender.send(thread::current().id()).unwrap()
        });
        assert_eq!(receiver.try_recv().unwrap(), thread::current().id());
    }
}
