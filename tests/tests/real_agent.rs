//! The real agent, driven through `DialogueSession` against a scripted API on loopback.
//!
//! The agent is installed from npm into the user's cache. `BOWLINE_SKIP_REAL_AGENT=1` skips these tests
//! on a machine without npm; CI always runs them. `.ci/agents` runs some with older versions.

#[path = "real_agent/endings.rs"]
mod endings;
#[path = "real_agent/interrupts.rs"]
mod interrupts;
#[path = "real_agent/permissions.rs"]
mod permissions;
#[path = "real_agent/remote.rs"]
mod remote;
#[path = "real_agent/rig.rs"]
mod rig;
#[path = "real_agent/turns.rs"]
mod turns;
