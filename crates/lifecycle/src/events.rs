//! What a dialogue tells while it runs, event by event, to any number of subscribers.
//!
//! The transcript is the record, and `changes_since` loses nothing. Events are for those who act on
//! what happens: each is told once, with its session, the sub-agent that it belongs to and its place
//! in the log. Every subscriber has a queue of its own with a bound; who is too slow is told how
//! many events he has missed, and nobody else waits for him.

mod kind;
mod queue;
mod read;
mod router;

pub(crate) use self::kind::Told;
pub use self::kind::{DialogueEvent, DialogueEventKind};
pub use self::queue::{DialogueEvents, EventLimits, Heard};
pub(crate) use self::read::{path_of, tell_line};
pub(crate) use self::router::Router;

#[cfg(test)]
mod tests;
