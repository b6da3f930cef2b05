//! Tool calls, their results and sub-agents.

use std::borrow::Cow;
use std::ops::Range;

use crate::arena::{Text, TextRef};
use crate::record::{CallDetail, CallId, CallRecord, ThreadId, ToolResultRecord};
use crate::state::CallState;
use crate::transcript::Transcript;
use crate::view::handle::{Entry, Thread, ToolCall};
use crate::view::raw::Raw;
use crate::view::session::ModelUsage;
use crate::view::tool::{self, Shown};

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

    /// Returns title, kind, locations and content: as the agent says, else as follows from name and
    /// input of a tool that is known.
    #[must_use]
    pub fn shown(self) -> Shown<'a> {
        let Some(detail) = self.detail().filter(|detail| detail.is_shown) else {
            let input = self.record().input;
            let text = (!input.is_empty()).then(|| self.transcript.arena.text(input).to_cow());
            return tool::of_tool(self.name(), text.as_deref());
        };
        let title = (!detail.title.is_empty()).then(|| self.transcript.arena.text(detail.title));
        Shown {
            title: title.map(TextRef::to_cow),
            kind: detail.kind,
            locations: Cow::Borrowed(&detail.locations),
            content: Cow::Borrowed(&detail.content),
        }
    }

    /// Returns what its command has printed so far; `None` if the agent does not report it.
    #[must_use]
    pub fn output(self) -> Option<TextRef<'a>> {
        let output = self.detail()?.output?;
        Some(self.transcript.arena.text(output))
    }

    /// Returns the exit code of its command; `None` if the agent does not report it.
    #[must_use]
    pub fn exit_code(self) -> Option<i64> {
        let reported = self.detail().and_then(|detail| detail.exit_code);
        reported.or_else(|| {
            let failed = self.result().filter(|result| result.is_error())?;
            let is_command = self.name() == "Bash";
            is_command.then(|| tool::exit_code(&failed.text().to_cow()))?
        })
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
        let record = self.record();
        let block = record.entry.map(|_| record.line_end.after(from));
        let result = self.result().map(|result| result.record.end);
        let detail = self.detail().map(|detail| detail.end);
        let ends = [block, result, detail];
        from..ends.into_iter().flatten().max().unwrap_or(from).max(from)
    }

    /// Returns what it has used, with its sub-agent; `None` if the agent does not report it.
    #[must_use]
    pub fn usage(self) -> Option<ModelUsage> {
        self.detail()?.usage.map(ModelUsage::of)
    }

    fn detail(self) -> Option<&'a CallDetail> {
        self.record().detail.as_deref()
    }

    /// Returns the message that contains it; `None` if it was never announced, or was evicted.
    #[must_use]
    pub fn entry(self) -> Option<Entry<'a>> {
        let entry = self.record().entry?;
        let is_there = self.transcript.entries.contains(entry);
        is_there.then(|| Entry::new(self.transcript, entry))
    }
}

/// A sub-agent with its entries and calls, as JSON. See [`ToolCall::subagent`].
#[derive(Clone, Copy, Debug)]
pub struct Subagent<'a>(pub Thread<'a>);

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
