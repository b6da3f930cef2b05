//! What lives inside of the library, in numbers, for hosts that look for leaks.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Outcome;
use crate::runtime::call;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
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
    Pull,
}

static COUNTS: [AtomicU64; 11] = [const { AtomicU64::new(0) }; 11];

/// Counts one while it lives.
#[derive(Debug)]
pub(crate) struct Live(Kind);

impl Live {
    pub(crate) fn new(kind: Kind) -> Self {
        COUNTS[kind as usize].fetch_add(1, Ordering::Relaxed);
        Self(kind)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        COUNTS[self.0 as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

/// What lives inside of the library: everything is 0 when a host has let go of all that it had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct LiveCounters {
    /// Handles of dialogues.
    pub sessions: u64,
    /// Streams of changes, events, hooks and lines.
    pub streams: u64,
    /// Receipts of prompts.
    pub receipts: u64,
    /// Snapshots of transcripts.
    pub snapshots: u64,
    /// Recordings.
    pub recordings: u64,
    /// Handles of shells.
    pub shells: u64,
    /// Session managers.
    pub managers: u64,
    /// Servers for hooks.
    pub hook_servers: u64,
    /// Terminal executors.
    pub executors: u64,
    /// Calls that wait inside.
    pub calls: u64,
    /// Readers that wait for changes.
    pub pulls: u64,
    /// Terminals with a process.
    pub terminals: u64,
}

/// What lives inside of the library now.
///
/// # Errors
///
/// Only a fault of the library.
#[uniffi::export]
pub fn live_counters() -> Outcome<LiveCounters> {
    call(|| {
        let of = |kind: Kind| COUNTS[kind as usize].load(Ordering::Relaxed);
        let terminals = crate::core::TerminalRegistry::shared().list().len();
        Ok(LiveCounters {
            sessions: of(Kind::Session),
            streams: of(Kind::Stream),
            receipts: of(Kind::Receipt),
            snapshots: of(Kind::Snapshot),
            recordings: of(Kind::Recording),
            shells: of(Kind::Shell),
            managers: of(Kind::Manager),
            hook_servers: of(Kind::HookServer),
            executors: of(Kind::Executor),
            calls: of(Kind::Call),
            pulls: of(Kind::Pull),
            terminals: terminals as u64,
        })
    })
}
