//! Whole sessions: in this process over in-memory connections, and in shims with real children.
//! No test sleeps: each waits for a message, an exit or a file, within a timeout.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, its helpers too"
)]

mod client;
mod hosted;
mod reunion;
mod screens;
mod shims;
mod slow_disk;
mod support;
mod trouble;
