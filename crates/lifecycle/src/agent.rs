//! The agent's program: its version, and what an older one lacks.

mod capabilities;
mod options;
mod probe;

pub use bowline_jsonl::AgentVersion;
pub use capabilities::{AgentCapabilities, AgentFeature};
pub use options::UnknownOption;
pub use probe::{InstalledAgent, ProbeError};
