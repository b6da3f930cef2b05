//! The effect of each line on the transcript.

mod claude;
mod end;
mod history;
mod host;
mod line;
pub(crate) mod primitives;
#[cfg(test)]
mod tests;
