//! Hooks and the executor with Claude Code.

mod decisions;
mod dialogue;
mod executor;
mod kinds;
mod provoked;
mod rig;
