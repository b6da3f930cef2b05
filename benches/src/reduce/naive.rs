//! A naive reducer: borrowed structs filled by `serde_json`, a map of owned strings for everything
//! with an id, and a `String` per block.
//!
//! It does not handle repeated lines, missing beginnings, states, tasks, permissions or changes.

use std::collections::HashMap;

use serde_json::value::RawValue;

use super::Outcome;
use crate::contenders::typed::{self, Content, Line, str};

/// The naive reducer.
#[derive(Debug, Default)]
pub struct NaiveReducer {
    messages: HashMap<String, Message>,
    calls: HashMap<String, Call>,
    /// The streaming message, by the tool use of its thread; empty for the main thread.
    streams: HashMap<String, String>,
    results: Vec<TurnEnd>,
    tokens: [u64; 4],
    cost: f64,
}

#[derive(Debug, Default)]
struct Message {
    model: String,
    parent: String,
    blocks: Vec<Block>,
    /// Number of blocks that arrived as lines of their own.
    finished: usize,
}

#[derive(Debug)]
enum Block {
    Text(String),
    Thinking(String),
    Call { id: String },
    Other,
}

#[derive(Debug, Default)]
struct Call {
    name: String,
    input: String,
    result: Option<(String, bool)>,
}

#[derive(Debug)]
struct TurnEnd {
    subtype: String,
    text: String,
}

type Raw<'a> = &'a RawValue;

impl NaiveReducer {
    /// Parses and applies the next line.
    ///
    /// # Errors
    ///
    /// Fails on a line that `serde_json` refuses.
    pub fn take(&mut self, line: &[u8]) -> serde_json::Result<()> {
        let line: Line<'_, Raw<'_>> = serde_json::from_slice(line)?;
        let thread = str(&line.parent_tool_use_id).unwrap_or_default();
        let (event, message) = (line.event.as_ref(), line.message.as_ref());
        match (str(&line.kind).unwrap_or_default(), event, message) {
            ("stream_event", Some(event), _) => self.stream(thread, event),
            ("assistant", _, Some(message)) => self.assistant(thread, message),
            ("user", _, Some(message)) => {
                if let Some(Content::Blocks(blocks)) = &message.content {
                    blocks.iter().for_each(|block| self.tool_result(block));
                }
            }
            ("result", ..) => self.result(&line),
            _ => {}
        }
        Ok(())
    }

    fn stream(&mut self, thread: &str, event: &typed::Event<'_, Raw<'_>>) {
        match str(&event.kind).unwrap_or_default() {
            "message_start" => {
                if let Some(message) = &event.message {
                    let id = str(&message.id).unwrap_or_default();
                    self.streams.insert(thread.into(), id.into());
                    self.message(thread, id, message);
                }
            }
            "content_block_start" => {
                if let Some(block) = &event.content_block {
                    let block = self.block(block);
                    let id = self.streams.get(thread);
                    if let Some(message) = id.and_then(|id| self.messages.get_mut(id)) {
                        message.blocks.push(block);
                    }
                }
            }
            "content_block_delta" => {
                if let Some(delta) = &event.delta {
                    self.delta(thread, event.index.unwrap_or_default() as usize, delta);
                }
            }
            _ => {}
        }
    }

    fn delta(&mut self, thread: &str, index: usize, delta: &typed::Delta<'_>) {
        let more = [&delta.text, &delta.thinking, &delta.partial_json];
        let Some(more) = more.into_iter().find_map(str) else {
            return;
        };
        let id = self.streams.get(thread);
        let message = id.and_then(|id| self.messages.get_mut(id));
        match message.and_then(|it| it.blocks.get_mut(index)) {
            Some(Block::Text(text) | Block::Thinking(text)) => text.push_str(more),
            Some(Block::Call { id }) => {
                if let Some(call) = self.calls.get_mut(id) {
                    call.input.push_str(more);
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, thread: &str, id: &str, source: &typed::Message<'_, Raw<'_>>) {
        let message = self.messages.entry(id.into()).or_default();
        message.model = str(&source.model).unwrap_or_default().into();
        message.parent = thread.into();
    }

    fn assistant(&mut self, thread: &str, source: &typed::Message<'_, Raw<'_>>) {
        let id = str(&source.id).unwrap_or_default();
        self.message(thread, id, source);
        let Some(Content::Blocks(blocks)) = &source.content else {
            return;
        };
        for block in blocks {
            let block = self.block(block);
            let message = self.messages.entry(id.into()).or_default();
            match message.blocks.get_mut(message.finished) {
                Some(draft) => *draft = block,
                None => message.blocks.push(block),
            }
            message.finished += 1;
        }
    }

    fn block(&mut self, source: &typed::Block<'_, Raw<'_>>) -> Block {
        match str(&source.kind).unwrap_or_default() {
            "text" => Block::Text(str(&source.text).unwrap_or_default().into()),
            "thinking" => Block::Thinking(str(&source.thinking).unwrap_or_default().into()),
            "tool_use" => {
                let id = str(&source.id).unwrap_or_default();
                let call = self.calls.entry(id.into()).or_default();
                call.name = str(&source.name).unwrap_or_default().into();
                // A draft begins with an empty input, to which its parts are appended.
                let input = source.input.map_or("", RawValue::get);
                call.input = if input == "{}" { "" } else { input }.into();
                Block::Call { id: id.into() }
            }
            _ => Block::Other,
        }
    }

    fn tool_result(&mut self, source: &typed::Block<'_, Raw<'_>>) {
        let id = str(&source.tool_use_id).unwrap_or_default();
        let Some(call) = self.calls.get_mut(id) else {
            return;
        };
        let text = match &source.content {
            Some(Content::Text(text)) => text.clone().into_owned(),
            Some(Content::Blocks(parts)) => {
                parts.iter().filter_map(|part| str(&part.text)).collect()
            }
            None => String::new(),
        };
        call.result = Some((text, source.is_error.unwrap_or_default()));
    }

    fn result(&mut self, line: &Line<'_, Raw<'_>>) {
        self.results.push(TurnEnd {
            subtype: str(&line.subtype).unwrap_or_default().into(),
            text: str(&line.result).unwrap_or_default().into(),
        });
        self.cost = self.cost.max(line.total_cost_usd.unwrap_or_default());
        if let Some(usage) = &line.usage {
            let counts = [
                usage.input_tokens,
                usage.output_tokens,
                usage.cache_read_input_tokens,
                usage.cache_creation_input_tokens,
            ];
            for (sum, count) in self.tokens.iter_mut().zip(counts) {
                *sum += count.unwrap_or_default();
            }
        }
    }

    /// Returns the outcome.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let mut outcome = Outcome {
            messages: self.messages.len() as u64,
            cost: self.cost,
            ..Outcome::default()
        };
        for (id, message) in &self.messages {
            for (at, block) in message.blocks.iter().enumerate() {
                self.add(&mut outcome, id, at, block);
            }
        }
        for result in &self.results {
            outcome.result(&result.subtype, &result.text);
        }
        outcome
    }

    fn add(&self, outcome: &mut Outcome, message: &str, at: usize, block: &Block) {
        match block {
            Block::Text(text) | Block::Thinking(text) => outcome.text(message, at, text),
            Block::Call { id } => {
                if let Some(call) = self.calls.get(id) {
                    let result = call.result.as_ref();
                    let result = result.map(|(text, is_error)| (text.as_str(), *is_error));
                    outcome.call([id, &call.name, &call.input], result);
                }
            }
            Block::Other => {}
        }
    }
}
