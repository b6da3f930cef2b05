//! Tool calls, their results and sub-agents.

use std::borrow::Cow;
use std::ops::Range;

use serde::ser::{SerializeMap as _, SerializeStruct as _};
use serde::{Serialize, Serializer};

use crate::arena::{Text, TextRef};
use crate::model::{Content, Location, ToolKind};
use crate::record::{
    BlockBody, BlockId, CallDetail, CallId, CallRecord, ThreadId, ToolResultRecord,
};
use crate::state::CallState;
use crate::transcript::Transcript;
use crate::view::handle::{Block, Entry, Thread, ToolCall};
use crate::view::raw::Raw;
use crate::view::session::ModelUsage;

/// Levels of JSON around the input of a call on the main thread: transcript, calls, call.
const LEVELS: usize = 3;

impl<'a> ToolCall<'a> {
    fn record(self) -> &'a CallRecord {
        &self.transcript.calls[self.id]
    }

    /// Returns its id within this transcript. Ids grow in the order of announcement.
    #[must_use]
    pub const fn call_id(self) -> CallId {
        self.id
    }

    /// Returns the `tool_use` id.
    #[must_use]
    pub fn id(self) -> &'a str {
        self.transcript.arena.str(self.record().id)
    }

    /// Returns the name of the tool; empty if only its sub-agent or result was seen.
    #[must_use]
    pub fn name(self) -> &'a str {
        self.transcript.names.str(self.record().name)
    }

    /// Returns the arguments, a JSON object; `None` while they stream.
    #[must_use]
    pub fn input(self) -> Option<Raw<'a>> {
        let input = self.record().input;
        (!input.is_empty()).then(|| self.raw(input))
    }

    /// Returns the arguments that the host substituted.
    #[must_use]
    pub fn updated_input(self) -> Option<Raw<'a>> {
        let input = self.record().detail.as_deref()?.updated_input;
        (!input.is_empty()).then(|| self.raw(input))
    }

    fn raw(self, text: Text) -> Raw<'a> {
        let thread = self.record().thread;
        self.transcript.raw_in(thread, LEVELS, text)
    }

    /// Returns its state.
    #[must_use]
    pub fn state(self) -> CallState {
        self.record().state
    }

    /// Returns its result.
    #[must_use]
    pub fn result(self) -> Option<ToolResult<'a>> {
        let record = self.transcript.results.get(self.record().result?.index())?;
        Some(ToolResult {
            transcript: self.transcript,
            record: *record,
        })
    }

    /// Returns the thread of the sub-agent that it started.
    #[must_use]
    pub fn subagent(self) -> Option<Thread<'a>> {
        let thread = self.record().subagent?;
        Some(Thread::new(self.transcript, thread))
    }

    /// Returns the thread that it belongs to.
    #[must_use]
    pub fn thread(self) -> Thread<'a> {
        Thread::new(self.transcript, self.record().thread)
    }

    /// Returns a line that says what it does.
    #[must_use]
    pub fn title(self) -> Option<Cow<'a, str>> {
        let title = self.detail()?.title;
        (!title.is_empty()).then(|| self.transcript.arena.text(title).to_cow())
    }

    /// Returns what the tool does; `None` if it is not known.
    #[must_use]
    pub fn kind(self) -> Option<ToolKind> {
        self.detail()?.kind
    }

    /// Returns the files that it works on.
    #[must_use]
    pub fn locations(self) -> Cow<'a, [Location]> {
        Cow::Borrowed(self.detail().map(|it| &*it.locations).unwrap_or_default())
    }

    /// Returns what it shows: texts, changes of files, commands.
    #[must_use]
    pub fn content(self) -> Cow<'a, [Content]> {
        Cow::Borrowed(self.detail().map(|it| &*it.content).unwrap_or_default())
    }

    /// Returns what its command has printed so far; `None` if the agent does not tell it.
    #[must_use]
    pub fn output(self) -> Option<TextRef<'a>> {
        let output = self.detail()?.output?;
        Some(self.transcript.arena.text(output))
    }

    /// Returns the exit code of its command.
    #[must_use]
    pub fn exit_code(self) -> Option<i64> {
        self.detail()?.exit_code
    }

    /// Returns when it was first seen, in milliseconds by the host's clock; `None` if unknown.
    #[must_use]
    pub fn started_ms(self) -> Option<u64> {
        self.record().at.known()
    }

    /// Returns when it ended, in milliseconds by the host's clock; `None` if it is open, or unknown.
    #[must_use]
    pub fn ended_ms(self) -> Option<u64> {
        match self.result() {
            Some(result) => result.record.at.known(),
            None => self.detail()?.ended.known(),
        }
    }

    /// Returns the byte range of its lines in the stream: from its first line to that of its result,
    /// without the last line end.
    #[must_use]
    pub fn bytes(self) -> Range<u64> {
        let from = self.record().offset;
        let block = self.block().map(|block| block.bytes().end);
        let result = self.result().map(|result| result.record.end);
        let detail = self.detail().map(|detail| detail.end);
        let ends = [block, result, detail];
        from..ends.into_iter().flatten().max().unwrap_or(from).max(from)
    }

    /// Returns what it has used, with its sub-agent; `None` if the agent does not tell it.
    #[must_use]
    pub fn usage(self) -> Option<ModelUsage> {
        self.detail()?.usage.map(ModelUsage::of)
    }

    fn detail(self) -> Option<&'a CallDetail> {
        self.record().detail.as_deref()
    }

    /// The block that contains it.
    fn block(self) -> Option<Block<'a>> {
        let entry = self.entry()?;
        let id = self.id;
        let blocks = self.transcript.live_blocks(entry.id());
        let is_its = |block: &BlockId| self.transcript.blocks[block].body == BlockBody::Call(id);
        let found = blocks.into_iter().find(is_its)?;
        Some(Block::new(self.transcript, found))
    }

    /// Returns the message that contains it; `None` if it was never announced, or was evicted.
    #[must_use]
    pub fn entry(self) -> Option<Entry<'a>> {
        let entry = self.record().entry?;
        let is_there = self.transcript.entries.contains(entry);
        is_there.then(|| Entry::new(self.transcript, entry))
    }
}

