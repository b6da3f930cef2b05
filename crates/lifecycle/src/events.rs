//! Events of a dialogue session, for any number of subscribers.
//!
//! The transcript is the complete record; its changes lose nothing. Events are for code that reacts
//! to what happens: each is delivered once, with its session, the tool calls around it and its offset
//! in the output. Every subscriber has a bounded queue of its own. One that falls behind receives
//! [`DialogueEventKind::Lagged`] in place of the oldest events, and delays neither the session nor
//! other subscribers.

mod fold;
mod kind;
mod line;
mod queue;
mod router;

pub(crate) use self::fold::FoldEvents;
pub(crate) use self::kind::PendingEvent;
pub use self::kind::{DialogueEvent, DialogueEventKind};
pub(crate) use self::line::{call_path, line_events, turn_end};
pub use self::queue::{DialogueEvents, EventLimits};
pub(crate) use self::router::Router;

#[cfg(test)]
mod tests;
