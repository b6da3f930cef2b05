//! One function per object, one match arm per member.

use jiter::{Jiter, JiterResult, NumberAny, NumberInt, Peek};

use super::{Block, Content, Delta, Event, Line, Message, Span, Text, Usage};
use crate::job::{block_kind, delta_kind, event_kind, line_kind};

pub(super) struct Reader<'j, 't> {
    pub(super) json: Jiter<'j>,
    pub(super) texts: &'t mut String,
}

/// Iterates over an object whose start was consumed; members without an arm are skipped.
macro_rules! members {
    ($reader:ident, { $($key:literal => $read:expr,)* }) => {{
        let mut key = $reader.json.known_object()?;
        while let Some(name) = key {
            match name {
                $($key => $read,)*
                _ => $reader.json.next_skip()?,
            }
            key = $reader.json.next_key()?;
        }
    }};
}

impl Reader<'_, '_> {
    pub(super) fn line(&mut self) -> JiterResult<Line> {
        let mut line = Line::default();
        if !self.at_object()? {
            return Ok(line);
        }
        members!(self, {
            "type" => line.kind = self.kind(line_kind)?,
            "uuid" => line.uuid = self.text()?,
            "session_id" => line.session_id = self.text()?,
            "parent_tool_use_id" => line.parent_tool_use_id = self.text()?,
            "message" => line.message = self.message()?,
            "event" => line.event = self.event()?,
            "subtype" => line.subtype = self.text()?,
            "is_error" => line.is_error = self.flag()?,
            "total_cost_usd" => line.total_cost_usd = self.float()?,
            "num_turns" => line.num_turns = self.integer()?,
            "result" => line.result = self.text()?,
            "usage" => line.usage = self.usage()?,
        });
        Ok(line)
    }

    fn message(&mut self) -> JiterResult<Option<Message>> {
        if !self.at_object()? {
            return Ok(None);
        }
        let mut message = Message::default();
        members!(self, {
            "id" => message.id = self.text()?,
            "model" => message.model = self.text()?,
            "role" => message.role = self.text()?,
            "usage" => message.usage = self.usage()?,
            "content" => message.content = self.content()?,
        });
        Ok(Some(message))
    }

    fn content(&mut self) -> JiterResult<Content> {
        let peek = self.json.peek()?;
        if peek != Peek::Array {
            return Ok(self.text()?.map_or(Content::Absent, Content::Text));
        }
        let mut blocks = Vec::new();
        let mut next = self.json.known_array()?;
        while next.is_some() {
            blocks.extend(self.block()?);
            next = self.json.array_step()?;
        }
        Ok(Content::Blocks(blocks))
    }

    fn block(&mut self) -> JiterResult<Option<Block>> {
        if !self.at_object()? {
            return Ok(None);
        }
        let mut block = Block::default();
        members!(self, {
            "type" => block.kind = self.kind(block_kind)?,
            "text" => block.text = self.text()?,
            "thinking" => block.thinking = self.text()?,
            "id" => block.id = self.text()?,
            "name" => block.name = self.text()?,
            "input" => block.input = self.raw()?,
            "tool_use_id" => block.tool_use_id = self.text()?,
            "is_error" => block.is_error = self.flag()?,
            "content" => block.content = self.content()?,
        });
        Ok(Some(block))
    }

    fn event(&mut self) -> JiterResult<Option<Event>> {
        if !self.at_object()? {
            return Ok(None);
        }
        let mut event = Event::default();
        members!(self, {
            "type" => event.kind = self.kind(event_kind)?,
            "index" => event.index = self.integer()?.unwrap_or_default(),
            "message" => event.message = self.message()?,
            "content_block" => event.content_block = self.block()?,
            "delta" => event.delta = self.delta()?,
            "usage" => event.usage = self.usage()?,
        });
        Ok(Some(event))
    }

    fn delta(&mut self) -> JiterResult<Option<Delta>> {
        if !self.at_object()? {
            return Ok(None);
        }
        let mut delta = Delta::default();
        members!(self, {
            "type" => delta.kind = self.kind(delta_kind)?,
            "text" => delta.text = self.text()?,
            "partial_json" => delta.partial_json = self.text()?,
            "thinking" => delta.thinking = self.text()?,
            "signature" => delta.signature = self.text()?,
            "stop_reason" => delta.stop_reason = self.text()?,
        });
        Ok(Some(delta))
    }

    fn usage(&mut self) -> JiterResult<Usage> {
        if !self.at_object()? {
            return Ok(None);
        }
        let mut tokens = [None; 4];
        members!(self, {
            "input_tokens" => tokens[0] = self.integer()?,
            "output_tokens" => tokens[1] = self.integer()?,
            "cache_read_input_tokens" => tokens[2] = self.integer()?,
            "cache_creation_input_tokens" => tokens[3] = self.integer()?,
        });
        Ok(Some(tokens))
    }

    /// Returns whether the next value is an object; any other value is skipped.
    fn at_object(&mut self) -> JiterResult<bool> {
        let peek = self.json.peek()?;
        if peek != Peek::Object {
            self.json.known_skip(peek)?;
        }
        Ok(peek == Peek::Object)
    }

    fn kind(&mut self, number: fn(&str) -> u64) -> JiterResult<u64> {
        match self.json.peek()? {
            Peek::String => Ok(number(self.json.known_str()?)),
            other => self.json.known_skip(other).map(|()| 0),
        }
    }

    fn text(&mut self) -> JiterResult<Text> {
        match self.json.peek()? {
            Peek::String => {
                let start = self.texts.len();
                self.texts.push_str(self.json.known_str()?);
                let end = self.texts.len();
                Ok(Some(Span { start, end }))
            }
            other => self.json.known_skip(other).map(|()| None),
        }
    }

    fn flag(&mut self) -> JiterResult<bool> {
        match self.json.peek()? {
            peek @ (Peek::True | Peek::False) => self.json.known_bool(peek),
            other => self.json.known_skip(other).map(|()| false),
        }
    }

    fn integer(&mut self) -> JiterResult<Option<u64>> {
        match self.json.peek()? {
            peek if peek.is_num() => match self.json.known_number(peek)? {
                NumberAny::Int(NumberInt::Int(value)) => Ok(u64::try_from(value).ok()),
                NumberAny::Float(_) => Ok(None),
            },
            other => self.json.known_skip(other).map(|()| None),
        }
    }

    fn float(&mut self) -> JiterResult<Option<f64>> {
        match self.json.peek()? {
            peek if peek.is_num() => self.json.known_float(peek).map(Some),
            other => self.json.known_skip(other).map(|()| None),
        }
    }

    /// Returns the length of the raw value.
    fn raw(&mut self) -> JiterResult<Option<usize>> {
        let peek = self.json.peek()?;
        let start = self.json.current_index();
        self.json.known_skip(peek)?;
        Ok((peek != Peek::Null).then(|| self.json.slice_to_current(start).len()))
    }
}
