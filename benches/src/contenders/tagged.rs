//! `serde_json` into owned enums, the usual way to write it: `#[serde(tag = "type")]`, `String`,
//! and `Value` for unknown members.

use serde::Deserialize;
use serde_json::Value;

use super::{Refused, lines, refused};
use crate::job::{Digest, Fold, Folded, Tag};

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    StreamEvent(Stream),
    Assistant(Speech),
    User(Speech),
    System(System),
    Result(Box<TurnResult>),
    ControlRequest(Envelope),
    ControlResponse(Envelope),
    ControlCancelRequest(Envelope),
    KeepAlive(Envelope),
    ToolProgress(Envelope),
    ToolUseSummary(Envelope),
    RateLimitEvent(Envelope),
    AuthStatus(Envelope),
    PromptSuggestion(Envelope),
    ConversationReset(Envelope),
    ActiveGoal(Envelope),
    CommandLifecycle(Envelope),
    TranscriptMirror(Envelope),
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
struct Envelope {
    uuid: Option<String>,
    session_id: Option<String>,
    parent_tool_use_id: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Stream {
    uuid: Option<String>,
    session_id: Option<String>,
    parent_tool_use_id: Option<String>,
    event: Event,
}

#[derive(Debug, Deserialize)]
struct Speech {
    uuid: Option<String>,
    session_id: Option<String>,
    parent_tool_use_id: Option<String>,
    message: Message,
}

#[derive(Debug, Deserialize)]
struct System {
    uuid: Option<String>,
    session_id: Option<String>,
    parent_tool_use_id: Option<String>,
    subtype: Option<String>,
}

#[derive(Debug, Deserialize)]
struct TurnResult {
    uuid: Option<String>,
    session_id: Option<String>,
    parent_tool_use_id: Option<String>,
    subtype: Option<String>,
    is_error: Option<bool>,
    total_cost_usd: Option<f64>,
    num_turns: Option<u64>,
    result: Option<String>,
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Message {
    id: Option<String>,
    model: Option<String>,
    role: Option<String>,
    usage: Option<Usage>,
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
    },
    RedactedThinking,
    ToolUse(ToolUse),
    ServerToolUse(ToolUse),
    ToolResult {
        tool_use_id: String,
        #[serde(default)]
        is_error: bool,
        content: Option<Content>,
    },
    Image,
    Document,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct ToolUse {
    id: String,
    name: String,
    #[expect(
        dead_code,
        reason = "the job asks for the raw text, which a tree does not keep"
    )]
    input: Value,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    ContentBlockDelta {
        index: u32,
        delta: Delta,
    },
    ContentBlockStart {
        index: u32,
        content_block: Block,
    },
    ContentBlockStop {
        index: u32,
    },
    MessageStart {
        message: Message,
    },
    MessageDelta {
        delta: StopDelta,
        usage: Option<Usage>,
    },
    MessageStop,
    Ping,
    Error,
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum Delta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct StopDelta {
    stop_reason: Option<String>,
}

pub(super) fn run<D: Digest>(bytes: &[u8]) -> Result<Folded, Refused> {
    let mut fold = Fold::<D>::default();
    for (number, line) in lines(bytes) {
        let line: Line = serde_json::from_slice(line).map_err(|error| refused(number, error))?;
        line.fold(&mut fold);
    }
    Ok(fold.folded())
}

pub(super) fn takes(line: &[u8]) -> bool {
    serde_json::from_slice::<Line>(line).is_ok()
}

/// Folds the ids that any line may have.
macro_rules! envelope {
    ($kind:literal, $line:expr, $fold:expr) => {{
        $fold.number(Tag::Kind, $kind);
        $fold.optional(Tag::Uuid, $line.uuid.as_deref());
        $fold.optional(Tag::SessionId, $line.session_id.as_deref());
        $fold.optional(Tag::ParentToolUseId, $line.parent_tool_use_id.as_deref());
    }};
}

impl Line {
    fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        match self {
            Self::StreamEvent(line) => {
                envelope!(1, line, fold);
                line.event.fold(fold);
            }
            Self::Assistant(line) => {
                envelope!(2, line, fold);
                line.message.fold(fold);
            }
            Self::User(line) => {
                envelope!(3, line, fold);
                line.message.fold(fold);
            }
            Self::System(line) => {
                envelope!(4, line, fold);
                fold.optional(Tag::Subtype, line.subtype.as_deref());
            }
            Self::Result(line) => {
                envelope!(5, line, fold);
                line.fold(fold);
            }
            Self::ControlRequest(line) => envelope!(6, line, fold),
            Self::ControlResponse(line) => envelope!(7, line, fold),
            Self::ControlCancelRequest(line) => envelope!(8, line, fold),
            Self::KeepAlive(line) => envelope!(9, line, fold),
            Self::ToolProgress(line) => envelope!(10, line, fold),
            Self::ToolUseSummary(line) => envelope!(11, line, fold),
            Self::RateLimitEvent(line) => envelope!(12, line, fold),
            Self::AuthStatus(line) => envelope!(13, line, fold),
            Self::PromptSuggestion(line) => envelope!(14, line, fold),
            Self::ConversationReset(line) => envelope!(15, line, fold),
            Self::ActiveGoal(line) => envelope!(16, line, fold),
            Self::CommandLifecycle(line) => envelope!(17, line, fold),
            Self::TranscriptMirror(line) => envelope!(18, line, fold),
            Self::Unknown => fold.number(Tag::Kind, 0),
        }
        fold.end_line();
    }
}