impl Serialize for ToolCall<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ToolCall", 6)?;
        self.serialize_head::<S>(&mut out)?;
        out.serialize_field("subagent", &self.subagent().map(Subagent))?;
        out.end()
    }
}

impl ToolCall<'_> {
    fn serialize_head<S: Serializer>(self, out: &mut S::SerializeStruct) -> Result<(), S::Error> {
        out.serialize_field("id", &self.id())?;
        out.serialize_field("name", self.name())?;
        out.serialize_field("input", &self.input())?;
        out.serialize_field("state", &self.state())?;
        out.serialize_field("result", &self.result())
    }
}

/// A tool call without the entries of its sub-agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallSummary<'a>(pub(crate) ToolCall<'a>);

impl Serialize for CallSummary<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("ToolCall", 6)?;
        self.0.serialize_head::<S>(&mut out)?;
        out.serialize_field("subagent", &self.0.subagent().map(Agent))?;
        out.end()
    }
}

struct Agent<'a>(Thread<'a>);

impl Serialize for Agent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Subagent", 2)?;
        out.serialize_field("agent_id", &self.0.agent_id())?;
        out.serialize_field("type", &self.0.agent_type())?;
        out.end()
    }
}

/// A sub-agent with its entries and calls, as JSON. See [`ToolCall::subagent`].
#[derive(Clone, Copy, Debug)]
pub struct Subagent<'a>(pub Thread<'a>);

impl Serialize for Subagent<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Subagent", 4)?;
        out.serialize_field("agent_id", &self.0.agent_id())?;
        out.serialize_field("type", &self.0.agent_type())?;
        out.serialize_field("entries", &Entries(self.0))?;
        out.serialize_field("tool_calls", &self.0.tool_calls())?;
        out.end()
    }
}

/// The entries of a thread, as JSON.
pub(crate) struct Entries<'a>(pub(crate) Thread<'a>);

impl Serialize for Entries<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.entries())
    }
}

/// The tool calls of a thread in the order of announcement; as JSON, a map by id.
///
/// See [`Thread::tool_calls`].
#[derive(Clone, Copy, Debug)]
pub struct ToolCalls<'a> {
    transcript: &'a Transcript,
    thread: ThreadId,
}

impl<'a> ToolCalls<'a> {
    pub(crate) const fn new(transcript: &'a Transcript, thread: ThreadId) -> Self {
        Self { transcript, thread }
    }

    /// Returns an iterator over the calls.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = ToolCall<'a>> + use<'a> {
        let calls = self.transcript.calls_of(self.thread);
        calls.filter_map(move |id| self.transcript.tool_call_by_id(id))
    }
}

impl Serialize for ToolCalls<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for call in self.iter() {
            map.serialize_entry(call.id(), &call)?;
        }
        map.end()
    }
}

/// The result of a tool call. See [`ToolCall::result`].
#[derive(Clone, Copy, Debug)]
pub struct ToolResult<'a> {
    transcript: &'a Transcript,
    record: ToolResultRecord,
}

impl<'a> ToolResult<'a> {
    /// Returns whether the tool failed.
    #[must_use]
    pub const fn is_error(self) -> bool {
        self.record.is_error
    }

    /// Returns its text. Images and other parts appear as placeholders such as `[image image/png
    /// 1234 bytes]`.
    #[must_use]
    pub fn text(self) -> TextRef<'a> {
        self.transcript.arena.text(self.record.text)
    }

    /// Returns the parts as they were written, a JSON array, if they are more than text.
    #[must_use]
    pub fn raw_parts(self) -> Option<Raw<'a>> {
        let raw = self.record.raw;
        (!raw.is_empty()).then(|| self.transcript.raw(raw))
    }

    /// Returns whether the call started work that continues as a task.
    #[must_use]
    pub const fn is_async(self) -> bool {
        self.record.is_async
    }

    /// Returns the byte range of its line in the stream, without its line end. The line also holds
    /// the tool's structured output, which a transcript does not keep.
    #[must_use]
    pub const fn line(self) -> Range<u64> {
        self.record.offset..self.record.end
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
