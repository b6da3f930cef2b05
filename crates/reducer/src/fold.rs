//! The effect of each kind of line on the transcript.

mod assistant;
mod call;
mod content;
mod control;
mod draft;
mod end;
mod host;
mod line;
mod notice;
mod result;
mod session;
mod system;
mod task;
#[cfg(test)]
mod tests;
mod turn;
mod user;
