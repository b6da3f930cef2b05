//! Hooks and the executor with the real agent, against a scripted API on loopback.
//!
//! The agent is installed from npm into the user's cache. `BOWLINE_SKIP_REAL_AGENT=1` skips these tests
//! on a machine without npm; CI always runs them. `.ci/agents` runs some with older versions.

#[path = "real_agent_hooks/decisions.rs"]
mod decisions;
#[path = "real_agent_hooks/dialogue.rs"]
mod dialogue;
#[path = "real_agent_hooks/executor.rs"]
mod executor;
#[path = "real_agent_hooks/kinds.rs"]
mod kinds;
#[path = "real_agent_hooks/provoked.rs"]
mod provoked;
#[path = "real_agent_hooks/rig.rs"]
mod rig;
