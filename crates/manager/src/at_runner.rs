//! What the manager does at runners, and what is left of it in a build without them.

#[cfg(not(feature = "remote"))]
mod absent;
#[cfg(feature = "remote")]
mod present;

#[cfg(not(feature = "remote"))]
pub(crate) use absent::{
    Remote, detach_shell, is_shell_detached, location, runner, store_metadata,
};
#[cfg(feature = "remote")]
pub(crate) use present::{
    Remote, detach_shell, is_shell_detached, location, runner, store_metadata,
};
