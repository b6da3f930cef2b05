//! Runs the `understudy` binary and compares its lines with recordings of the agent.
#![expect(clippy::unwrap_used, reason = "an error fails the test")]

#[path = "understudy/process.rs"]
mod process;

#[path = "understudy/commands.rs"]
mod commands;
#[path = "understudy/control.rs"]
mod control;
#[path = "understudy/demo.rs"]
mod demo;
#[path = "understudy/exit.rs"]
mod exit;
#[path = "understudy/faults.rs"]
mod faults;
#[path = "understudy/permission.rs"]
mod permission;
#[path = "understudy/prompts.rs"]
mod prompts;
#[path = "understudy/recordings.rs"]
mod recordings;
#[path = "understudy/rpc.rs"]
mod rpc;
#[path = "understudy/schema.rs"]
mod schema;
#[path = "understudy/sessions.rs"]
mod sessions;
#[path = "understudy/tasks.rs"]
mod tasks;
#[path = "understudy/transcripts.rs"]
mod transcripts;
