// Bowline's parser: framer, events, and strings raw or decoded. Included once per build of the
// parser, which the including module names `jsonl`.

use jsonl::{
    ApiEvent, Block, BlockBody, Body, Delta, Event, Framer, Message, MessageContent, ResultContent,
    Str, StreamEvent, ToolResult, ToolUse, TurnResult, Usage,
};
use bytes::Bytes;

use crate::contenders::{Refused, refused};
use crate::job::{Digest, Fold, Folded, Tag};

pub(in crate::contenders) fn lazy<D: Digest>(bytes: &Bytes) -> Result<Folded, Refused> {
    run::<D, _>(bytes, AsWritten)
}

pub(in crate::contenders) fn decoded<D: Digest>(bytes: &Bytes) -> Result<Folded, Refused> {
    run::<D, _>(bytes, Decoded(String::new()))
}

/// How strings are read.
trait Strings {
    fn text<'t>(&'t mut self, text: Str<'t>) -> &'t str;
}

struct AsWritten;

impl Strings for AsWritten {
    #[inline]
    fn text<'t>(&'t mut self, text: Str<'t>) -> &'t str {
        text.raw()
    }
}

/// Decodes into one reused buffer; borrows strings without escapes.
struct Decoded(String);

impl Strings for Decoded {
    #[inline(always)]
    fn text<'t>(&'t mut self, text: Str<'t>) -> &'t str {
        if text.has_escapes() {
            self.decode(text)
        } else {
            text.raw()
        }
    }
}

impl Decoded {
    /// Separate, so that the common case without an escape costs no call.
    #[inline(never)]
    fn decode(&mut self, text: Str<'_>) -> &str {
        self.0.clear();
        text.decode_into(&mut self.0);
        &self.0
    }
}

fn run<D: Digest, S: Strings>(bytes: &Bytes, strings: S) -> Result<Folded, Refused> {
    let mut job = Job {
        fold: Fold::<D>::default(),
        strings,
    };
    let mut framer = Framer::default();
    framer.push(bytes.clone());
    framer.finish();
    while let Some(frame) = framer.next_frame() {
        let mut items = frame.items();
        // An item is large; it is used where it was created to avoid a copy.
        while let Some(item) = &items.next() {
            match &item.event {
                Ok(event) => job.line(event),
                Err(error) => return Err(refused(item.at.line as usize, error)),
            }
        }
    }
    Ok(job.fold.folded())
}

struct Job<D, S> {
    fold: Fold<D>,
    strings: S,
}

impl<D: Digest, S: Strings> Job<D, S> {
    #[inline]
    fn text(&mut self, tag: Tag, text: Str<'_>) {
        self.fold.text(tag, self.strings.text(text));
    }

    #[inline]
    fn optional(&mut self, tag: Tag, text: Option<Str<'_>>) {
        if let Some(text) = text {
            self.text(tag, text);
        }
    }

    #[inline]
    fn block_text(&mut self, tag: Tag, at: usize, text: Str<'_>) {
        self.fold.block_text(tag, at, self.strings.text(text));
    }

    /// Fast path: nearly every line is a stream event, and nearly all of these are deltas.
    #[inline]
    fn line(&mut self, event: &Event<'_>) {
        match &event.body {
            Body::Stream(stream) => {
                self.head(1, event);
                self.stream(stream);
            }
            body => {
                self.head(kind(body), event);
                self.body(body);
            }
        }
        self.fold.end_line();
    }

    #[inline]
    fn head(&mut self, kind: u64, event: &Event<'_>) {
        self.fold.number(Tag::Kind, kind);
        if kind != 0 {
            self.optional(Tag::Uuid, event.uuid);
            self.optional(Tag::SessionId, event.session_id);
            self.optional(Tag::ParentToolUseId, event.parent_tool_use_id);
        }
    }

    fn body(&mut self, body: &Body<'_>) {
        match body {
            Body::Assistant(assistant) => self.message(&assistant.message),
            Body::User(user) => self.message(&user.message),
            // The parser returns an empty subtype for a missing one, the others `None`.
            Body::System(system) if system.subtype.is_empty() => {}
            Body::System(system) => self.text(Tag::Subtype, system.subtype),
            Body::Result(result) => self.result(result),
            _ => {}
        }
    }

    #[inline]
    fn stream(&mut self, stream: &StreamEvent<'_>) {
        match &stream.event {
            ApiEvent::BlockDelta { index, delta } => {
                self.fold.number(Tag::EventKind, 1);
                self.fold.number(Tag::EventIndex, (*index).into());
                self.delta(*delta);
            }
            event => {
                self.fold.number(Tag::EventKind, event_kind(event));
                self.streamed(event);
            }
        }
    }

    fn streamed(&mut self, event: &ApiEvent<'_>) {
        match event {
            ApiEvent::BlockStart { index, block } => {
                self.fold.number(Tag::EventIndex, (*index).into());
                if let Some(block) = block {
                    self.block(0, block);
                }
            }
            ApiEvent::BlockStop { index } => self.fold.number(Tag::EventIndex, (*index).into()),
            ApiEvent::MessageStart(message) => self.message(message),
            ApiEvent::MessageDelta(delta) => {
                self.optional(Tag::StopReason, delta.delta.stop_reason);
                self.usage(delta.usage.as_ref());
            }
            _ => {}
        }
    }

