//! Claude Code, driven through `DialogueSession`.

mod endings;
mod interrupts;
mod permissions;
mod remote;
mod rig;
mod turns;
