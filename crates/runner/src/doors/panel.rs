//! The panel door of seed 002: a browser's terminal on a WebSocket. Text frames control, binary
//! frames are terminal bytes; a lost connection is not the end of the session.

mod control;
mod drive;
#[cfg(feature = "fuzz")]
mod fuzz;
mod machine;
mod park;
mod start;

pub(super) use drive::attach;
#[cfg(feature = "fuzz")]
pub use fuzz::panel as fuzz_panel;
pub(super) use machine::LARGEST_MESSAGE;
pub(crate) use park::{Parked, pass_on, take_over};
pub(super) use start::start;
