//! What a host asks of the library itself.

use crate::core;

use crate::error::Outcome;
use crate::runtime::{call, wait};

/// Revision of this surface: one more with every change of it. UniFFI's own checksums do not see
/// the members of records, so that the hand-written surfaces compare this number first.
const API_REVISION: u32 = 4;

/// The revision of this surface. Sources that were generated for another one must not be used.
#[uniffi::export]
#[must_use]
pub const fn api_revision() -> u32 {
    API_REVISION
}

/// The version of the library.
#[uniffi::export]
#[must_use]
pub fn library_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// How tightly this machine can hold a session's processes.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ContainmentView {
    /// Without a guard: `group`, `subreaper` or `cgroup`.
    pub level: String,
    /// With a guard.
    pub guarded: String,
    /// Why it is not `cgroup`; absent if it is.
    pub lacking: Option<String>,
}

/// Tries out how tightly this machine can hold a session's processes. Leaves nothing behind.
///
/// # Errors
///
/// Only a fault of the library.
#[uniffi::export]
pub fn probe_containment() -> Outcome<ContainmentView> {
    call(|| {
        let probe = core::probe();
        Ok(ContainmentView {
            level: probe.level.to_string(),
            guarded: probe.guarded.to_string(),
            lacking: probe.lacking,
        })
    })
}

/// Where [`force_panic`] panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PanicPlace {
    /// On the caller's thread.
    Call,
    /// In a task of the runtime.
    Task,
}

/// Panics, so that a host's tests can see that a fault inside is an error and no crash.
///
/// # Errors
///
/// Always [`BowlineError::Internal`](crate::BowlineError::Internal).
#[uniffi::export]
pub async fn force_panic(place: PanicPlace) -> Outcome<()> {
    let fault = || -> Outcome<()> { panic!("forced by the host") };
    match place {
        PanicPlace::Call => call(fault),
        PanicPlace::Task => wait(async move { fault() }).await,
    }
}
