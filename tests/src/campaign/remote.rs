//! Campaigns over real sockets: hosts, a runner in its own process, and its sessions.

pub(super) mod cuts;
pub(super) mod daemon;
mod echo;
pub(super) mod flood;
pub(super) mod floods;
pub(super) mod frames;
pub(super) mod half_open;
pub(super) mod hostile_client;
mod http;
mod memory;
mod network;
pub(super) mod responder;
pub(super) mod slow_client;
pub(super) mod tokens;
