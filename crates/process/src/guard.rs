//! A helper process that ends a session's processes after the host was killed.
//!
//! A host that receives SIGKILL cannot end its children. The guard holds one end of a socket pair;
//! the other end belongs to the host alone. When that end closes without a shutdown message, the
//! guard kills the processes it is responsible for and exits. The guard runs the program named by
//! [`Configuration::guard`](crate::Configuration::guard) with a hidden argument; the program calls
//! [`run_guard`] first in `main`.
//!
//! Each session has a guard of its own, which starts the child. On Linux it is a subreaper
//! (`PR_SET_CHILD_SUBREAPER`, prctl(2)): orphans are reparented to it, so that parentage finds every
//! descendant. It adds to a control group what that lacks, since a process with the permission to do
//! so can move itself to another group. macOS has neither. There the guard follows the descendants while
//! they are alive (`NOTE_FORK` of kqueue(2)) and knows them again by pid and start time, and finds others
//! by the marker in their environment. A process escapes that is started without the marker and loses its
//! parent within milliseconds.

mod find;
mod link;
mod order;
mod session;

use std::process::ExitCode;

pub use find::default_guard;
pub(crate) use link::{Answer, Link};
pub(crate) use order::{Order, Program};

/// First argument of a guard process.
pub(crate) const ARGUMENT: &str = "--bowline-guard";

/// Runs the guard if this process was started as one, and returns its exit code; returns `None` in
/// any other process. Must be called first in `main`, before any thread is started: a guard has one
/// thread.
pub fn run_guard() -> Option<ExitCode> {
    let is_guard = std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == ARGUMENT);
    is_guard.then(guard)
}

fn guard() -> ExitCode {
    let Ok(link) = Link::of_guard() else {
        return ExitCode::FAILURE;
    };
    crate::sys::ignore_termination_signals();
    match link.order() {
        Ok(order) => session::run(link, order),
        Err(_) => ExitCode::FAILURE,
    }
}
