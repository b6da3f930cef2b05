//! Folds the values that were read; strings are in the buffer.

use super::{Block, Content, Delta, Event, Line, Message, Text, Usage};
use crate::job::{Digest, Fold, Tag};

fn get(texts: &str, text: Text) -> Option<&str> {
    text.and_then(|span| texts.get(span.start..span.end))
}

impl Line {
    pub(super) fn fold<D: Digest>(&self, texts: &str, fold: &mut Fold<D>) {
        fold.number(Tag::Kind, self.kind);
        if self.kind != 0 {
            fold.optional(Tag::Uuid, get(texts, self.uuid));
            fold.optional(Tag::SessionId, get(texts, self.session_id));
            fold.optional(Tag::ParentToolUseId, get(texts, self.parent_tool_use_id));
        }
        match self.kind {
            1 => match &self.event {
                Some(event) => event.fold(texts, fold),
                None => fold.number(Tag::EventKind, 0),
            },
            2 | 3 => self.message.iter().for_each(|it| it.fold(texts, fold)),
            4 => fold.optional(Tag::Subtype, get(texts, self.subtype)),
            5 => self.fold_result(texts, fold),
            _ => {}
        }
        fold.end_line();
    }

    fn fold_result<D: Digest>(&self, texts: &str, fold: &mut Fold<D>) {
        fold.optional(Tag::Subtype, get(texts, self.subtype));
        fold.number(Tag::IsError, self.is_error.into());
        fold.optional(Tag::ResultText, get(texts, self.result));
        if let Some(cost) = self.total_cost_usd {
            fold.number(Tag::Cost, cost.to_bits());
        }
        if let Some(turns) = self.num_turns {
            fold.number(Tag::Turns, turns);
        }
        fold_usage(self.usage, fold);
    }
}

impl Message {
    fn fold<D: Digest>(&self, texts: &str, fold: &mut Fold<D>) {
        fold.optional(Tag::MessageId, get(texts, self.id));
        fold.optional(Tag::MessageModel, get(texts, self.model));
        fold.optional(Tag::MessageRole, get(texts, self.role));
        fold_usage(self.usage, fold);
        match &self.content {
            Content::Text(text) => fold.optional(Tag::MessageText, get(texts, Some(*text))),
            Content::Blocks(blocks) => {
                for (at, block) in blocks.iter().enumerate() {
                    block.fold(at, texts, fold);
                }
            }
            Content::Absent => {}
        }
    }
}

impl Block {
    fn fold<D: Digest>(&self, at: usize, texts: &str, fold: &mut Fold<D>) {
        fold.block_number(Tag::BlockKind, at, self.kind);
        let text = |text| get(texts, text).unwrap_or_default();
        match self.kind {
            1 | 2 => fold.block_text(Tag::BlockText, at, self.own_text(texts)),
            4 | 5 => {
                fold.block_text(Tag::ToolId, at, text(self.id));
                fold.block_text(Tag::ToolName, at, text(self.name));
                fold.raw(at, self.input);
            }
            6 => {
                fold.block_text(Tag::ToolUseId, at, text(self.tool_use_id));
                fold.block_number(Tag::ToolError, at, self.is_error.into());
                self.fold_content(at, texts, fold);
            }
            _ => {}
        }
    }

    fn fold_content<D: Digest>(&self, at: usize, texts: &str, fold: &mut Fold<D>) {
        match &self.content {
            Content::Text(text) => {
                let text = get(texts, Some(*text)).unwrap_or_default();
                fold.block_text(Tag::ToolText, at, text);
            }
            Content::Blocks(parts) => {
                for (number, part) in parts.iter().enumerate() {
                    fold.part(at, number, part.own_text(texts));
                }
            }
            Content::Absent => {}
        }
    }

    fn own_text<'t>(&self, texts: &'t str) -> &'t str {
        let text = match self.kind {
            1 => self.text,
            2 => self.thinking,
            _ => None,
        };
        get(texts, text).unwrap_or_default()
    }
}

impl Event {
    fn fold<D: Digest>(&self, texts: &str, fold: &mut Fold<D>) {
        fold.number(Tag::EventKind, self.kind);
        if (1..=3).contains(&self.kind) {
            fold.number(Tag::EventIndex, self.index);
        }
        match self.kind {
            1 => match &self.delta {
                Some(delta) => delta.fold(texts, fold),
                None => fold.number(Tag::DeltaKind, 0),
            },
            2 => self
                .content_block
                .iter()
                .for_each(|it| it.fold(0, texts, fold)),
            4 => self.message.iter().for_each(|it| it.fold(texts, fold)),
            5 => {
                let stop_reason = self.delta.as_ref().and_then(|it| it.stop_reason);
                fold.optional(Tag::StopReason, get(texts, stop_reason));
                fold_usage(self.usage, fold);
            }
            _ => {}
        }
    }
}

impl Delta {
    fn fold<D: Digest>(&self, texts: &str, fold: &mut Fold<D>) {
        fold.number(Tag::DeltaKind, self.kind);
        let text = match self.kind {
            1 => self.text,
            2 => self.partial_json,
            3 => self.thinking,
            4 => self.signature,
            _ => return,
        };
        fold.text(Tag::DeltaText, get(texts, text).unwrap_or_default());
    }
}

fn fold_usage<D: Digest>(usage: Usage, fold: &mut Fold<D>) {
    if let Some(tokens) = usage {
        fold.usage(tokens);
    }
}
