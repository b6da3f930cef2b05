//! Dialogue sessions: the handle, the task that drives a session, and what both work with.

#[cfg(feature = "remote")]
mod attach;
mod builder;
mod changes;
mod control;
mod diagnostics;
mod driver;
mod end;
mod handle;
#[cfg(feature = "remote")]
mod hook_feed;
mod input_writer;
mod inspect;
mod interrupt;
mod observers;
mod pages;
#[cfg(feature = "remote")]
mod past;
mod permissions;
mod raw_output;
mod reader;
mod receipt;
mod recorded_output;
mod recording;
#[cfg(feature = "remote")]
mod recovery;
mod resolve;
mod spans;
mod spawn;
mod start;
mod timer;

pub use self::builder::SessionBuilder;
pub use self::changes::DialogueChanges;
pub use self::diagnostics::Diagnostics;
pub use self::end::DialogueEnd;
pub use self::handle::DialogueSession;
#[cfg(feature = "remote")]
pub use self::hook_feed::{HookFeed, HookFeedItem};
pub use self::interrupt::{InterruptReport, InterruptScope};
pub use self::pages::PageError;
pub use self::raw_output::RawOutput;
pub use self::receipt::Receipt;
pub use self::recording::exit_ends;
#[cfg(feature = "remote")]
pub use self::recovery::SessionRecovery;

#[cfg(test)]
mod tests;
