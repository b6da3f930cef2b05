//! The daemon and its doors, with real sockets, real shims and real children.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod frames;
mod gate;
mod grpc;
#[cfg(target_os = "linux")]
mod openapi;
mod proto;
mod rest;
mod seed_002;
mod support;
