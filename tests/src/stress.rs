//! The roof over the campaigns: what to run and for how long, what is done already, what came of it.

mod arguments;
mod batch;
mod list;
mod progress;
mod run;
mod summary;

pub use arguments::Arguments;
pub use run::run;
pub use summary::{Outcome, Summary, Violation};
