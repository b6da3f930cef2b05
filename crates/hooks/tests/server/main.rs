//! The server for hooks, over real connections.

mod backend;
mod payloads;
mod secrecy;
mod server;
mod support;
