//! A child process: its start, its containment and its process tree.

mod containment_handle;
mod guardian;
mod leader;
mod spawn;
mod tree;

pub(crate) use containment_handle::ContainmentHandle;
pub(crate) use leader::Leader;
pub(crate) use spawn::{ChildFds, Spawned, explain_exec, resolve, spawn};
pub(crate) use tree::{Round, Tree};
