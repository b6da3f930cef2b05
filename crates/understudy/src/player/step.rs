//! Runs one operation, and translates a step into operations.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::fiber::{Fiber, Op, OpenBlock, PlannedCall, TextStream, Wait};
use super::{Exit, Played, Player};
use crate::event::{Block, Event};
use crate::lines::{synthetic, system};
use crate::scenario::{ApiFailure, ApiRetry, Call, Many, Raw, Step, Text, WaitFor};

/// Number of characters in a delta of a tool input, as in the recordings.
const JSON_DELTA: usize = 28;

/// The prompt by which the agent continues after a truncated stream.
const CONTINUE_PROMPT: &str = "Your response above was cut off mid-stream. Resume directly from where it \
                       stops — no apology, no recap. If none of it survived, answer the request \
                       from the start.";

impl Player {
    pub(super) fn run_op(&mut self, fiber: &mut Fiber, op: Op) -> Played {
        match op {
            Op::Step(step) => return self.step(fiber, *step),
            Op::Decide(decision) => self.decide(fiber, decision),
            Op::Return(decision) => self.print_call_result(fiber, &decision),
            Op::Run => self.request_permission(fiber),
            Op::Start(calls) => self.start_calls(fiber, calls),
            Op::EndTurn => self.end_turn(fiber),
            Op::Fold if fiber.is_main() => self.fold(),
            Op::Fold => {}
            Op::Ask(text) => {
                if let Some(turn) = &mut self.turn {
                    turn.prompt = text;
                }
            }
            Op::Announce(task) => self.announce(&task),
            Op::Prompt(task) => self.prompt_agent(&task),
            Op::AgentEnd => self.agent_end(fiber),
            Op::ShellTask(task) => self.shell_task(fiber, *task),
            Op::ShellEnd => self.shell_end(fiber),
            Op::Frame(line) => self.print(&line),
            Op::Withdraw(request_id) => self.withdraw(&request_id),
            other => self.run_message_op(fiber, other),
        }
        Ok(())
    }

    fn run_message_op(&mut self, fiber: &mut Fiber, op: Op) {
        match op {
            Op::Wait(ms) => fiber.due = fiber.due.saturating_add(Duration::from_millis(ms)),
            Op::Open(block) => self.open_block(fiber, block),
            Op::Delta(piece) => self.delta(fiber, &piece),
            Op::Stream(flow) => self.stream_text(fiber, flow),
            Op::Close => self.close_block(fiber),
            Op::MessageDelta => self.message_delta(fiber),
            Op::MessageStop => self.message_stop(fiber),
            Op::Abandon(from) => {
                if let Some(open) = fiber
                    .message
                    .as_mut()
                    .and_then(|message| message.open.take())
                {
                    self.stream(
                        fiber,
                        json!({"type": "content_block_stop", "index": open.index}),
                    );
                }
                self.abandon(fiber, from);
            }
            Op::Retry {
                attempt,
                attempts,
                status,
                error,
                delay_ms,
            } => {
                let rest = json!({
                    "attempt": attempt, "max_retries": attempts.max(10),
                    "retry_delay_ms": delay_ms, "error_status": status, "error": error,
                    "session_id": self.session.id,
                });
                self.print(&system(&self.session, "api_retry", rest));
                self.emit(Event::Retry(&retry_text(status, &error)));
            }
            _ => {}
        }
    }

