//! Content blocks of a message (PROTOCOL.md, Content blocks).

use std::ops::Deref;

use crate::grammar::{
    Cursor, Field, Known, ParsedAt, Record as _, array, index, null_or_skip, record, skip, string,
};
use crate::raw::{RawJson, raw_value};
use crate::text::Str;

/// One part of a message.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The content.
    pub body: BlockBody<'a>,
    /// The whole block.
    pub raw: RawJson<'a>,
}

/// The content of a block, by its `type`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum BlockBody<'a> {
    /// `text`
    Text {
        /// The text.
        text: Str<'a>,
    },
    /// `thinking`
    Thinking {
        /// The reasoning; empty when it is not displayed.
        thinking: Str<'a>,
        /// Must be sent back verbatim.
        signature: Option<Str<'a>>,
    },
    /// `redacted_thinking`: opaque reasoning.
    RedactedThinking {
        /// Must be sent back verbatim.
        data: Option<Str<'a>>,
    },
    /// `tool_use`: a call of one of the agent's tools.
    ToolUse(ToolUse<'a>),
    /// `server_tool_use`: a tool that the API ran.
    ServerToolUse(ToolUse<'a>),
    /// `tool_result`: the result of a tool call.
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
    /// A type that this crate does not know; [`Block::raw`] has the block.
    Other {
        /// The `type`, when it is a string.
        kind: Option<Str<'a>>,
    },
}

/// A call of a tool.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolUse<'a> {
    /// Unique in a session; the result refers to it.
    pub id: Str<'a>,
    /// The tool; `mcp__server__tool` for tools of MCP servers.
    pub name: Str<'a>,
    /// The arguments, an object.
    pub input: Option<RawJson<'a>>,
}

/// The result of a tool call.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolResult<'a> {
    /// Id of the call.
    pub tool_use_id: Str<'a>,
    /// The content that the model receives.
    pub content: ResultContent<'a>,
    /// Whether the tool failed; absent on some successes.
    pub is_error: bool,
}

/// The content of a tool result: a string, a list of blocks, or nothing.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum ResultContent<'a> {
    /// No content.
    #[default]
    Absent,
    /// A string.
    Text(Str<'a>),
    /// A list of blocks; see [`ResultContent::parts`].
    Parts(RawJson<'a>),
}

impl<'a> ResultContent<'a> {
    /// Parses the blocks of a list; none for a string.
    #[must_use]
    pub fn parts(self) -> Blocks<'a> {
        match self {
            Self::Parts(raw) => raw.parse_as(),
            _ => Blocks::default(),
        }
    }
}

impl<'a> Block<'a> {
    /// Returns the text of a text or thinking block; an empty one for every other kind.
    #[must_use]
    pub fn text(&self) -> Str<'a> {
        match self.body {
            BlockBody::Text { text } | BlockBody::Thinking { thinking: text, .. } => text,
            _ => Str::default(),
        }
    }
}

/// The blocks of one message. The agent sends one block per line, which needs no allocation.
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

/// Elements that are not objects are skipped; the raw line keeps them.
impl<'a> Field<'a> for Blocks<'a> {
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        *self = Self::default();
        if input.first() != b'[' {
            return index(skip(input));
        }
        index(array(input, |input| {
            let mut block = None;
            let parsed = block.parse(input)?;
            if let Some(block) = block {
                self.push(block);
            }
            Ok(parsed)
        }))
    }

    fn known() -> Known {
        Known::List(BlockMembers::known_members)
    }
}

impl<'a> Field<'a> for Option<Block<'a>> {
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        *self = None;
        if input.first() != b'{' {
            return index(null_or_skip(input));
        }
        let mut members = BlockMembers::default();
        let (end, ()) = members.object(input)?;
        *self = Some(members.block(RawJson::validated(input.until(end))));
        Ok((end.at(), ()))
    }

    fn known() -> Known {
        Known::Object(BlockMembers::known_members)
    }
}

record! {
    /// Every member that some block has, since `type` may be anywhere among them.
    pub(crate) BlockMembers<'a> {
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
    common(block, value) {
        r#""type":"text","text":"# => {
            block.kind = Some(Str::plain("text"));
            block.text.parse(value)
        },
        r#""type":"tool_use","id":"# => {
            block.kind = Some(Str::plain("tool_use"));
            block.id.parse(value)
        },
        r#""type":"thinking","thinking":"# => {
            block.kind = Some(Str::plain("thinking"));
            block.thinking.parse(value)
        },
        r#""tool_use_id":"# => block.tool_use_id.parse(value),
        r#""type":"tool_result","content":"# => {
            block.kind = Some(Str::plain("tool_result"));
            block.content.parse(value)
        },
        r#""type":"# => block.kind.parse(value),
        r#""content":"# => block.content.parse(value),
        r#""signature":"# => block.signature.parse(value),
        r#""name":"# => block.name.parse(value),
        r#""input":"# => block.input.parse(value),
        r#""is_error":false"# => {
            block.is_error = false;
            Ok((value, ()))
        },
        r#""is_error":"# => block.is_error.parse(value),
        r#""tool_use_id":"# => block.tool_use_id.parse(value),
    }
}

impl<'a> BlockMembers<'a> {
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

impl<'a> Field<'a> for ResultContent<'a> {
    fn parse_at(&mut self, text: &'a str, at: usize) -> ParsedAt {
        let input = Cursor::at_index(text, at);
        match input.first() {
            b'"' => {
                let (end, value) = string(input)?;
                *self = Self::Text(value);
                Ok((end.at(), ()))
            }
            b'[' => {
                let (end, value) = raw_value(input)?;
                *self = Self::Parts(value);
                Ok((end.at(), ()))
            }
            _ => {
                *self = Self::Absent;
                index(skip(input))
            }
        }
    }

    fn known() -> Known {
        Blocks::known()
    }
}
