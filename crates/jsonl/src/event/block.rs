//! Parts of a message (protocol, section A.9).

use std::ops::Deref;

use crate::grammar::{
    Index, Read, Record as _, array, byte, nothing, raw_at, record, skip, string_at,
};
use crate::raw::RawJson;
use crate::text::Str;

/// One part of a message.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// What the block holds.
    pub body: BlockBody<'a>,
    /// The whole block.
    pub raw: RawJson<'a>,
}

/// What a block holds, by its `type`.
#[derive(Clone, Debug)]
pub enum BlockBody<'a> {
    /// `text`
    Text {
        /// The text.
        text: Str<'a>,
    },
    /// `thinking`
    Thinking {
        /// The reasoning; empty when the agent does not show it.
        thinking: Str<'a>,
        /// To be sent back verbatim.
        signature: Option<Str<'a>>,
    },
    /// `redacted_thinking`: opaque reasoning.
    RedactedThinking {
        /// To be sent back verbatim.
        data: Option<Str<'a>>,
    },
    /// `tool_use`: the agent calls one of its tools.
    ToolUse(ToolUse<'a>),
    /// `server_tool_use`: the API ran a tool on its side.
    ServerToolUse(ToolUse<'a>),
    /// `tool_result`: what a tool gave back.
    ToolResult(ToolResult<'a>),
    /// `image`
    Image {
        /// `base64`, `url` or `file`, with its data.
        source: Option<RawJson<'a>>,
    },
    /// `document`
    Document {
        /// `base64`, `text`, `content`, `url` or `file`, with its data.
        source: Option<RawJson<'a>>,
    },
    /// A block that this crate does not know; it is kept raw.
    Other {
        /// The `type`, when it is a string.
        kind: Option<Str<'a>>,
    },
}

/// A call of a tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolUse<'a> {
    /// Unique in a session; the result names it.
    pub id: Str<'a>,
    /// The tool; `mcp__server__tool` for tools of MCP servers.
    pub name: Str<'a>,
    /// The arguments, an object.
    pub input: Option<RawJson<'a>>,
}

/// What a tool gave back.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolResult<'a> {
    /// The call that is answered.
    pub tool_use_id: Str<'a>,
    /// What the model gets to see.
    pub content: ResultContent<'a>,
    /// Whether the tool failed; absent on some successes.
    pub is_error: bool,
}

/// The content of a tool result: a string, a list of blocks, or nothing.
#[derive(Clone, Copy, Debug, Default)]
pub enum ResultContent<'a> {
    /// No content.
    #[default]
    Absent,
    /// A string.
    Text(Str<'a>),
    /// A list of blocks, parsed when somebody asks.
    Parts(RawJson<'a>),
}

impl<'a> ResultContent<'a> {
    /// The blocks of a list; none for a string.
    #[must_use]
    pub fn parts(self) -> Blocks<'a> {
        let mut blocks = Blocks::default();
        if let Self::Parts(raw) = self {
            // The text is validated, so the walk cannot stop.
            let _ = blocks.read(raw.text(), 0);
        }
        blocks
    }
}

impl<'a> Block<'a> {
    /// The text of a text or thinking block; empty for every other kind.
    #[must_use]
    pub fn text(&self) -> Str<'a> {
        match self.body {
            BlockBody::Text { text } | BlockBody::Thinking { thinking: text, .. } => text,
            _ => Str::default(),
        }
    }
}

/// The blocks of one message. The real agent sends one block a line, which needs no allocation.
#[derive(Clone, Debug)]
pub struct Blocks<'a>(Storage<'a>);

#[derive(Clone, Debug)]
enum Storage<'a> {
    One([Block<'a>; 1]),
    Many(Vec<Block<'a>>),
}

impl Default for Blocks<'_> {
    fn default() -> Self {
        Self(Storage::Many(Vec::new()))
    }
}

impl<'a> Blocks<'a> {
    fn push(&mut self, block: Block<'a>) {
        match &mut self.0 {
            Storage::Many(blocks) if blocks.is_empty() => self.0 = Storage::One([block]),
            Storage::Many(blocks) => blocks.push(block),
            Storage::One([first]) => self.0 = Storage::Many(vec![first.clone(), block]),
        }
    }
}

impl<'a> Deref for Blocks<'a> {
    type Target = [Block<'a>];

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Storage::One(block) => block,
            Storage::Many(blocks) => blocks,
        }
    }
}

