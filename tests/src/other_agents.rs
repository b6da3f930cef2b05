//! Drives the real Codex, Gemini CLI and opencode without a network: the API of their model is a script on
//! loopback.
//!
//! [`ModelApi`] answers each request with the next [`Reply`], in the format that the agent's model has, and
//! [`AgentHome`] gives a run a fresh home and a clean environment. `.ci/other-agents` installs the programs,
//! and names each in [`OtherAgent::variable`].

mod agent;
mod api;
mod format;
mod home;
mod normalize;
mod reply;

pub use agent::OtherAgent;
pub use api::ModelApi;
pub use format::ApiFormat;
pub use home::AgentHome;
pub use normalize::normalized;
pub use reply::{Call, Reply};