    fn step(&mut self, fiber: &mut Fiber, step: Step) -> Played {
        match step {
            Step::Text(text) => self.print_text(fiber, Block::Text, text),
            Step::Thinking(text) => self.print_text(fiber, Block::Thinking, text),
            Step::RedactedThinking(data) => {
                fiber.push_front([Op::Open(Block::Redacted(data)), Op::Close]);
            }
            Step::Tool(tool) => self.run_calls(fiber, vec![Call::Tool(tool)]),
            Step::Agent(agent) => self.run_calls(fiber, vec![Call::Agent(agent)]),
            Step::Parallel(calls) => self.run_calls(fiber, calls),
            Step::NewMessage(_) => fiber.push_front([Op::MessageDelta, Op::MessageStop]),
            Step::Plan(steps) => self.plan_steps(fiber, &steps),
            Step::Limits(limits) => self.limits(limits),
            Step::ApiRetry(retry) => self.api_retry(fiber, retry),
            Step::CutOff(text) => self.cut_off(fiber, &text),
            Step::Fail(failure) => self.fail_turn(fiber, &failure),
            Step::MaxTurns(limit) => self.max_turns(fiber, limit),
            Step::Raw(raw) => self.raw(raw),
            Step::Many(many) => repeat(fiber, many),
            Step::Request(request) => self.send_request(fiber, request),
            Step::DelayMs(ms) => fiber.push_front([Op::Wait(ms)]),
            Step::WaitFor(what) => self.wait_for(fiber, what),
            Step::System(fields) => self.system_line(&fields),
            Step::Notice(text) => self.notice(&text),
            Step::Clear(_) => self.clear(),
            fault => return self.inject_fault(fiber, fault),
        }
        Ok(())
    }

    /// Prints a text or thinking block delta by delta.
    fn print_text(&mut self, fiber: &mut Fiber, block: Block, text: Text) {
        let (text, delta, delta_ms) = text.parts();
        let text = self.fill(&text, None);
        let flow = TextStream {
            text,
            printed: 0,
            delta,
            delta_ms,
        };
        fiber.push_front([
            Op::Open(block),
            Op::Wait(delta_ms),
            Op::Stream(flow),
            Op::Close,
        ]);
    }

    /// Prints one delta and schedules the rest.
    fn stream_text(&mut self, fiber: &mut Fiber, mut flow: TextStream) {
        let Some(piece) = flow.next() else { return };
        self.delta(fiber, &piece);
        if !flow.is_over() {
            fiber.push_front([Op::Wait(flow.delta_ms), Op::Stream(flow)]);
        }
    }

    /// Prints one message with these calls, then runs them.
    fn run_calls(&mut self, fiber: &mut Fiber, calls: Vec<Call>) {
        let calls: Vec<PlannedCall> = calls
            .into_iter()
            .map(|call| self.plan(fiber, call))
            .collect();
        let mut ops = Vec::new();
        for call in &calls {
            let block = call.block();
            ops.push(Op::Open(block.clone()));
            ops.extend(input_deltas(&block).map(Op::Delta));
            ops.push(Op::Close);
            if let PlannedCall::Agent { task, .. } = call {
                ops.push(Op::Announce(task.clone()));
            }
        }
        ops.push(Op::MessageDelta);
        for call in &calls {
            if let PlannedCall::Agent { task, .. } = call {
                ops.push(Op::Prompt(task.clone()));
            }
        }
        ops.extend([Op::MessageStop, Op::Start(calls)]);
        fiber.push_front(ops);
    }

    fn api_retry(&mut self, fiber: &mut Fiber, retry: ApiRetry) {
        let ApiRetry {
            attempts,
            status,
            error,
            delay_ms,
            draft,
        } = retry;
        let mut ops = Vec::new();
        if fiber.message.is_some() {
            ops.extend([Op::MessageDelta, Op::MessageStop]);
        }
        // In the other dialects a draft has no mark by which a host could drop it.
        if let Some(draft) = draft.filter(|_| self.dialect.is_none()) {
            ops.push(Op::Open(Block::Text));
            ops.push(Op::Stream(TextStream {
                text: draft,
                printed: 0,
                delta: 8,
                delta_ms: 20,
            }));
            ops.push(Op::Abandon(0));
        }
        for attempt in 1..=attempts {
            let error = error.clone();
            ops.push(Op::Retry {
                attempt,
                attempts,
                status,
                error,
                delay_ms,
            });
            ops.push(Op::Wait(delay_ms));
        }
        fiber.push_front(ops);
        self.print_requesting();
    }

    fn cut_off(&mut self, fiber: &mut Fiber, text: &str) {
        let text = self.fill(text, None);
        self.open_block(fiber, Block::Text);
        for piece in pieces(&text, 8) {
            self.delta(fiber, &piece);
        }
        let next = fiber
            .message
            .as_ref()
            .map_or(0, |message| message.next_index);
        self.close_block(fiber);
        self.abandon(fiber, next);
        fiber.message = None;
        let mut line = crate::lines::user_text(&self.session, &fiber.thread, CONTINUE_PROMPT);
        line.insert("isSynthetic".to_owned(), true.into());
        self.print(&line.into());
    }

