//! The `cargo stress` driver: selects campaigns, splits the time between them, and records results.

mod arguments;
mod batch;
mod ci;
mod list;
mod progress;
mod run;
mod summary;

pub use arguments::Arguments;
pub use run::run;
pub use summary::{Outcome, Summary, Violation};
