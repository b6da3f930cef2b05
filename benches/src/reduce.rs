//! From bytes to a transcript: the reducer in comparison with a naive one, and its cost by the
//! length of the transcript.

mod feed;
mod growth;
mod measure;
mod naive;
mod outcome;
mod script;

pub use feed::Feed;
pub use growth::{Point, points};
pub use measure::{BASE, NAMES, compare, sample};
pub use naive::NaiveReducer;
pub use outcome::Outcome;
pub use script::Script;
