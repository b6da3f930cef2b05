//! The agent's program: its version, and what an older one lacks.

mod capabilities;
mod options;
mod probe;
mod version;

pub use capabilities::{AgentCapabilities, AgentFeature};
pub use options::UnknownOption;
pub use probe::{InstalledAgent, ProbeError};
pub use version::AgentVersion;
