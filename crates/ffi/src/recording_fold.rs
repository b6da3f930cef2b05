//! Folds a recording or a past conversation into a transcript as far as its readers need.

#[cfg(not(feature = "full"))]
mod absent;
#[cfg(feature = "full")]
mod present;

#[cfg(not(feature = "full"))]
pub(crate) use absent::{Past, RecordingFold};
#[cfg(feature = "full")]
pub(crate) use present::RecordingFold;
