//! Renders a transcript's changes as text.
//!
//! The output is append-only: a line stays once it is printed, and what the agent retracts later is
//! marked as retracted. The same renderer shows recordings and running sessions.

mod block;
mod entry;
mod layout;
mod renderer;
mod side_events;
mod state;
mod summary;
mod tool_call;
mod wrap;

pub(crate) use renderer::Renderer;
