//! The agent's program: its version, and what an older one lacks.

mod capabilities;
mod capability;
mod known;
mod options;
mod probe;

pub use bowline_jsonl::AgentVersion;
pub use capabilities::{AgentCapabilities, AgentFeature};
pub use capability::{Capabilities, Capability};
pub use known::KnownAgent;
pub use options::UnknownOption;
pub use probe::{InstalledAgent, ProbeError};