    fn fail_turn(&mut self, fiber: &mut Fiber, failure: &ApiFailure) {
        let text = self.fill(&failure.text, None);
        if let Some(PlannedCall::Agent { agent, .. }) = &mut fiber.call {
            agent.fails = Some(text);
            fiber.ops = [Op::AgentEnd].into();
            return;
        }
        self.print_requesting();
        let request_id = self.session.new_id("req");
        self.print(&synthetic(
            &self.session,
            &text,
            &failure.error,
            failure.status,
            &request_id,
        ));
        if let Some(turn) = &mut self.turn {
            turn.end_failed(failure.status, text);
        }
        skip_to_end(fiber);
    }

    fn max_turns(&mut self, fiber: &mut Fiber, limit: u64) {
        if let Some(turn) = self.turn.as_mut().filter(|_| fiber.is_main()) {
            turn.end_at_limit(limit);
            skip_to_end(fiber);
        }
    }

    fn raw(&self, raw: Raw) {
        let line = match raw {
            Raw::Line(line) => self.fill(&line, None),
            Raw::Json(value) => self.fill_value(&value, None).to_string(),
        };
        self.output.write(format!("{line}\n").into_bytes());
    }

    fn system_line(&self, fields: &Map<String, Value>) {
        let mut fields = self.fill_map(fields, None);
        let subtype = fields.shift_remove("subtype").unwrap_or_default();
        let subtype = subtype.as_str().unwrap_or("informational");
        self.print(&system(&self.session, subtype, fields.into()));
    }

    fn notice(&mut self, text: &str) {
        let text = self.fill(text, None);
        let rest = json!({"content": text, "level": "info"});
        self.print(&system(&self.session, "informational", rest));
        self.emit(Event::Notice(&text));
    }

    fn wait_for(&self, fiber: &mut Fiber, what: WaitFor) {
        let met = match what {
            WaitFor::Eof => self.eof,
            WaitFor::Prompt => !self.queue.is_empty() || self.was_joined(),
            WaitFor::Interrupt | WaitFor::Control(_) => false,
        };
        if !met {
            fiber.wait = Wait::Host(what);
        }
    }

    /// Ends the process immediately.
    pub(super) fn quit(code: u8) -> Played {
        Err(Exit::Code(code))
    }
}

fn retry_text(status: Option<u16>, error: &str) -> String {
    match status {
        Some(status) => format!("{status} {error}"),
        None => format!("connection lost: {error}"),
    }
}

/// Replaces the remaining operations by the end of the open message and of the turn.
fn skip_to_end(fiber: &mut Fiber) {
    fiber.ops.clear();
    if fiber.message.is_some() {
        fiber.ops.extend([Op::MessageDelta, Op::MessageStop]);
    }
    fiber.ops.push_back(Op::EndTurn);
}

fn repeat(fiber: &mut Fiber, many: Many) {
    let Many { times, steps } = many;
    if let Some(left) = times.checked_sub(1) {
        let again = Step::Many(Many {
            times: left,
            steps: steps.clone(),
        });
        fiber.push_front(steps.into_iter().chain([again]).map(Op::step));
    }
}

/// Splits a text into pieces of this many characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = String> + use<'_> {
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let piece: String = rest.by_ref().take(size.max(1)).collect();
        (!piece.is_empty()).then_some(piece)
    })
}

/// Splits a tool input as the API streams it: an empty delta, then the JSON.
fn input_deltas(block: &Block) -> impl Iterator<Item = String> + use<> {
    let json = match block {
        Block::Call { input, .. } => Value::from(input.clone()).to_string(),
        _ => String::new(),
    };
    let parts: Vec<String> = pieces(&json, JSON_DELTA).collect();
    std::iter::once(String::new()).chain(parts)
}

/// Returns the block of a `torn` line.
pub(super) fn torn_block(text: String) -> OpenBlock {
    OpenBlock {
        index: 0,
        block: Block::Text,
        text,
    }
}
