//! Each rule of the fold, on lines as small as they can be.

mod call;
mod draft;
mod laws;
mod message;
mod permission;
mod random;
mod snapshot;
mod stream;
mod subagent;
mod task;
mod turn;
mod user;
