//! What came before a session: a past conversation, or the output of an agent that another host
//! started. Both are folded by the code that folds live output.

use std::sync::Arc;

use bowline_jsonl::Framer;
use bytes::Bytes;

#[cfg(test)]
use super::input::Limits;
use super::replay::Replay;
use super::{LinePurpose, Machine, Output};
use crate::permission::RequestState;

impl Machine {
    /// Sets the wall clock at the first input, in milliseconds since 1970.
    pub(crate) const fn set_epoch(&mut self, epoch_ms: u64) {
        self.epoch_ms = epoch_ms;
    }

    /// Folds a past conversation, before the first input.
    pub(crate) fn fold_history(&mut self, history: Bytes) {
        let mut framer = Framer::new(self.limits.max_line);
        framer.push(history);
        let at = self.meta();
        self.transcript.fold_history(framer, at);
    }

    /// Creates a machine for an agent that has written `until` bytes of output, and that a host has
    /// registered with. `salt` makes the ids of this host's requests differ from those of others.
    #[cfg(test)]
    pub(crate) fn resuming(mut limits: Limits, epoch_ms: u64, until: u64, salt: &str) -> Self {
        limits.initialize = false;
        let machine = Self::new(limits, epoch_ms);
        machine.registered(until, salt)
    }

    /// Makes this the machine of an agent that another host started, before the first input.
    #[cfg(any(test, feature = "remote"))]
    pub(crate) fn registered(mut self, until: u64, salt: &str) -> Self {
        self.requests.set_salt(salt);
        let control = self.follower.as_ref().map_or(0, |it| it.history);
        self.replay = Replay::new(until, self.reported_input.unwrap_or(0), control);
        if self.replay.is_none() {
            self.replayed();
        }
        self
    }

    /// Returns whether the history is not folded completely.
    pub(crate) const fn is_replaying(&self) -> bool {
        self.replay.is_some() || self.recovery.is_some()
    }

    /// Advances the history, and ends it where it ends.
    pub(super) fn advance_replay(&mut self, advance: impl FnOnce(&mut Replay)) {
        let Some(replay) = &mut self.replay else {
            return;
        };
        advance(replay);
        if replay.is_over() {
            self.end_replay();
        }
    }

    /// Ends the history: sends the missing replies, and reports the permission requests. Those that
    /// were closed in the history are not reported as events.
    pub(super) fn end_replay(&mut self) {
        let Some(replay) = self.replay.take() else {
            return;
        };
        for line in replay.missing_replies() {
            self.write(line, LinePurpose::Other);
        }
        self.replayed();
        self.report_permissions();
    }

    /// Continues after the history, unless another driver does.
    fn replayed(&mut self) {
        if self.follower.is_none() {
            self.speak(|protocol, link| protocol.replayed(link));
        }
    }

    /// Reports the permission requests that the past has left, as open or closed.
    pub(super) fn report_permissions(&mut self) {
        for record in self.permissions().iter() {
            if record.state.is_open() {
                self.permission_opened(Arc::clone(record));
            } else {
                self.outputs
                    .push_back(Output::Permission(Arc::clone(record)));
            }
        }
    }

    /// Replies to a request of the agent, unless another host may have done so.
    pub(super) fn reply_to_agent(&mut self, request_id: &str, line: Vec<u8>) {
        match &mut self.replay {
            Some(replay) => replay.keep_reply(request_id, line),
            None => self.write(line, LinePurpose::Other),
        }
    }

    /// Handles an answer of this or another host to a request of the agent.
    pub(super) fn agent_answered(&mut self, request_id: &str) {
        if let Some(replay) = &mut self.replay {
            replay.answered(request_id);
        }
    }

    /// Handles the agent's echo of an answer that this or another host gave.
    pub(super) fn answer_echoed(&mut self, request_id: &str) {
        self.agent_answered(request_id);
        self.close_permission(request_id, RequestState::Answered);
    }
}
