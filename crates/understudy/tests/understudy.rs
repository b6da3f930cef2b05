//! Runs the real binary and holds its lines against the recorded streams.
#![expect(clippy::unwrap_used, reason = "a test that meets an error has failed")]

#[path = "understudy/stand.rs"]
mod stand;

#[path = "understudy/control.rs"]
mod control;
#[path = "understudy/demo.rs"]
mod demo;
#[path = "understudy/endings.rs"]
mod endings;
#[path = "understudy/permission.rs"]
mod permission;
#[path = "understudy/playing.rs"]
mod playing;
#[path = "understudy/prompts.rs"]
mod prompts;
#[path = "understudy/sessions.rs"]
mod sessions;
#[path = "understudy/shapes.rs"]
mod shapes;
#[path = "understudy/tasks.rs"]
mod tasks;
#[path = "understudy/trouble.rs"]
mod trouble;
