//! The transcript as JSON. `SCHEMA.md` describes it.

mod call;
mod entry;
mod permission;
mod session;

use std::fmt;

use serde::ser::{SerializeMap as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use crate::json::call::Threads;
use crate::schema::Schema;
use crate::transcript::Transcript;

pub(crate) use call::{CallSummary, Entries};
pub use entry::{BlockDetail, EntryDetail};

/// A value with the version of the schema in which it is serialized.
#[derive(Clone, Copy, Debug)]
pub(crate) struct In<T>(pub(crate) T, pub(crate) Schema);

/// A transcript as JSON. See [`Transcript::json`].
#[derive(Clone, Copy, Debug)]
pub struct TranscriptJson<'a>(In<&'a Transcript>);

impl Transcript {
    /// Returns the transcript as JSON in this version of the schema: it is `Serialize`, and displays
    /// as one line. The transcript itself serializes in the current version.
    #[must_use]
    pub const fn json(&self, schema: Schema) -> TranscriptJson<'_> {
        TranscriptJson(In(self, schema))
    }

    /// Returns the transcript as one line of JSON, schema 1. [`Transcript::json`] has others.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.json(Schema::One).to_string()
    }
}

impl fmt::Display for TranscriptJson<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string(self);
        f.write_str(&json.expect("a transcript holds strings, numbers and valid JSON"))
    }
}

impl Serialize for Transcript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json(Schema::Two).serialize(serializer)
    }
}

impl Serialize for TranscriptJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let In(it, schema) = self.0;
        let mut out = serializer.serialize_struct("Transcript", 24)?;
        In(Head(it), schema).fields::<S>(&mut out)?;
        out.serialize_field("entries", &Entries(it.main(), schema))?;
        out.serialize_field("tool_calls", &In(it.main().tool_calls(), schema))?;
        In(Tail(it), schema).fields::<S>(&mut out)?;
        out.end()
    }
}

/// The fields of a transcript before its entries and tool calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head<'a>(pub(crate) &'a Transcript);

impl In<Head<'_>> {
    fn fields<S: Serializer>(self, out: &mut S::SerializeStruct) -> Result<(), S::Error> {
        let Self(Head(it), schema) = self;
        out.serialize_field("schema", &schema.number())?;
        In(it.session(), schema).fields::<S>(out)?;
        out.serialize_field("status", &it.status())
    }
}

impl Serialize for In<Head<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Head", 17)?;
        self.fields::<S>(&mut out)?;
        out.end()
    }
}

/// The fields of a transcript after its entries and tool calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail<'a>(pub(crate) &'a Transcript);

impl In<Tail<'_>> {
    fn fields<S: Serializer>(self, out: &mut S::SerializeStruct) -> Result<(), S::Error> {
        let Self(Tail(it), schema) = self;
        out.serialize_field("tasks", &Tasks(it))?;
        let permissions: Vec<_> = it.permissions().map(|it| In(it, schema)).collect();
        out.serialize_field("permissions", &permissions)?;
        out.serialize_field("usage", &it.usage())?;
        out.serialize_field("stats", &it.stats())?;
        if schema == Schema::Two {
            out.serialize_field("threads", &Threads(it))?;
        }
        Ok(())
    }
}

impl Serialize for In<Tail<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Tail", 5)?;
        self.fields::<S>(&mut out)?;
        out.end()
    }
}

struct Tasks<'a>(&'a Transcript);

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for task in self.0.tasks() {
            map.serialize_entry(task.id(), &task)?;
        }
        map.end()
    }
}
