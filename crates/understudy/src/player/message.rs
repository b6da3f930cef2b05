//! Prints blocks and messages: stream events with partial messages, and a line for each block.

use serde_json::{Value, json};

use super::Player;
use super::fiber::{Fiber, Message, OpenBlock};
use crate::event::{Block, Event};
use crate::lines::{
    MessageIds, assistant, blocks_usage, progress, stream_event, system, user_text,
};
use crate::session::Tokens;

/// Signature of every thinking block; opaque to hosts.
const SIGNATURE: &str = "dW5kZXJzdHVkeQ==";

/// Input tokens of a first message, on the main thread and in a sub-agent, as in the recordings.
const BASE_TOKENS: (u64, u64) = (12_300, 8_200);

impl Player {
    pub(super) fn open_block(&mut self, fiber: &mut Fiber, block: Block) {
        if fiber.message.is_none() {
            self.open_message(fiber);
        }
        let Some(message) = &mut fiber.message else {
            return;
        };
        let index = message.next_index;
        message.next_index += 1;
        message.ends_in_call = matches!(block, Block::Call { .. });
        let event = json!({
            "type": "content_block_start", "index": index, "content_block": empty_block(&block),
        });
        message.open = Some(OpenBlock {
            index,
            block,
            text: String::new(),
        });
        self.stream(fiber, event);
        if let Some(part) = fiber.part() {
            self.emit(Event::BlockOpened(part));
        }
    }

    fn open_message(&mut self, fiber: &mut Fiber) {
        let id = self.session.new_id("msg");
        let request_id = self.session.new_id("req");
        let base = if fiber.is_main() {
            BASE_TOKENS.0
        } else {
            BASE_TOKENS.1
        };
        let input_tokens = base + fiber.tokens;
        let model = self.session.model.clone();
        let line = MessageIds {
            message_id: id.clone(),
            request_id,
            model: model.clone(),
            input_tokens,
        };
        fiber.message = Some(Message {
            line,
            next_index: 0,
            open: None,
            output_tokens: 0,
            thinking_tokens: 0,
            ends_in_call: false,
        });
        if !fiber.is_main() {
            return;
        }
        self.print_requesting();
        if let Some(turn) = &mut self.turn {
            turn.requested = false;
            turn.begun.push(id.clone());
        }
        let usage = blocks_usage(Tokens {
            input: input_tokens,
            output: 1,
            thinking: 0,
        });
        let event = json!({"type": "message_start", "message": {
            "id": id, "type": "message", "role": "assistant", "model": model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage,
        }});
        self.stream(fiber, event);
    }

    /// Prints `system/status requesting` once before each API request, with partial messages.
    pub(super) fn print_requesting(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        if self.session.partials && !turn.requested {
            turn.requested = true;
            let rest = json!({"status": "requesting", "session_id": self.session.id});
            let line = system(&self.session, "status", rest);
            self.print(&line);
        }
    }

    pub(super) fn delta(&mut self, fiber: &mut Fiber, piece: &str) {
        let main = fiber.is_main();
        let Some(message) = &mut fiber.message else {
            return;
        };
        let Some(open) = &mut message.open else {
            return;
        };
        open.text.push_str(piece);
        let index = open.index;
        let delta = match open.block {
            Block::Text => json!({"type": "text_delta", "text": piece}),
            Block::Thinking => json!({"type": "thinking_delta", "thinking": piece}),
            Block::Call { .. } => json!({"type": "input_json_delta", "partial_json": piece}),
            Block::Redacted(_) => return,
        };
        if matches!(open.block, Block::Thinking) && main {
            let step = tokens_of(piece);
            message.thinking_tokens += step;
            let rest = json!({
                "estimated_tokens": message.thinking_tokens, "estimated_tokens_delta": step,
                "session_id": self.session.id,
            });
            self.print(&system(&self.session, "thinking_tokens", rest));
        }
        let event = json!({"type": "content_block_delta", "index": index, "delta": delta});
        self.stream(fiber, event);
        if let Some(part) = fiber.part() {
            self.emit(Event::Delta(part, piece));
        }
    }

