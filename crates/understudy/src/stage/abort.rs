//! The running turn is cut: by an interrupt, by a denial, by a signal.

use serde_json::Value;

use super::Stage;
use super::outcome::{killed, stopped};
use super::track::{Block, Job, Track};
use crate::frames::{Ending, Speaker};

impl Stage {
    /// Ends the running turn as an interrupt does (protocol.md B.6). The receipt, if any, has been
    /// printed. `denied`: a denial asked for it, so that its tool result is out already.
    pub(super) fn abort(&mut self, denied: bool) {
        let Some(turn) = self.turn.take() else { return };
        let calls = self.open_calls(turn.track);
        let Some(mut track) = self.tracks.remove(&turn.track) else {
            return;
        };
        let streaming = track
            .message
            .as_ref()
            .is_some_and(|message| message.open.is_some());
        let tools = denied || !streaming && !calls.is_empty();
        if streaming {
            self.cut_speech(&mut track);
        } else {
            self.stop_calls(&track.speaker, &calls);
            let note = if tools { " for tool use" } else { "" };
            self.mark(&track, &format!("[Request interrupted by user{note}]"));
            self.close_message(&mut track);
        }
        self.drop_children(track.id);
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
        let ending = Ending {
            subtype: "error_during_execution".to_owned(),
            is_error: true,
            terminal_reason: Some(reason.to_owned()),
            stop_reason,
            errors: vec![note],
            num_turns: turn.messages + if tools { 2 } else { 1 },
            ..self.blank_ending(&turn)
        };
        self.close_turn(turn, ending, true);
    }

    /// What was being said, as far as it came, and the end of its message.
    fn cut_speech(&mut self, track: &mut Track) {
        let Some(mut message) = track.message.take() else {
            return;
        };
        let open = message.open.take();
        let said = open.as_ref().filter(|open| {
            !open.text.is_empty() && matches!(open.block, Block::Text | Block::Thinking)
        });
        let from = open
            .as_ref()
            .map_or(0, |open| open.index + usize::from(said.is_some()));
        track.message = Some(message);
        if let Some(open) = said {
            self.speak(track, open, true);
        }
        self.mark(track, "[Request interrupted by user]");
        if let Some(message) = &mut track.message {
            message.open = open;
        }
        self.cut_message(track, from);
    }

    fn close_message(&self, track: &mut Track) {
        let next = track.message.as_ref().map(|message| message.next_index);
        if let Some(next) = next {
            self.cut_message(track, next);
        }
    }

    fn open_calls(&self, parent: u64) -> Vec<Job> {
        let children = self
            .tracks
            .values()
            .filter(|track| track.parent == Some(parent));
        let open = children.filter(|track| track.is_open_call());
        open.filter_map(|track| track.call.clone()).collect()
    }

    fn stop_calls(&mut self, speaker: &Speaker, calls: &[Job]) {
        for call in calls {
            if let Job::Agent { card, .. } = call {
                self.stopped_card(card);
            }
            self.print_result(speaker, &stopped(call.id()));
        }
    }

    /// What SIGTERM leaves behind in a tool: one result, no end of the turn.
    pub(super) fn kill_calls(&mut self) {
        let Some(track) = self.turn.as_ref().map(|turn| turn.track) else {
            return;
        };
        for call in self.open_calls(track) {
            self.print_result(&Speaker::main(), &killed(call.id()));
        }
    }

    pub(super) fn drop_children(&mut self, parent: u64) {
        let children: Vec<u64> = self
            .tracks
            .values()
            .filter(|track| track.parent == Some(parent))
            .map(|track| track.id)
            .collect();
        for child in children {
            self.drop_children(child);
            self.tracks.remove(&child);
            self.asks.retain(|_, (track, _)| *track != child);
        }
    }
}
