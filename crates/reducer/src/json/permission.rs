//! Requests to the host.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::json::In;
use crate::schema::Schema;
use crate::view::Permission;

impl Serialize for In<Permission<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(it, schema) = *self;
        let mut out = serializer.serialize_struct("Permission", 12)?;
        out.serialize_field("request_id", it.request_id())?;
        out.serialize_field("tool_use_id", &it.tool_use_id())?;
        out.serialize_field("tool_name", it.tool_name())?;
        out.serialize_field("state", &it.state())?;
        if schema == Schema::Two {
            let asked = it.asked();
            let bytes = it.bytes();
            out.serialize_field("kind", &asked.kind)?;
            out.serialize_field("options", &*asked.options)?;
            out.serialize_field("questions", &*asked.questions)?;
            out.serialize_field("url", &asked.url)?;
            out.serialize_field("thread", &it.thread())?;
            out.serialize_field("rule", &asked.rule)?;
            out.serialize_field("decided_by", &it.answered())?;
            out.serialize_field("bytes", &[bytes.start, bytes.end])?;
        }
        out.end()
    }
}

impl Serialize for Permission<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        In(*self, Schema::Two).serialize(serializer)
    }
}
