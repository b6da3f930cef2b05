//! From bytes to a transcript: the reducer beside a naive twin, and its cost by what it holds.

mod feed;
mod growth;
mod measure;
mod outcome;
mod script;
mod twin;

pub use feed::Feed;
pub use growth::{Point, points};
pub use measure::{BASE, NAMES, compare, sample};
pub use outcome::Outcome;
pub use script::Script;
pub use twin::Twin;
