//! The session.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::json::In;
use crate::json::call::ThreadHeads;
use crate::schema::Schema;
use crate::view::Session;

#[derive(Serialize)]
struct Agent<'a> {
    name: Option<&'a str>,
    version: Option<&'a str>,
}

#[derive(Serialize)]
struct Context {
    used: Option<u64>,
    size: Option<u64>,
}

impl In<Session<'_>> {
    pub(super) fn fields<S: Serializer>(
        self,
        out: &mut S::SerializeStruct,
    ) -> Result<(), S::Error> {
        let Self(it, schema) = self;
        let conversations: Vec<_> = it.conversations().collect();
        let queue: Vec<_> = it.queue().collect();
        out.serialize_field("session_id", &it.id())?;
        out.serialize_field("conversations", &conversations)?;
        out.serialize_field("model", &it.model())?;
        out.serialize_field("cwd", &it.cwd())?;
        out.serialize_field("cli_version", &it.cli_version())?;
        out.serialize_field("permission_mode", &it.permission_mode())?;
        if schema == Schema::One {
            return Ok(());
        }
        let agent = Agent {
            name: it.agent_name(),
            version: it.cli_version(),
        };
        let (used, size) = (it.context_used(), it.context_size());
        let context = (used.is_some() || size.is_some()).then_some(Context { used, size });
        out.serialize_field("dialect", &it.dialect())?;
        out.serialize_field("agent", &agent)?;
        out.serialize_field("title", &it.title())?;
        out.serialize_field("plan", it.plan())?;
        out.serialize_field("queue", &queue)?;
        out.serialize_field("context", &context)?;
        out.serialize_field("limits", it.limits())?;
        out.serialize_field("options", it.options())?;
        out.serialize_field("commands", it.commands())
    }
}

impl Serialize for Session<'_> {
    /// Writes schema 2, with the threads that no call holds, without their content.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Session", 16)?;
        In(*self, Schema::Two).fields::<S>(&mut out)?;
        out.serialize_field("threads", &ThreadHeads(self.transcript()))?;
        out.end()
    }
}
