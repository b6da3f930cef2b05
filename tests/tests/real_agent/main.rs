//! The real agent, driven against a scripted API on loopback.
//!
//! `cargo test` leaves these tests out. `.ci/agents` installs the agent from npm and runs them, some of them
//! with other versions, too.

mod hooks;
mod rig;
mod sessions;
