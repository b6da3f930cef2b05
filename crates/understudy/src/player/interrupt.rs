//! Ends the running turn early: an interrupt, a denial, a signal.

use serde_json::Value;

use super::Player;
use super::fiber::{Fiber, PlannedCall};
use super::tool_result::{killed, stopped};
use crate::event::Block;
use crate::lines::{AgentThread, TurnEnd};

impl Player {
    /// Ends the running turn as the agent does after an interrupt. With `denied`, a denied permission
    /// request has caused it, and the tool result was printed already.
    pub(super) fn abort(&mut self, denied: bool) {
        let Some(turn) = self.turn.take() else { return };
        let calls = self.open_calls(turn.fiber);
        let Some(mut fiber) = self.fibers.remove(&turn.fiber) else {
            return;
        };
        let streaming = fiber
            .message
            .as_ref()
            .is_some_and(|message| message.open.is_some());
        let tools = denied || !streaming && !calls.is_empty();
        if streaming {
            self.abort_message(&mut fiber);
        } else {
            self.stop_calls(&fiber.thread, &calls);
            let note = if tools { " for tool use" } else { "" };
            self.mark(&fiber, &format!("[Request interrupted by user{note}]"));
            self.close_message(&mut fiber);
        }
        self.drop_children(fiber.id);
        let reason = if tools {
            "aborted_tools"
        } else {
            "aborted_streaming"
        };
        let stop_reason = if tools {
            "tool_use".into()
        } else {
            Value::Null
        };
        let note = format!(
            "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={}",
            stop_reason.as_str().unwrap_or("null")
        );
        let end = TurnEnd {
            subtype: "error_during_execution".to_owned(),
            is_error: true,
            terminal_reason: Some(reason.to_owned()),
            stop_reason,
            errors: vec![note],
            num_turns: turn.messages + if tools { 2 } else { 1 },
            ..self.empty_end(&turn)
        };
        self.close_turn(turn, end, true);
    }

    /// Prints the streamed part of a block, and the end of its message.
    fn abort_message(&mut self, fiber: &mut Fiber) {
        let Some(mut message) = fiber.message.take() else {
            return;
        };
        let open = message.open.take();
        let partial = open.as_ref().filter(|open| {
            !open.text.is_empty() && matches!(open.block, Block::Text | Block::Thinking)
        });
        let from = open
            .as_ref()
            .map_or(0, |open| open.index + usize::from(partial.is_some()));
        fiber.message = Some(message);
        if let Some(open) = partial {
            self.print_block(fiber, open, true);
        }
        self.mark(fiber, "[Request interrupted by user]");
        if let Some(message) = &mut fiber.message {
            message.open = open;
        }
        self.end_truncated(fiber, from);
    }

    fn close_message(&self, fiber: &mut Fiber) {
        let next = fiber.message.as_ref().map(|message| message.next_index);
        if let Some(next) = next {
            self.end_truncated(fiber, next);
        }
    }

    fn open_calls(&self, parent: u64) -> Vec<PlannedCall> {
        let children = self
            .fibers
            .values()
            .filter(|fiber| fiber.parent == Some(parent));
        let open = children.filter(|fiber| fiber.is_open_call());
        open.filter_map(|fiber| fiber.call.clone()).collect()
    }

    fn stop_calls(&mut self, thread: &AgentThread, calls: &[PlannedCall]) {
        for call in calls {
            if let PlannedCall::Agent { task, .. } = call {
                self.print_stopped(task);
            }
            self.print_result(thread, &stopped(call.id()));
        }
    }

    /// Prints the results of the calls that SIGTERM kills; the turn has no end.
    pub(super) fn kill_calls(&mut self) {
        let Some(fiber) = self.turn.as_ref().map(|turn| turn.fiber) else {
            return;
        };
        for call in self.open_calls(fiber) {
            self.print_result(&AgentThread::main(), &killed(call.id()));
        }
    }

    pub(super) fn drop_children(&mut self, parent: u64) {
        let children: Vec<u64> = self
            .fibers
            .values()
            .filter(|fiber| fiber.parent == Some(parent))
            .map(|fiber| fiber.id)
            .collect();
        for child in children {
            self.drop_children(child);
            self.fibers.remove(&child);
            self.open_requests.retain(|_, (fiber, _)| *fiber != child);
        }
    }
}