    /// Ends a block. The agent prints the assistant line before the `content_block_stop`.
    pub(super) fn close_block(&mut self, fiber: &mut Fiber) {
        if let (Some(part), Some(text)) = (fiber.part(), fiber.open_text()) {
            self.emit(Event::BlockClosed(part, text));
        }
        let Some(message) = &mut fiber.message else {
            return;
        };
        let Some(open) = message.open.take() else {
            return;
        };
        message.output_tokens += tokens_of(&open.text);
        if matches!(open.block, Block::Thinking) {
            let delta = json!({"type": "signature_delta", "signature": SIGNATURE});
            let event = json!({"type": "content_block_delta", "index": open.index, "delta": delta});
            self.stream(fiber, event);
        }
        self.print_block(fiber, &open, false);
        let event = json!({"type": "content_block_stop", "index": open.index});
        self.stream(fiber, event);
    }

    /// Prints the assistant line of a block, if blocks of this thread are printed.
    pub(super) fn print_block(&mut self, fiber: &mut Fiber, open: &OpenBlock, aborted: bool) {
        let Some(message) = &fiber.message else {
            return;
        };
        let line = message.line.clone();
        if matches!(open.block, Block::Text) {
            fiber.last_text.clone_from(&open.text);
        }
        let call = match &open.block {
            Block::Call { name, input, .. } => Some((name.clone(), describe(name, input))),
            _ => None,
        };
        let late = fiber
            .thread
            .task
            .as_ref()
            .is_some_and(|task| task.background);
        if !late {
            self.report_progress(fiber, call.as_ref());
        }
        let is_printed = if call.is_some() {
            fiber.thread.prints_calls
        } else {
            fiber.thread.prints_text
        };
        if is_printed {
            let prompts = self.first_answer(fiber);
            let block = finished_block(open);
            let mut map = assistant(&self.session, &fiber.thread, &line, &block, &prompts);
            if aborted {
                map.insert("aborted".to_owned(), true.into());
            }
            self.print(&map.into());
        }
        if late {
            self.report_progress(fiber, call.as_ref());
        }
    }

    fn report_progress(&mut self, fiber: &mut Fiber, call: Option<&(String, String)>) {
        let (Some((name, doing)), Some(task)) = (call, &fiber.thread.task) else {
            return;
        };
        fiber.tool_uses += 1;
        let usage = self.task_usage(fiber);
        self.print(&progress(&self.session, task, doing, name, usage));
    }

    pub(super) fn task_usage(&self, fiber: &Fiber) -> Value {
        json!({
            "total_tokens": BASE_TOKENS.1 + fiber.tokens,
            "tool_uses": fiber.tool_uses,
            "duration_ms": super::turn::millis(self.now),
        })
    }

