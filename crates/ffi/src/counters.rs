//! Counts the live objects of the library by kind.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy, Debug)]
pub(crate) enum ObjectKind {
    Session,
    Stream,
    Receipt,
    Snapshot,
    Recording,
    Shell,
    Manager,
    HookServer,
    Executor,
    Call,
    Read,
}

static COUNTS: [AtomicU64; 11] = [const { AtomicU64::new(0) }; 11];

/// Returns the number of live objects of `kind`.
pub(crate) fn count(kind: ObjectKind) -> u64 {
    COUNTS[kind as usize].load(Ordering::Relaxed)
}

/// Counts one object of a kind until it is dropped.
#[derive(Debug)]
pub(crate) struct CountGuard(ObjectKind);

impl CountGuard {
    pub(crate) fn new(kind: ObjectKind) -> Self {
        COUNTS[kind as usize].fetch_add(1, Ordering::Relaxed);
        Self(kind)
    }
}

impl Drop for CountGuard {
    fn drop(&mut self) {
        COUNTS[self.0 as usize].fetch_sub(1, Ordering::Relaxed);
    }
}
