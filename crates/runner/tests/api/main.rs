//! The daemon and its API, with real sockets, real shims and real children.

#![expect(clippy::unwrap_used, reason = "a failed test panics")]

mod auth;
mod both_directions;
mod damage;
mod editor;
mod events;
mod frames;
mod grpc;
mod http_api;
mod inspection;
mod openapi;
mod page;
mod proto;
mod rest;
mod scopes;
mod support;
mod unknown_members;
mod web_terminal;
