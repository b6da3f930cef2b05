//! The borrowed structs of all serde contenders.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::job::{Digest, Fold, Tag, block_kind, delta_kind, event_kind, line_kind};

/// A string that is copied only if it contains an escape. (`Option<Cow<str>>` alone always copies.)
#[derive(Debug, Default, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// A value that is returned raw, if the parser supports that.
pub(crate) trait Raw {
    /// Returns its length in bytes.
    fn length(&self) -> Option<usize>;
}

/// A parser without raw values skips them.
impl Raw for IgnoredAny {
    fn length(&self) -> Option<usize> {
        None
    }
}

/// Any line.
#[derive(Debug, serde::Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de>"))]
pub(crate) struct Line<'a, R> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) uuid: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) session_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) parent_tool_use_id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) message: Option<Message<'a, R>>,
    #[serde(borrow)]
    pub(crate) event: Option<Event<'a, R>>,
    #[serde(borrow)]
    pub(crate) subtype: Option<Text<'a>>,
    pub(crate) is_error: Option<bool>,
    pub(crate) total_cost_usd: Option<f64>,
    pub(crate) num_turns: Option<u64>,
    #[serde(borrow)]
    pub(crate) result: Option<Text<'a>>,
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de>"))]
pub(crate) struct Message<'a, R> {
    #[serde(borrow)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) model: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) role: Option<Text<'a>>,
    pub(crate) usage: Option<Usage>,
    #[serde(borrow)]
    pub(crate) content: Option<Content<'a, R>>,
}

#[derive(Debug, serde::Deserialize)]
pub(crate) struct Usage {
    pub(crate) input_tokens: Option<u64>,
    pub(crate) output_tokens: Option<u64>,
    pub(crate) cache_read_input_tokens: Option<u64>,
    pub(crate) cache_creation_input_tokens: Option<u64>,
}

#[derive(Debug)]
pub(crate) enum Content<'a, R> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a, R>>),
}

#[derive(Debug, serde::Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de>"))]
pub(crate) struct Block<'a, R> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) name: Option<Text<'a>>,
    pub(crate) input: Option<R>,
    #[serde(borrow)]
    pub(crate) tool_use_id: Option<Text<'a>>,
    pub(crate) is_error: Option<bool>,
    #[serde(borrow)]
    pub(crate) content: Option<Content<'a, R>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(bound(deserialize = "R: Deserialize<'de>"))]
pub(crate) struct Event<'a, R> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Option<Text<'a>>,
    pub(crate) index: Option<u32>,
    #[serde(borrow)]
    pub(crate) message: Option<Message<'a, R>>,
    #[serde(borrow)]
    pub(crate) content_block: Option<Block<'a, R>>,
    #[serde(borrow)]
    pub(crate) delta: Option<Delta<'a>>,
    pub(crate) usage: Option<Usage>,
}

#[derive(Debug, serde::Deserialize)]
pub(crate) struct Delta<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) text: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) partial_json: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) thinking: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) signature: Option<Text<'a>>,
    #[serde(borrow)]
    pub(crate) stop_reason: Option<Text<'a>>,
}

/// A string, a list of blocks, or an object that the job ignores.
impl<'de: 'a, 'a, R: Deserialize<'de>> Deserialize<'de> for Content<'a, R> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor(PhantomData))
    }
}

struct ContentVisitor<R>(PhantomData<R>);

impl<'de, R: Deserialize<'de>> Visitor<'de> for ContentVisitor<R> {
    type Value = Content<'de, R>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or blocks")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(text.into())))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Content::Text(Cow::Owned(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = seq.next_element()? {
            blocks.push(block);
        }
        Ok(Content::Blocks(blocks))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::Blocks(Vec::new()))
    }
}

impl<R: Raw> Line<'_, R> {
    /// Folds the line.
    #[inline]
    pub(super) fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        let kind = self.kind.as_ref().map_or(0, |kind| line_kind(&kind.0));
        fold.number(Tag::Kind, kind);
        if kind != 0 {
            fold.optional(Tag::Uuid, str(&self.uuid));
            fold.optional(Tag::SessionId, str(&self.session_id));
            fold.optional(Tag::ParentToolUseId, str(&self.parent_tool_use_id));
        }
        match kind {
            1 => match &self.event {
                Some(event) => event.fold(fold),
                None => fold.number(Tag::EventKind, 0),
            },
            2 | 3 => self.message.iter().for_each(|message| message.fold(fold)),
            4 => fold.optional(Tag::Subtype, str(&self.subtype)),
            5 => self.fold_result(fold),
            _ => {}
        }
        fold.end_line();
    }

    fn fold_result<D: Digest>(&self, fold: &mut Fold<D>) {
        fold.optional(Tag::Subtype, str(&self.subtype));
        fold.number(Tag::IsError, self.is_error.unwrap_or_default().into());
        fold.optional(Tag::ResultText, str(&self.result));
        if let Some(cost) = self.total_cost_usd {
            fold.number(Tag::Cost, cost.to_bits());
        }
        if let Some(turns) = self.num_turns {
            fold.number(Tag::Turns, turns);
        }
        fold_usage(&self.usage, fold);
    }
}

