//! Sessions of exported handles, and the end of those that were started for nothing.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::core;
use crate::counters::ObjectKind;
use crate::runtime::{Tracked, background};

/// A session with a process.
pub(crate) trait Terminate: Clone + Send + 'static {
    /// Terminates the process and all of its descendants.
    fn terminate_all(self) -> impl Future<Output = ()> + Send;
}

impl Terminate for core::DialogueSession {
    async fn terminate_all(self) {
        self.terminate().await;
    }
}

impl Terminate for core::ShellSession {
    async fn terminate_all(self) {
        self.terminate().await;
    }
}

/// The session of an exported handle. One that was started through the handle is terminated if it is
/// dropped before its first use.
///
/// A call that starts a session may be cancelled when the session is running already, and its result is
/// then dropped: by this crate, by the generated code, or by the collector of the host. The host does not
/// know the session's id, and could not end a process that continues at a runner.
pub(crate) struct SessionHandle<T: Terminate> {
    session: Tracked<T>,
    is_used: AtomicBool,
}

impl<T: Terminate> SessionHandle<T> {
    /// Returns the handle of a session that was started for it.
    pub(crate) fn started(kind: ObjectKind, session: T) -> Self {
        Self {
            session: Tracked::new(kind, session),
            is_used: AtomicBool::new(false),
        }
    }

    /// Returns another handle of a session that the host knows.
    pub(crate) fn known(kind: ObjectKind, session: T) -> Self {
        Self {
            session: Tracked::new(kind, session),
            is_used: AtomicBool::new(true),
        }
    }

    /// Returns the session for a call of the host.
    pub(crate) fn used(&self) -> &T {
        self.is_used.store(true, Ordering::Relaxed);
        &self.session
    }

    /// Returns the session without counting as its use.
    pub(crate) fn unused(&self) -> &T {
        &self.session
    }
}

impl<T: Terminate> Drop for SessionHandle<T> {
    fn drop(&mut self) {
        if !*self.is_used.get_mut() {
            background(self.session.clone().terminate_all());
        }
    }
}
