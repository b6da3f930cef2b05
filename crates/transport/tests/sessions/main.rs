//! Sessions with real children. No test sleeps: each waits for bytes, an exit or a task count, with a
//! time limit. Tests that count descriptors, threads or children run in a separate process.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod ends;
mod leaks;
mod logins;
mod output_readers;
mod pipes;
mod pty_system;
mod ptys;
mod refusals;
mod support;
mod trees;
