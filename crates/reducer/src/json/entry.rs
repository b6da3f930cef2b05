//! Entries and blocks.

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::json::In;
use crate::schema::Schema;
use crate::view::{Block, BlockKind, Blocks, Entry, EntryKind};

/// What schema 2 adds to an entry.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct EntryDetail {
    /// The turn that it is part of; `None` between turns.
    pub turn: Option<String>,
    /// When its first line arrived, in milliseconds by the host's clock; `None` if unknown.
    pub at_ms: Option<u64>,
    /// Byte range of its lines in the output stream, without the last line end.
    pub bytes: [u64; 2],
    /// Whether it was repeated from the agent's own history.
    pub history: bool,
}

impl EntryDetail {
    pub(crate) fn of(entry: Entry<'_>) -> Self {
        let bytes = entry.bytes();
        let is_history = entry.is_history();
        Self {
            turn: entry.turn().map(std::borrow::Cow::into_owned),
            at_ms: Some(entry.at_ms()).filter(|&at_ms| at_ms > 0 && !is_history),
            bytes: [bytes.start, bytes.end],
            history: is_history,
        }
    }
}

/// What schema 2 adds to a block.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct BlockDetail {
    /// Byte range of its lines in the output stream, without the last line end.
    pub bytes: [u64; 2],
}

impl BlockDetail {
    pub(crate) fn of(block: Block<'_>) -> Self {
        let bytes = block.bytes();
        Self {
            bytes: [bytes.start, bytes.end],
        }
    }
}

#[derive(Serialize)]
struct EntryRow<'a> {
    #[serde(flatten)]
    kind: EntryKind<'a>,
    #[serde(flatten)]
    detail: EntryDetail,
}

#[derive(Serialize)]
struct BlockRow<'a> {
    #[serde(flatten)]
    kind: BlockKind<'a>,
    #[serde(flatten)]
    detail: BlockDetail,
}

impl Serialize for In<Entry<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(entry, schema) = *self;
        let kind = entry.kind_in(schema);
        match schema {
            Schema::One => kind.serialize(serializer),
            Schema::Two => {
                let detail = EntryDetail::of(entry);
                EntryRow { kind, detail }.serialize(serializer)
            }
        }
    }
}

impl Serialize for Entry<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        In(*self, Schema::Two).serialize(serializer)
    }
}

impl Serialize for Blocks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(None)?;
        for block in self.iter() {
            match self.schema() {
                Schema::One => seq.serialize_element(&block.kind())?,
                Schema::Two => seq.serialize_element(&block)?,
            }
        }
        seq.end()
    }
}

impl Serialize for Block<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, detail) = (self.kind(), BlockDetail::of(*self));
        BlockRow { kind, detail }.serialize(serializer)
    }
}