    /// Returns the prompt uuids for the first assistant line of a turn; later lines have none.
    fn first_answer(&mut self, fiber: &Fiber) -> Vec<String> {
        match &mut self.turn {
            Some(turn) if fiber.is_main() && !turn.answered => {
                turn.answered = true;
                turn.prompts.clone()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn message_delta(&mut self, fiber: &mut Fiber) {
        let Some(message) = &mut fiber.message else {
            return;
        };
        let tokens = Tokens {
            input: message.line.input_tokens,
            output: message.output_tokens.max(1),
            thinking: message.thinking_tokens,
        };
        let reason = if message.ends_in_call {
            "tool_use"
        } else {
            "end_turn"
        };
        fiber.tokens += tokens.output + 80;
        self.session.usage.add(tokens);
        if let Some(turn) = self.turn.as_mut().filter(|_| fiber.is_main()) {
            turn.tokens.add(tokens);
            turn.messages += 1;
            turn.stop_reason = reason.into();
        }
        let event = json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": blocks_usage(tokens),
        });
        self.stream(fiber, event);
        self.emit(Event::Usage(&fiber.thread, tokens));
    }

    pub(super) fn message_stop(&self, fiber: &mut Fiber) {
        self.stream(fiber, json!({"type": "message_stop"}));
        fiber.message = None;
    }

    /// Prints the `message_stop` of a draft whose blocks from `index` on have no assistant line.
    pub(super) fn abandon(&self, fiber: &mut Fiber, index: usize) {
        let Some(message) = fiber.message.take() else {
            return;
        };
        if !self.session.partials || !fiber.is_main() {
            return;
        }
        let id = &message.line.message_id;
        let event = json!({"type": "message_stop"});
        let mut map = stream_event(&self.session, event, id, &[]);
        let abandoned = json!({"api_message_id": id, "from_block_index": index});
        map.insert("abandoned_blocks".to_owned(), abandoned);
        self.print(&map.into());
    }

    /// Ends a truncated message with the events that the agent generates.
    pub(super) fn end_truncated(&self, fiber: &mut Fiber, from: usize) {
        let Some(message) = &mut fiber.message else {
            return;
        };
        let input = message.line.input_tokens;
        if let Some(open) = message.open.take() {
            self.stream(
                fiber,
                json!({"type": "content_block_stop", "index": open.index}),
            );
        }
        self.stream(
            fiber,
            json!({
                "type": "message_delta", "context_management": null,
                "delta": {
                    "container": null, "stop_details": null, "stop_reason": null,
                    "stop_sequence": null,
                },
                "usage": {
                    "output_tokens_details": {"thinking_tokens": 0},
                    "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                    "input_tokens": input, "iterations": [], "output_tokens": 1,
                    "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
                    "fallback_credit": null,
                },
            }),
        );
        self.abandon(fiber, from);
    }

    /// Prints a marker such as `[Request interrupted by user]`.
    pub(super) fn mark(&self, fiber: &Fiber, text: &str) {
        self.print(&user_text(&self.session, &fiber.thread, text).into());
    }

    /// Prints a stream event; only the main thread has them.
    pub(super) fn stream(&self, fiber: &Fiber, event: Value) {
        let Some(message) = &fiber.message else {
            return;
        };
        if self.session.partials && fiber.is_main() {
            let prompts = match &self.turn {
                Some(turn) if event["type"] == "message_start" && turn.begun.len() == 1 => {
                    turn.prompts.as_slice()
                }
                _ => &[],
            };
            let map = stream_event(&self.session, event, &message.line.message_id, prompts);
            self.print(&map.into());
        }
    }
}

fn empty_block(block: &Block) -> Value {
    match block {
        Block::Text => json!({"type": "text", "text": ""}),
        Block::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Block::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        Block::Call { id, name, .. } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": {}})
        }
    }
}

fn finished_block(open: &OpenBlock) -> Value {
    match &open.block {
        Block::Text => json!({"type": "text", "text": open.text}),
        Block::Thinking => {
            json!({"type": "thinking", "thinking": open.text, "signature": SIGNATURE})
        }
        Block::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        Block::Call { id, name, input } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

/// Returns the description of a call in `task_progress`.
fn describe(name: &str, input: &serde_json::Map<String, Value>) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str).unwrap_or_default();
    let file = || {
        text("file_path")
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    match name {
        "Bash" => format!(
            "Running {}",
            first_nonempty(text("description"), text("command"))
        ),
        "Read" => format!("Reading {}", file()),
        "Edit" | "Write" => format!("Writing {}", file()),
        "Agent" => text("description").to_owned(),
        other => format!("Using {other}"),
    }
}

fn first_nonempty<'a>(one: &'a str, other: &'a str) -> &'a str {
    if one.is_empty() { other } else { one }
}

/// Estimates four characters for a token.
fn tokens_of(text: &str) -> u64 {
    u64::try_from(text.len() / 4 + usize::from(!text.is_empty())).unwrap_or(u64::MAX)
}