impl TurnResult {
    fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        fold.optional(Tag::Subtype, self.subtype.as_deref());
        fold.number(Tag::IsError, self.is_error.unwrap_or_default().into());
        fold.optional(Tag::ResultText, self.result.as_deref());
        if let Some(cost) = self.total_cost_usd {
            fold.number(Tag::Cost, cost.to_bits());
        }
        if let Some(turns) = self.num_turns {
            fold.number(Tag::Turns, turns);
        }
        fold_usage(self.usage.as_ref(), fold);
    }
}

impl Message {
    fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        fold.optional(Tag::MessageId, self.id.as_deref());
        fold.optional(Tag::MessageModel, self.model.as_deref());
        fold.optional(Tag::MessageRole, self.role.as_deref());
        fold_usage(self.usage.as_ref(), fold);
        match &self.content {
            Some(Content::Text(text)) => fold.text(Tag::MessageText, text),
            Some(Content::Blocks(blocks)) => {
                for (at, block) in blocks.iter().enumerate() {
                    block.fold(at, fold);
                }
            }
            None => {}
        }
    }
}

impl Block {
    const fn kind(&self) -> u64 {
        match self {
            Self::Text { .. } => 1,
            Self::Thinking { .. } => 2,
            Self::RedactedThinking => 3,
            Self::ToolUse(_) => 4,
            Self::ServerToolUse(_) => 5,
            Self::ToolResult { .. } => 6,
            Self::Image => 7,
            Self::Document => 8,
            Self::Other => 0,
        }
    }

    fn own_text(&self) -> &str {
        match self {
            Self::Text { text } | Self::Thinking { thinking: text } => text,
            _ => "",
        }
    }

    fn fold<D: Digest>(&self, at: usize, fold: &mut Fold<D>) {
        fold.block_number(Tag::BlockKind, at, self.kind());
        match self {
            Self::Text { text } | Self::Thinking { thinking: text } => {
                fold.block_text(Tag::BlockText, at, text);
            }
            Self::ToolUse(tool) | Self::ServerToolUse(tool) => {
                fold.block_text(Tag::ToolId, at, &tool.id);
                fold.block_text(Tag::ToolName, at, &tool.name);
            }
            Self::ToolResult {
                tool_use_id,
                is_error,
                content,
            } => {
                fold.block_text(Tag::ToolUseId, at, tool_use_id);
                fold.block_number(Tag::ToolError, at, (*is_error).into());
                fold_content(content.as_ref(), at, fold);
            }
            _ => {}
        }
    }
}

fn fold_content<D: Digest>(content: Option<&Content>, at: usize, fold: &mut Fold<D>) {
    match content {
        Some(Content::Text(text)) => fold.block_text(Tag::ToolText, at, text),
        Some(Content::Blocks(parts)) => {
            for (number, part) in parts.iter().enumerate() {
                fold.part(at, number, part.own_text());
            }
        }
        None => {}
    }
}

impl Event {
    fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        fold.number(Tag::EventKind, self.kind());
        match self {
            Self::ContentBlockDelta { index, delta } => {
                fold.number(Tag::EventIndex, (*index).into());
                delta.fold(fold);
            }
            Self::ContentBlockStart {
                index,
                content_block,
            } => {
                fold.number(Tag::EventIndex, (*index).into());
                content_block.fold(0, fold);
            }
            Self::ContentBlockStop { index } => fold.number(Tag::EventIndex, (*index).into()),
            Self::MessageStart { message } => message.fold(fold),
            Self::MessageDelta { delta, usage } => {
                fold.optional(Tag::StopReason, delta.stop_reason.as_deref());
                fold_usage(usage.as_ref(), fold);
            }
            _ => {}
        }
    }

    const fn kind(&self) -> u64 {
        match self {
            Self::ContentBlockDelta { .. } => 1,
            Self::ContentBlockStart { .. } => 2,
            Self::ContentBlockStop { .. } => 3,
            Self::MessageStart { .. } => 4,
            Self::MessageDelta { .. } => 5,
            Self::MessageStop => 6,
            Self::Ping => 7,
            Self::Error => 8,
            Self::Unknown => 0,
        }
    }
}

impl Delta {
    fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        let (kind, text) = match self {
            Self::Text { text } => (1, text),
            Self::InputJson { partial_json } => (2, partial_json),
            Self::Thinking { thinking } => (3, thinking),
            Self::Signature { signature } => (4, signature),
            Self::Other => return fold.number(Tag::DeltaKind, 0),
        };
        fold.number(Tag::DeltaKind, kind);
        fold.text(Tag::DeltaText, text);
    }
}

fn fold_usage<D: Digest>(usage: Option<&Usage>, fold: &mut Fold<D>) {
    if let Some(usage) = usage {
        fold.usage([
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        ]);
    }
}
