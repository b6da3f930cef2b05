//! Campaigns over real sockets: hosts, a runner in a process of its own, and its sessions.

pub(super) mod cuts;
pub(super) mod daemon;
pub(super) mod frames;
mod network;
pub(super) mod parrot;
