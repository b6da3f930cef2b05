//! Manages many sessions of both kinds: creates, lists, prompts and ends them, and keeps the list on
//! disk.
//!
//! An internal crate of Bowline; its interface may change in any release.

mod at_runner;
mod configuration;
mod create;
#[cfg(feature = "remote")]
mod create_at_runner;
mod error;
mod events;
mod info;
mod lease;
mod manager;
mod metadata;
mod metadata_files;
mod monitor;
#[cfg(feature = "remote")]
mod reattach;
mod running;
mod shutdown;
mod store;
mod table;
mod time;

pub use self::configuration::ManagerConfiguration;
pub use self::error::{ManagerError, StateWarning};
pub use self::events::ManagerEvents;
pub use self::info::{EndReason, RunnerLocation, SessionEnd, SessionInfo, SessionKind};
pub use self::lease::ConversationLease;
pub use self::manager::{Killed, PromptOutcome, SessionManager};
#[cfg(feature = "remote")]
pub use self::reattach::ReattachReport;
pub use self::shutdown::{ShutdownMode, ShutdownReport, ShutdownSignal};
pub use self::time::Timestamp;
