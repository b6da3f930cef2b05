//! Streams for the measurements: generated in memory from a seed, or repeated from the recordings.

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
use realloop::Selection;

pub use shape::Shape;
pub use source::{Source, SourceError};

/// Default size of a corpus in bytes: a run takes seconds, and no cache holds it.
pub const DEFAULT_SIZE: usize = 64 << 20;

/// The fixed seed; every corpus is the same on every machine.
const SEED: u64 = 0x00b0_3714_e5ee_d001;

/// The corpora that need no file of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Corpus {
    /// A session with partial messages: short deltas and occasional finished messages.
    Partial,
    /// A session without partial messages: texts, edits, tool results of some kilobytes.
    Messages,
    /// Tool results of megabytes, some of them base64.
    Huge,
    /// Partial messages, and whole messages of sub-agents in between.
    Mixed,
    /// The recordings of the real agent, repeated; lines of 64 KiB and more are left out.
    Realloop,
    /// The short recordings without partial messages, repeated: beginnings, results, system and user lines as
    /// frequent as in a short session.
    Short,
    /// The `system` lines of the recordings, repeated: beginnings, hooks, states.
    System,
    /// The `result` lines of the recordings, repeated.
    Results,
    /// The `user` lines of the recordings, repeated: results of tools.
    Users,
}

impl Corpus {
    /// All corpora in the order in which they are measured.
    pub const ALL: [Self; 9] = [
        Self::Partial,
        Self::Messages,
        Self::Huge,
        Self::Mixed,
        Self::Realloop,
        Self::Short,
        Self::System,
        Self::Results,
        Self::Users,
    ];

    /// Returns whether the corpus is made of recordings, which have lines that `serde_json` refuses.
    #[must_use]
    pub const fn is_recorded(self) -> bool {
        matches!(
            self,
            Self::Realloop | Self::Short | Self::System | Self::Results | Self::Users
        )
    }

    /// Returns the name on the command line and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Partial => "partial",
            Self::Messages => "messages",
            Self::Huge => "huge",
            Self::Mixed => "mixed",
            Self::Realloop => "realloop",
            Self::Short => "short",
            Self::System => "system",
            Self::Results => "results",
            Self::Users => "users",
        }
    }

    /// Returns about `size` bytes of whole lines.
    ///
    /// # Errors
    ///
    /// Fails if the corpus is made of recordings and these cannot be read from the repository.
    pub fn generate(self, size: usize) -> Result<Bytes, SourceError> {
        let text = match self {
            Self::Partial => partial::generate(size),
            Self::Messages => messages::generate(size),
            Self::Huge => huge::generate(size),
            Self::Mixed => mixed::generate(size),
            Self::Realloop => return realloop::generate(size, Selection::All),
            Self::Short => return realloop::generate(size, Selection::Short),
            Self::System => return realloop::generate(size, Selection::Type("system")),
            Self::Results => return realloop::generate(size, Selection::Type("result")),
            Self::Users => return realloop::generate(size, Selection::Type("user")),
        };
        Ok(Bytes::from(text))
    }
}
