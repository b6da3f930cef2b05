//! Blocks and messages: streamed when partial messages are on, then one assistant line a block.

use serde_json::{Value, json};

use super::Stage;
use super::track::{Block, Message, OpenBlock, Track};
use crate::frames::{Line, assistant, blocks_usage, progress, stream_event, system, user_text};
use crate::session::Tokens;

/// Signature of every thinking block; opaque to hosts.
const SIGNATURE: &str = "dW5kZXJzdHVkeQ==";

/// Input tokens of a first message on the main thread and in a sub-agent, as in the recordings.
const BASE_TOKENS: (u64, u64) = (12_300, 8_200);

impl Stage {
    pub(super) fn open_block(&mut self, track: &mut Track, block: Block) {
        if track.message.is_none() {
            self.open_message(track);
        }
        let Some(message) = &mut track.message else {
            return;
        };
        let index = message.next_index;
        message.next_index += 1;
        message.ends_in_call = matches!(block, Block::Call { .. });
        let event = json!({
            "type": "content_block_start", "index": index, "content_block": blank(&block),
        });
        message.open = Some(OpenBlock {
            index,
            block,
            text: String::new(),
        });
        self.stream(track, event);
    }

    fn open_message(&mut self, track: &mut Track) {
        let id = self.session.fresh("msg");
        let request_id = self.session.fresh("req");
        let base = if track.is_main() {
            BASE_TOKENS.0
        } else {
            BASE_TOKENS.1
        };
        let input_tokens = base + track.tokens;
        let model = self.session.model.clone();
        let line = Line {
            message_id: id.clone(),
            request_id,
            model: model.clone(),
            input_tokens,
        };
        track.message = Some(Message {
            line,
            next_index: 0,
            open: None,
            output_tokens: 0,
            thinking_tokens: 0,
            ends_in_call: false,
        });
        if !track.is_main() {
            return;
        }
        self.request();
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
        self.stream(track, event);
    }

    /// `system/status requesting`, once before each API call, if partial messages are on.
    pub(super) fn request(&mut self) {
        let Some(turn) = &mut self.turn else { return };
        if self.session.partials && !turn.requested {
            turn.requested = true;
            let rest = json!({"status": "requesting", "session_id": self.session.id});
            let frame = system(&self.session, "status", rest);
            self.print(&frame);
        }
    }

