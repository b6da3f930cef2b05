//! The sessions of a state folder: create, find, list and terminate.

mod record;
mod shim_link;
mod slots;
mod store;
mod summary;
mod termination;

pub use record::SessionSummaryState;
pub(crate) use record::{SessionRecord, ShimStatus, has_no_listener};
pub(crate) use shim_link::{ShimLink, ShimLinkError};
pub(crate) use store::{CreateError, SessionCounts, SessionStore};
pub(crate) use summary::Kind;
pub use summary::{SessionExit, SessionSummary};
pub(crate) use termination::{TerminateError, Termination, kill_request, wait_until_ended};
