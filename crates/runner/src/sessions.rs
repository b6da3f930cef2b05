//! The sessions of a state folder: create, find, list and terminate.

mod damage;
mod log_reader;
mod past;
mod record;
mod shim_link;
mod slots;
mod store;
mod summary;
mod termination;

pub(crate) use damage::damage_in_log;
pub(crate) use log_reader::LogReader;
pub(crate) use record::{SessionRecord, ShimStatus, has_no_listener};
pub(crate) use shim_link::{ShimLink, ShimLinkError};
pub(crate) use store::{CreateError, RestartError, SessionCounts, SessionStore, StoreEvent};
pub use summary::EndedSession;
pub(crate) use summary::{describe_exit, summary_of};
pub(crate) use termination::{TerminateError, kill_request, wait_until_ended};
