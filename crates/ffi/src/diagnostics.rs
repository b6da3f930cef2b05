//! Version, capability and leak checks of the library itself.

use crate::core::{self, TerminalRegistry};
use crate::counters::{ObjectKind, count};
use crate::error::Result;
use crate::runtime::{abortable, call};

/// Revision of the exported API, incremented by each change of it. UniFFI's checksums do not cover the
/// fields of records, so the hand-written Swift and Kotlin code compares this number at first use.
const API_REVISION: u32 = 21;

/// Returns the revision of the exported API.
///
/// Bindings that were generated for another revision must not be used with this library.
#[uniffi::export]
#[must_use]
pub const fn api_revision() -> u32 {
    API_REVISION
}

/// Returns the version of the library, such as `0.1.0`.
#[uniffi::export]
#[must_use]
pub fn library_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The process containment that this machine supports.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContainmentView {
    /// The level without a guard program: `group`, `subreaper` or `cgroup`.
    pub level: String,
    /// The level with a guard program.
    pub guarded: String,
    /// Why `cgroup` is not available; absent if it is.
    pub limitation: Option<String>,
}

/// Tests which process containment this machine supports.
///
/// The test creates a short-lived process and control group and removes both. It blocks the calling
/// thread for some milliseconds.
#[uniffi::export]
pub fn probe_containment() -> Result<ContainmentView> {
    call(|| {
        let probe = core::probe();
        Ok(ContainmentView {
            level: probe.level.to_string(),
            guarded: probe.guarded.to_string(),
            limitation: probe.lacking,
        })
    })
}

/// Counts of live objects of the library. All are 0 once the host has released everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct LiveCounters {
    /// Handles of dialogue sessions.
    pub sessions: u64,
    /// Streams of changes, events, hooks and lines.
    pub streams: u64,
    /// Prompt receipts.
    pub receipts: u64,
    /// Transcript snapshots.
    pub snapshots: u64,
    /// Recordings.
    pub recordings: u64,
    /// Handles of shell sessions.
    pub shells: u64,
    /// Session managers.
    pub managers: u64,
    /// Hook servers.
    pub hook_servers: u64,
    /// Terminal executors.
    pub executors: u64,
    /// Calls in progress.
    pub pending_calls: u64,
    /// Reads of change streams in progress.
    pub pending_reads: u64,
    /// Terminals with a process.
    pub terminals: u64,
}

/// Returns the counts of live objects, for leak checks.
#[uniffi::export]
pub fn live_counters() -> Result<LiveCounters> {
    call(|| {
        Ok(LiveCounters {
            sessions: count(ObjectKind::Session),
            streams: count(ObjectKind::Stream),
            receipts: count(ObjectKind::Receipt),
            snapshots: count(ObjectKind::Snapshot),
            recordings: count(ObjectKind::Recording),
            shells: count(ObjectKind::Shell),
            managers: count(ObjectKind::Manager),
            hook_servers: count(ObjectKind::HookServer),
            executors: count(ObjectKind::Executor),
            pending_calls: count(ObjectKind::Call),
            pending_reads: count(ObjectKind::Read),
            terminals: TerminalRegistry::shared().list().len() as u64,
        })
    })
}

/// Where [`force_panic`] panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PanicLocation {
    /// On the calling thread.
    CallerThread,
    /// In a task of the runtime.
    RuntimeTask,
}

/// Panics inside the library, so that a host can test that this throws an error and does not crash.
///
/// # Errors
///
/// Always `Internal`.
#[uniffi::export]
pub async fn force_panic(location: PanicLocation) -> Result<()> {
    let fault = || -> Result<()> { panic!("panic forced by the host") };
    match location {
        PanicLocation::CallerThread => call(fault),
        PanicLocation::RuntimeTask => abortable(async move { fault() }).await,
    }
}
