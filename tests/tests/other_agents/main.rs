//! The real Codex, Gemini CLI and opencode, driven through `DialogueSession` against a scripted API on
//! loopback.
//!
//! `.ci/other-agents` installs them and runs these tests, which `cargo test` leaves out. Each agent has the
//! same scenarios; what differs between agents is said there.

mod codex;
mod cuts;
mod gemini;
mod opencode;
mod rig;
mod scenarios;