    pub(super) fn delta(&mut self, track: &mut Track, piece: &str) {
        let main = track.is_main();
        let Some(message) = &mut track.message else {
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
        self.stream(track, event);
    }

    /// The assistant line comes before the block's own stop (protocol.md A.8).
    pub(super) fn close_block(&mut self, track: &mut Track) {
        let Some(message) = &mut track.message else {
            return;
        };
        let Some(open) = message.open.take() else {
            return;
        };
        message.output_tokens += tokens_of(&open.text);
        if matches!(open.block, Block::Thinking) {
            let delta = json!({"type": "signature_delta", "signature": SIGNATURE});
            let event = json!({"type": "content_block_delta", "index": open.index, "delta": delta});
            self.stream(track, event);
        }
        self.speak(track, &open, false);
        let event = json!({"type": "content_block_stop", "index": open.index});
        self.stream(track, event);
    }

    /// Prints the assistant line of a block, if this speaker is heard.
    pub(super) fn speak(&mut self, track: &mut Track, open: &OpenBlock, aborted: bool) {
        let Some(message) = &track.message else {
            return;
        };
        let line = message.line.clone();
        if matches!(open.block, Block::Text) {
            track.last_text.clone_from(&open.text);
        }
        let call = match &open.block {
            Block::Call { name, input, .. } => Some((name.clone(), describe(name, input))),
            _ => None,
        };
        let late = track
            .speaker
            .card
            .as_ref()
            .is_some_and(|card| card.background);
        if !late {
            self.report_progress(track, call.as_ref());
        }
        let loud = if call.is_some() {
            track.speaker.seen
        } else {
            track.speaker.heard
        };
        if loud {
            let prompts = self.first_answer(track);
            let block = finished(open);
            let mut map = assistant(&self.session, &track.speaker, &line, &block, &prompts);
            if aborted {
                map.insert("aborted".to_owned(), true.into());
            }
            self.print(&map.into());
        }
        if late {
            self.report_progress(track, call.as_ref());
        }
    }

    fn report_progress(&mut self, track: &mut Track, call: Option<&(String, String)>) {
        let (Some((name, doing)), Some(card)) = (call, &track.speaker.card) else {
            return;
        };
        track.tool_uses += 1;
        let usage = self.task_usage(track);
        self.print(&progress(&self.session, card, doing, name, usage));
    }

    pub(super) fn task_usage(&self, track: &Track) -> Value {
        json!({
            "total_tokens": BASE_TOKENS.1 + track.tokens,
            "tool_uses": track.tool_uses,
            "duration_ms": super::turn::millis(self.now),
        })
    }

    /// Uuids for the first assistant line of a turn; later lines carry none.
    fn first_answer(&mut self, track: &Track) -> Vec<String> {
        match &mut self.turn {
            Some(turn) if track.is_main() && !turn.answered => {
                turn.answered = true;
                turn.prompts.clone()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn message_delta(&mut self, track: &mut Track) {
        let Some(message) = &mut track.message else {
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
        track.tokens += tokens.output + 80;
        self.session.ledger.book(tokens);
        if let Some(turn) = self.turn.as_mut().filter(|_| track.is_main()) {
            turn.tokens.add(tokens);
            turn.messages += 1;
            turn.stop_reason = reason.into();
        }
        let event = json!({
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": null},
            "usage": blocks_usage(tokens),
        });
        self.stream(track, event);
    }

    pub(super) fn message_stop(&self, track: &mut Track) {
        self.stream(track, json!({"type": "message_stop"}));
        track.message = None;
    }

    /// `message_stop` of a draft whose blocks from `index` on have no assistant line.
    pub(super) fn abandon(&self, track: &mut Track, index: usize) {
        let Some(message) = track.message.take() else {
            return;
        };
        if !self.session.partials || !track.is_main() {
            return;
        }
        let id = &message.line.message_id;
        let event = json!({"type": "message_stop"});
        let mut map = stream_event(&self.session, event, id, &[]);
        let abandoned = json!({"api_message_id": id, "from_block_index": index});
        map.insert("abandoned_blocks".to_owned(), abandoned);
        self.print(&map.into());
    }

    /// The end of a block and message that were cut: made by the agent, not by the API.
    pub(super) fn cut_message(&self, track: &mut Track, from: usize) {
        let Some(message) = &mut track.message else {
            return;
        };
        let input = message.line.input_tokens;
        if let Some(open) = message.open.take() {
            self.stream(
                track,
                json!({"type": "content_block_stop", "index": open.index}),
            );
        }
        self.stream(
            track,
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
        self.abandon(track, from);
    }

    /// Prints a marker such as `[Request interrupted by user]`.
    pub(super) fn mark(&self, track: &Track, text: &str) {
        self.print(&user_text(&self.session, &track.speaker, text).into());
    }

    /// A stream event; only the main thread has them (observed.md 16).
    pub(super) fn stream(&self, track: &Track, event: Value) {
        let Some(message) = &track.message else {
            return;
        };
        if self.session.partials && track.is_main() {
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

fn blank(block: &Block) -> Value {
    match block {
        Block::Text => json!({"type": "text", "text": ""}),
        Block::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
        Block::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        Block::Call { id, name, .. } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": {}})
        }
    }
}

fn finished(open: &OpenBlock) -> Value {
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

/// What `task_progress` says about a call.
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
        "Bash" => format!("Running {}", first(text("description"), text("command"))),
        "Read" => format!("Reading {}", file()),
        "Edit" | "Write" => format!("Writing {}", file()),
        "Agent" => text("description").to_owned(),
        other => format!("Using {other}"),
    }
}

fn first<'a>(one: &'a str, other: &'a str) -> &'a str {
    if one.is_empty() { other } else { one }
}

/// About four characters a token.
fn tokens_of(text: &str) -> u64 {
    u64::try_from(text.len() / 4 + usize::from(!text.is_empty())).unwrap_or(u64::MAX)
}
