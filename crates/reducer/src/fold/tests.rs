//! Tests of each rule of the fold, on minimal lines.

mod call;
mod draft;
mod laws;
mod message;
mod neutral;
mod permission;
mod qwen;
mod random;
mod repetition;
mod scaling;
mod snapshot;
mod stream;
mod subagent;
mod task;
mod turn;
mod user;
