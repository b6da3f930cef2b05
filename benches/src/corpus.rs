//! Streams to measure with: generated in memory from a seed, or looped from the recordings.

mod agent;
mod huge;
mod messages;
mod mixed;
mod partial;
mod realloop;
mod rng;
mod shape;
mod source;
mod text;

use bytes::Bytes;
use clap::ValueEnum;

pub use shape::Shape;
pub use source::{Source, SourceError};

/// Size of a corpus, in bytes: large enough that one run takes seconds and that no cache holds it.
pub const DEFAULT_SIZE: usize = 64 << 20;

/// Every corpus is the same on every machine.
const SEED: u64 = 0x00b0_3714_e5ee_d001;

/// The corpora that need no file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Corpus {
    /// A session with partial messages: short deltas, now and then a finished message.
    Partial,
    /// A session without partial messages: texts, edits, tool results of some kilobytes.
    Messages,
    /// Tool results of megabytes, some of them base64.
    Huge,
    /// Partial messages and whole messages of sub-agents in between.
    Mixed,
    /// The recordings of the real agent, looped; lines of 64 KiB and more are left out.
    Realloop,
}

impl Corpus {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Self; 5] = [
        Self::Partial,
        Self::Messages,
        Self::Huge,
        Self::Mixed,
        Self::Realloop,
    ];

    /// The name on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partial => "partial",
            Self::Messages => "messages",
            Self::Huge => "huge",
            Self::Mixed => "mixed",
            Self::Realloop => "realloop",
        }
    }

    /// About `size` bytes of whole lines.
    ///
    /// # Errors
    ///
    /// The recordings of [`Corpus::Realloop`] are read from the repository and may be missing.
    pub fn generate(self, size: usize) -> Result<Bytes, SourceError> {
        let text = match self {
            Self::Partial => partial::generate(size),
            Self::Messages => messages::generate(size),
            Self::Huge => huge::generate(size),
            Self::Mixed => mixed::generate(size),
            Self::Realloop => return realloop::generate(size),
        };
        Ok(Bytes::from(text))
    }
}