    #[inline]
    fn delta(&mut self, delta: Delta<'_>) {
        let (kind, text) = match delta {
            Delta::Text(text) => (1, text),
            Delta::InputJson(text) => (2, text),
            Delta::Thinking(text) => (3, text),
            Delta::Signature(text) => (4, text),
            _ => return self.fold.number(Tag::DeltaKind, 0),
        };
        self.fold.number(Tag::DeltaKind, kind);
        self.text(Tag::DeltaText, text);
    }

    fn message(&mut self, message: &Message<'_>) {
        self.optional(Tag::MessageId, message.id);
        self.optional(Tag::MessageModel, message.model);
        self.optional(Tag::MessageRole, message.role);
        self.usage(message.usage.as_ref());
        if let MessageContent::Text(text) = message.content {
            self.text(Tag::MessageText, text);
        }
        for (at, block) in message.blocks().iter().enumerate() {
            self.block(at, block);
        }
    }

    fn usage(&mut self, usage: Option<&Usage>) {
        if let Some(usage) = usage {
            self.fold.usage([
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
            ]);
        }
    }

    fn block(&mut self, at: usize, block: &Block<'_>) {
        self.fold
            .block_number(Tag::BlockKind, at, block_kind(&block.body));
        match &block.body {
            BlockBody::Text { .. } | BlockBody::Thinking { .. } => {
                self.block_text(Tag::BlockText, at, block.text());
            }
            BlockBody::ToolUse(tool) | BlockBody::ServerToolUse(tool) => self.tool_use(at, tool),
            BlockBody::ToolResult(result) => self.tool_result(at, result),
            _ => {}
        }
    }

    fn tool_use(&mut self, at: usize, tool: &ToolUse<'_>) {
        self.block_text(Tag::ToolId, at, tool.id);
        self.block_text(Tag::ToolName, at, tool.name);
        self.fold
            .raw(at, tool.input.map(|input| input.text().len()));
    }

    fn tool_result(&mut self, at: usize, result: &ToolResult<'_>) {
        self.block_text(Tag::ToolUseId, at, result.tool_use_id);
        self.fold
            .block_number(Tag::ToolError, at, result.is_error.into());
        if let ResultContent::Text(text) = result.content {
            self.block_text(Tag::ToolText, at, text);
        }
        for (number, part) in result.content.parts().iter().enumerate() {
            self.fold.part(at, number, self.strings.text(part.text()));
        }
    }

    fn result(&mut self, result: &TurnResult<'_>) {
        self.optional(Tag::Subtype, result.subtype);
        self.fold.number(Tag::IsError, result.is_error.into());
        self.optional(Tag::ResultText, result.result);
        if let Some(cost) = result.total_cost_usd {
            self.fold.number(Tag::Cost, cost.to_bits());
        }
        if let Some(turns) = result.num_turns {
            self.fold.number(Tag::Turns, turns);
        }
        self.usage(result.usage.as_ref());
    }
}

/// Returns the number in [`crate::job::line_kind`].
const fn kind(body: &Body<'_>) -> u64 {
    match body {
        Body::Stream(_) => 1,
        Body::Assistant(_) => 2,
        Body::User(_) => 3,
        Body::System(_) => 4,
        Body::Result(_) => 5,
        Body::ControlRequest(_) => 6,
        Body::ControlResponse(_) => 7,
        Body::ControlCancelRequest { .. } => 8,
        Body::KeepAlive => 9,
        Body::ToolProgress(_) => 10,
        Body::ToolUseSummary(_) => 11,
        Body::RateLimit { .. } => 12,
        Body::AuthStatus(_) => 13,
        Body::PromptSuggestion { .. } => 14,
        Body::ConversationReset(_) => 15,
        Body::ActiveGoal { .. } => 16,
        Body::CommandLifecycle(_) => 17,
        Body::TranscriptMirror(_) => 18,
        _ => 0,
    }
}

/// Returns the number in [`crate::job::event_kind`].
const fn event_kind(event: &ApiEvent<'_>) -> u64 {
    match event {
        ApiEvent::BlockDelta { .. } => 1,
        ApiEvent::BlockStart { .. } => 2,
        ApiEvent::BlockStop { .. } => 3,
        ApiEvent::MessageStart(_) => 4,
        ApiEvent::MessageDelta(_) => 5,
        ApiEvent::MessageStop => 6,
        ApiEvent::Ping => 7,
        ApiEvent::Error(_) => 8,
        _ => 0,
    }
}

/// Returns the number in [`crate::job::block_kind`].
const fn block_kind(body: &BlockBody<'_>) -> u64 {
    match body {
        BlockBody::Text { .. } => 1,
        BlockBody::Thinking { .. } => 2,
        BlockBody::RedactedThinking { .. } => 3,
        BlockBody::ToolUse(_) => 4,
        BlockBody::ServerToolUse(_) => 5,
        BlockBody::ToolResult(_) => 6,
        BlockBody::Image { .. } => 7,
        BlockBody::Document { .. } => 8,
        _ => 0,
    }
}
