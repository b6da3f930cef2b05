//! A helper process that outlives the host by a moment, to leave nothing behind.
//!
//! A host that is killed by SIGKILL can do nothing about its children any more. A guard can: it
//! holds one end of a socket whose other end only the host has, and when that closes without a word
//! it kills what it guards and ends. It is the program that
//! [`Configuration::guard`](crate::Configuration::guard) names, started in a hidden mode; such a
//! program calls [`run_guard`] before anything else.
//!
//! There are two kinds. With control groups one guard *watches* over all sessions of the host, and
//! kills the group that they are in. Without, each session has a guard that *keeps* it: it starts
//! the child, orphans of the tree fall to it (`PR_SET_CHILD_SUBREAPER`, prctl(2)), and parentage
//! finds them all, whatever they shed.

#[cfg(target_os = "linux")]
mod keep;
mod link;
mod order;
#[cfg(target_os = "linux")]
mod watch;

use std::process::ExitCode;

pub(crate) use link::{Answer, Link};
pub(crate) use order::{Order, Program};

/// The first argument of a program that is to be a guard.
pub(crate) const ARGUMENT: &str = "--bowline-guard";

/// Does a guard's work if this process was started as one, and returns its exit code when there is
/// nothing left to guard; `None` in any other process. To be called first in `main`, before any
/// thread is started: a guard has one thread.
pub fn run_guard() -> Option<ExitCode> {
    let asked = std::env::args_os()
        .nth(1)
        .is_some_and(|first| first == ARGUMENT);
    asked.then(guard)
}

#[cfg(target_os = "linux")]
fn guard() -> ExitCode {
    let Ok(link) = Link::of_guard() else {
        return ExitCode::FAILURE;
    };
    crate::sys::ignore_polite_signals();
    match link.order() {
        Ok(Order::Watch { nest }) => watch::run(&link, &nest),
        Ok(Order::Keep { program, tty }) => keep::run(link, &program, tty),
        Err(_) => ExitCode::FAILURE,
    }
}

#[cfg(not(target_os = "linux"))]
fn guard() -> ExitCode {
    ExitCode::FAILURE
}
