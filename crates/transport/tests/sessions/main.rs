//! Whole sessions with real children. No test sleeps: each waits for bytes, an end or a task count,
//! within a bound. What counts descriptors, threads or children runs in a process of its own.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod ends;
mod leaks;
mod logins;
mod pipes;
mod pty_system;
mod ptys;
mod refusals;
mod support;
mod taps;
mod trees;