/// Elements that are not objects are stepped over; the line keeps them.
impl<'a> Read<'a> for Blocks<'a> {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        *self = Self::default();
        if byte(text.as_bytes(), at) != b'[' {
            return skip(text.as_bytes(), at);
        }
        array(text, at, |text, at| {
            let mut block = None;
            let end = block.read(text, at)?;
            if let Some(block) = block {
                self.push(block);
            }
            Ok(end)
        })
    }
}

impl<'a> Read<'a> for Option<Block<'a>> {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        *self = None;
        if byte(text.as_bytes(), at) != b'{' {
            return nothing(text.as_bytes(), at);
        }
        let mut slots = Slots::default();
        let end = slots.members(text, at)?;
        let raw = RawJson::validated(text.get(at..end).unwrap_or_default());
        *self = Some(slots.block(raw));
        Ok(end)
    }
}

record! {
    /// Every member that some block has, since `type` may stand anywhere among them.
    pub(crate) Slots<'a> {
        /// `tool_use_id`
        tool_use_id: Option<Str<'a>> = "tool_use_id",
        /// `type`
        kind: Option<Str<'a>> = "type",
        /// `text`
        text: Option<Str<'a>> = "text",
        /// `thinking`
        thinking: Option<Str<'a>> = "thinking",
        /// `signature`
        signature: Option<Str<'a>> = "signature",
        /// `data`
        data: Option<Str<'a>> = "data",
        /// `id`
        id: Option<Str<'a>> = "id",
        /// `name`
        name: Option<Str<'a>> = "name",
        /// `input`
        input: Option<RawJson<'a>> = "input",
        /// `content`
        content: ResultContent<'a> = "content",
        /// `is_error`
        is_error: bool = "is_error",
        /// `source`
        source: Option<RawJson<'a>> = "source",
    }
    spelt(block, text, at) {
        r#""type":"text","text":"# => {
            block.kind = Some(Str::plain("text"));
            block.text.read(text, at)
        },
        r#""type":"tool_use","id":"# => {
            block.kind = Some(Str::plain("tool_use"));
            block.id.read(text, at)
        },
        r#""type":"thinking","thinking":"# => {
            block.kind = Some(Str::plain("thinking"));
            block.thinking.read(text, at)
        },
        r#""tool_use_id":"# => block.tool_use_id.read(text, at),
        r#""type":"tool_result","content":"# => {
            block.kind = Some(Str::plain("tool_result"));
            block.content.read(text, at)
        },
        r#""type":"# => block.kind.read(text, at),
        r#""content":"# => block.content.read(text, at),
        r#""signature":"# => block.signature.read(text, at),
        r#""name":"# => block.name.read(text, at),
        r#""input":"# => block.input.read(text, at),
        r#""is_error":false"# => {
            block.is_error = false;
            Ok(at)
        },
        r#""is_error":"# => block.is_error.read(text, at),
        r#""tool_use_id":"# => block.tool_use_id.read(text, at),
    }
}

impl<'a> Slots<'a> {
    fn block(self, raw: RawJson<'a>) -> Block<'a> {
        let body = match &*self.kind.unwrap_or_default().decode() {
            "text" => BlockBody::Text {
                text: self.text.unwrap_or_default(),
            },
            "thinking" => BlockBody::Thinking {
                thinking: self.thinking.unwrap_or_default(),
                signature: self.signature,
            },
            "redacted_thinking" => BlockBody::RedactedThinking { data: self.data },
            "tool_use" => BlockBody::ToolUse(self.tool_use()),
            "server_tool_use" => BlockBody::ServerToolUse(self.tool_use()),
            "tool_result" => BlockBody::ToolResult(ToolResult {
                tool_use_id: self.tool_use_id.unwrap_or_default(),
                content: self.content,
                is_error: self.is_error,
            }),
            "image" => BlockBody::Image {
                source: self.source,
            },
            "document" => BlockBody::Document {
                source: self.source,
            },
            _ => BlockBody::Other { kind: self.kind },
        };
        Block { body, raw }
    }

    fn tool_use(&self) -> ToolUse<'a> {
        ToolUse {
            id: self.id.unwrap_or_default(),
            name: self.name.unwrap_or_default(),
            input: self.input,
        }
    }
}

impl<'a> Read<'a> for ResultContent<'a> {
    fn read(&mut self, text: &'a str, at: usize) -> Index {
        match byte(text.as_bytes(), at) {
            b'"' => {
                let (end, value) = string_at(text, at)?;
                *self = Self::Text(value);
                Ok(end)
            }
            b'[' => {
                let (end, value) = raw_at(text, at)?;
                *self = Self::Parts(value);
                Ok(end)
            }
            _ => {
                *self = Self::Absent;
                skip(text.as_bytes(), at)
            }
        }
    }
}
