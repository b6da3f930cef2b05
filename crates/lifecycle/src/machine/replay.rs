//! Folding the history of an agent that another host started, by the code that folds live output.
//!
//! Another host answered most requests in the history. The agent's echo of an answer shows that;
//! requests without an echo are answered when the history is over.

use super::{Limits, LinePurpose, Machine};
use crate::permission::RequestState;

/// A history that is being folded.
#[derive(Debug)]
pub(super) struct Replay {
    /// End offset of the history.
    until: u64,
    /// End offset of what was folded.
    folded: u64,
    /// Replies to requests that have no echoed answer so far: the request id, and the line.
    unanswered: Vec<(String, Vec<u8>)>,
}

impl Machine {
    #[cfg(any(test, feature = "remote"))]
    /// Creates a machine for an agent that has written `until` bytes of output, and that a host has
    /// registered with. `salt` makes the ids of this host's requests differ from those of others.
    pub(crate) fn resuming(mut limits: Limits, epoch_ms: u64, until: u64, salt: &str) -> Self {
        limits.initialize = false;
        let mut machine = Self::new(limits, epoch_ms);
        machine.requests.set_salt(salt);
        machine.replay = (until > 0).then_some(Replay {
            until,
            folded: 0,
            unanswered: Vec::new(),
        });
        machine
    }

    /// Advances the history to the offset that `advance` makes of the current one, and sends the
    /// missing replies when it is over.
    pub(super) fn advance_replay(&mut self, advance: impl FnOnce(u64) -> u64) {
        let Some(replay) = &mut self.replay else {
            return;
        };
        replay.folded = advance(replay.folded);
        if replay.folded >= replay.until {
            let unanswered = std::mem::take(&mut replay.unanswered);
            self.replay = None;
            for (_, line) in unanswered {
                self.write(line, LinePurpose::Other);
            }
        }
    }

    /// Replies to a request of the agent, unless another host may have done so.
    pub(super) fn reply_to_agent(&mut self, request_id: &str, line: Vec<u8>) {
        match &mut self.replay {
            Some(replay) => replay.unanswered.push((request_id.to_owned(), line)),
            None => self.write(line, LinePurpose::Other),
        }
    }

    /// Handles the agent's echo of an answer that this or another host gave.
    pub(super) fn answer_echoed(&mut self, request_id: &str) {
        if let Some(replay) = &mut self.replay {
            replay.unanswered.retain(|(id, _)| id != request_id);
        }
        self.close_permission(request_id, RequestState::Answered);
    }
}