impl<R: Raw> Message<'_, R> {
    pub(super) fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        fold.optional(Tag::MessageId, str(&self.id));
        fold.optional(Tag::MessageModel, str(&self.model));
        fold.optional(Tag::MessageRole, str(&self.role));
        fold_usage(&self.usage, fold);
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

impl<R: Raw> Block<'_, R> {
    fn fold<D: Digest>(&self, at: usize, fold: &mut Fold<D>) {
        let kind = self.kind.as_ref().map_or(0, |kind| block_kind(&kind.0));
        fold.block_number(Tag::BlockKind, at, kind);
        match kind {
            1 | 2 => fold.block_text(Tag::BlockText, at, self.own_text(kind)),
            4 | 5 => {
                fold.block_text(Tag::ToolId, at, str(&self.id).unwrap_or_default());
                fold.block_text(Tag::ToolName, at, str(&self.name).unwrap_or_default());
                fold.raw(at, self.input.as_ref().and_then(Raw::length));
            }
            6 => self.fold_result(at, fold),
            _ => {}
        }
    }

    fn fold_result<D: Digest>(&self, at: usize, fold: &mut Fold<D>) {
        let id = str(&self.tool_use_id).unwrap_or_default();
        fold.block_text(Tag::ToolUseId, at, id);
        fold.block_number(Tag::ToolError, at, self.is_error.unwrap_or_default().into());
        match &self.content {
            Some(Content::Text(text)) => fold.block_text(Tag::ToolText, at, text),
            Some(Content::Blocks(parts)) => {
                for (number, part) in parts.iter().enumerate() {
                    let kind = part.kind.as_ref().map_or(0, |kind| block_kind(&kind.0));
                    fold.part(at, number, part.own_text(kind));
                }
            }
            None => {}
        }
    }

    fn own_text(&self, kind: u64) -> &str {
        match kind {
            1 => str(&self.text).unwrap_or_default(),
            2 => str(&self.thinking).unwrap_or_default(),
            _ => "",
        }
    }
}

impl<R: Raw> Event<'_, R> {
    pub(super) fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        let kind = self.kind.as_ref().map_or(0, |kind| event_kind(&kind.0));
        fold.number(Tag::EventKind, kind);
        if (1..=3).contains(&kind) {
            fold.number(Tag::EventIndex, self.index.unwrap_or_default().into());
        }
        match kind {
            1 => match &self.delta {
                Some(delta) => delta.fold(fold),
                None => fold.number(Tag::DeltaKind, 0),
            },
            2 => self
                .content_block
                .iter()
                .for_each(|block| block.fold(0, fold)),
            4 => self.message.iter().for_each(|message| message.fold(fold)),
            5 => {
                let stop_reason = self.delta.as_ref().and_then(|it| str(&it.stop_reason));
                fold.optional(Tag::StopReason, stop_reason);
                fold_usage(&self.usage, fold);
            }
            _ => {}
        }
    }
}

impl Delta<'_> {
    fn fold<D: Digest>(&self, fold: &mut Fold<D>) {
        let kind = self.kind.as_ref().map_or(0, |kind| delta_kind(&kind.0));
        fold.number(Tag::DeltaKind, kind);
        let text = match kind {
            1 => &self.text,
            2 => &self.partial_json,
            3 => &self.thinking,
            4 => &self.signature,
            _ => return,
        };
        fold.text(Tag::DeltaText, str(text).unwrap_or_default());
    }
}

pub(crate) fn str<'t>(text: &'t Option<Text<'_>>) -> Option<&'t str> {
    text.as_ref().map(|text| &*text.0)
}

pub(super) fn fold_usage<D: Digest>(usage: &Option<Usage>, fold: &mut Fold<D>) {
    if let Some(usage) = usage {
        fold.usage([
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_input_tokens,
            usage.cache_creation_input_tokens,
        ]);
    }
}
