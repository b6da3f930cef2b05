//! The web terminal: a browser's terminal on a WebSocket (`bowline.panel.v1`). Text messages
//! control it, binary messages are terminal bytes. A lost connection does not end the session: it
//! waits for the web terminal to reconnect.

mod detach;
mod driver;
#[cfg(feature = "fuzz")]
mod fuzz;
mod machine;
mod messages;
mod start;

pub(super) use detach::release_to_host;
pub(crate) use detach::restore_detach_timers;
pub(super) use driver::attach;
#[cfg(feature = "fuzz")]
pub use fuzz::web_terminal as fuzz_web_terminal;
pub(super) use machine::MAX_SERVER_MESSAGE;
pub(super) use start::start;
