//! The transcript as JSON, schema 1.

use serde::ser::{SerializeMap as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use crate::transcript::Transcript;
use crate::view::Entries;

/// Version of the JSON schema.
pub const SCHEMA: u32 = 1;

impl Transcript {
    /// Returns the transcript as one line of JSON, schema 1.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a transcript holds strings, numbers and valid JSON")
    }
}

impl Serialize for Transcript {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Transcript", 14)?;
        Head(self).serialize_fields::<S>(&mut out)?;
        out.serialize_field("entries", &Entries(self.main()))?;
        out.serialize_field("tool_calls", &self.main().tool_calls())?;
        Tail(self).serialize_fields::<S>(&mut out)?;
        out.end()
    }
}

/// The fields of a transcript before its entries and tool calls.
pub(crate) struct Head<'a>(pub(crate) &'a Transcript);

impl Head<'_> {
    fn serialize_fields<S: Serializer>(
        &self,
        out: &mut S::SerializeStruct,
    ) -> Result<(), S::Error> {
        out.serialize_field("schema", &SCHEMA)?;
        self.0.session().serialize_fields::<S>(out)?;
        out.serialize_field("status", &self.0.status())
    }
}

impl Serialize for Head<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Head", 8)?;
        self.serialize_fields::<S>(&mut out)?;
        out.end()
    }
}

/// The fields of a transcript after its entries and tool calls.
pub(crate) struct Tail<'a>(pub(crate) &'a Transcript);

impl Tail<'_> {
    fn serialize_fields<S: Serializer>(
        &self,
        out: &mut S::SerializeStruct,
    ) -> Result<(), S::Error> {
        out.serialize_field("tasks", &Tasks(self.0))?;
        let permissions: Vec<_> = self.0.permissions().collect();
        out.serialize_field("permissions", &permissions)?;
        out.serialize_field("usage", &self.0.usage())?;
        out.serialize_field("stats", &self.0.stats())
    }
}

impl Serialize for Tail<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Tail", 4)?;
        self.serialize_fields::<S>(&mut out)?;
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
