//! Tool calls, their results, sub-agents and threads.

use std::collections::HashSet;

use serde::ser::{SerializeMap as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use crate::json::In;
use crate::schema::Schema;
use crate::transcript::Transcript;
use crate::view::{Subagent, Thread, ToolCall, ToolCalls, ToolResult};

impl Serialize for ToolCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        In(*self, Schema::Two).serialize(serializer)
    }
}

impl Serialize for In<ToolCall<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(call, schema) = *self;
        let mut out = serializer.serialize_struct("ToolCall", 16)?;
        self.head::<S>(&mut out)?;
        let subagent = call.subagent().map(|it| In(Subagent(it), schema));
        out.serialize_field("subagent", &subagent)?;
        out.end()
    }
}

impl In<ToolCall<'_>> {
    fn head<S: Serializer>(self, out: &mut S::SerializeStruct) -> Result<(), S::Error> {
        let Self(call, schema) = self;
        out.serialize_field("id", &call.id())?;
        out.serialize_field("name", call.name())?;
        out.serialize_field("input", &call.input())?;
        out.serialize_field("state", &call.state())?;
        out.serialize_field("result", &call.result())?;
        if schema == Schema::One {
            return Ok(());
        }
        let shown = call.shown();
        out.serialize_field("title", &shown.title)?;
        out.serialize_field("kind", &shown.kind)?;
        out.serialize_field("locations", &*shown.locations)?;
        out.serialize_field("content", &*shown.content)?;
        out.serialize_field("output", &call.output())?;
        out.serialize_field("exit_code", &call.exit_code())?;
        out.serialize_field("started_ms", &call.started_ms())?;
        out.serialize_field("ended_ms", &call.ended_ms())?;
        let bytes = call.bytes();
        out.serialize_field("bytes", &[bytes.start, bytes.end])?;
        out.serialize_field("usage", &call.usage())
    }
}

/// A tool call without the entries of its sub-agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSummary<'a>(pub(crate) ToolCall<'a>);

impl Serialize for CallSummary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ToolCall", 16)?;
        In(self.0, Schema::Two).head::<S>(&mut out)?;
        out.serialize_field("subagent", &self.0.subagent().map(Agent))?;
        out.end()
    }
}

struct Agent<'a>(Thread<'a>);

impl Serialize for Agent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Subagent", 5)?;
        subagent::<S>(self.0, Schema::Two, &mut out)?;
        out.end()
    }
}

impl Serialize for Subagent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        In(*self, Schema::Two).serialize(serializer)
    }
}

impl Serialize for In<Subagent<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(Subagent(thread), schema) = *self;
        let mut out = serializer.serialize_struct("Subagent", 7)?;
        subagent::<S>(thread, schema, &mut out)?;
        out.serialize_field("entries", &Entries(thread, schema))?;
        out.serialize_field("tool_calls", &In(thread.tool_calls(), schema))?;
        out.end()
    }
}

fn subagent<S: Serializer>(
    thread: Thread<'_>,
    schema: Schema,
    out: &mut S::SerializeStruct,
) -> Result<(), S::Error> {
    out.serialize_field("agent_id", &thread.agent_id())?;
    out.serialize_field("type", &thread.agent_type())?;
    if schema == Schema::Two {
        out.serialize_field("title", &thread.title())?;
        out.serialize_field("state", &thread.state())?;
        out.serialize_field("usage", &thread.usage())?;
    }
    Ok(())
}

/// The entries of a thread.
pub(crate) struct Entries<'a>(pub(crate) Thread<'a>, pub(crate) Schema);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(thread, schema) = *self;
        serializer.collect_seq(thread.entries().map(|entry| In(entry, schema)))
    }
}

impl Serialize for ToolCalls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        In(*self, Schema::Two).serialize(serializer)
    }
}

impl Serialize for In<ToolCalls<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(calls, schema) = *self;
        let mut map = serializer.serialize_map(None)?;
        for call in calls.iter() {
            map.serialize_entry(call.id(), &In(call, schema))?;
        }
        map.end()
    }
}

impl Serialize for ToolResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ToolResult", 2)?;
        out.serialize_field("is_error", &self.is_error())?;
        out.serialize_field("text", &self.text())?;
        out.end()
    }
}

/// The threads of sub-agents by name, or by call where another one has the name: an agent may be
/// resumed by a further call. The content of one that a call holds is in its call.
pub(crate) struct Threads<'a>(pub(crate) &'a Transcript);

impl Serialize for Threads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut threads: Vec<_> = self.0.threads().collect();
        // As a reader of changes knows them: those that no call holds, then by call.
        threads.sort_by_key(|it| it.call().map(ToolCall::call_id));
        let mut names = HashSet::new();
        let mut map = serializer.serialize_map(None)?;
        for thread in threads {
            let name = thread.name().filter(|name| names.insert(*name));
            let name = name.or_else(|| thread.key()).unwrap_or_default();
            map.serialize_entry(name, &Row(thread, true))?;
        }
        map.end()
    }
}

/// The threads that no call holds, without their content, as in a change.
pub(crate) struct ThreadHeads<'a>(pub(crate) &'a Transcript);

impl Serialize for ThreadHeads<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for thread in self.0.threads().filter(|it| it.call().is_none()) {
            map.serialize_entry(thread.name().unwrap_or_default(), &Row(thread, false))?;
        }
        map.end()
    }
}

struct Row<'a>(Thread<'a>, bool);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(thread, has_content) = *self;
        let is_held = thread.call().is_some();
        let mut out = serializer.serialize_struct("Thread", 6)?;
        out.serialize_field("call", &thread.call().map(ToolCall::id))?;
        out.serialize_field("title", &thread.title())?;
        out.serialize_field("state", &thread.state())?;
        out.serialize_field("usage", &thread.usage())?;
        let content = (!is_held && has_content).then_some(thread);
        let entries = content.map(|thread| Entries(thread, Schema::Two));
        out.serialize_field("entries", &entries)?;
        out.serialize_field("tool_calls", &content.map(Thread::tool_calls))?;
        out.end()
    }
}
