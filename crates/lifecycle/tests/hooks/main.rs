//! The server for hooks, over real connections.

#[path = "../shared/log.rs"]
mod log;

mod backend;
mod payloads;
mod secrecy;
mod server;
mod support;
