//! What an agent has said before this host came, heard by the code that hears what it says now.
//!
//! Somebody has answered most of what it asked then. Its own echo of an answer says so (protocol,
//! section A.14); what has none is answered when the history is over.

use super::{Carried, Limits, Machine};
use crate::permission::RequestState;

/// History that is being heard.
#[derive(Debug)]
pub(super) struct Replay {
    /// Offset behind its last byte.
    until: u64,
    /// Offset behind the last byte that was heard.
    heard: u64,
    /// Answers that are owed if nobody has given them: the request, and the line.
    owed: Vec<(String, Vec<u8>)>,
}

impl Machine {
    /// A machine for an agent that has said so many bytes already, to a host that has registered
    /// with it. The salt is in the ids of this host's requests, so that they are no other host's.
    pub(crate) fn resuming(mut limits: Limits, epoch_ms: u64, until: u64, salt: String) -> Self {
        limits.initialize = false;
        let mut machine = Self::new(limits, epoch_ms);
        machine.requests.set_salt(salt);
        machine.replay = (until > 0).then_some(Replay {
            until,
            heard: 0,
            owed: Vec::new(),
        });
        machine
    }

    /// The agent's output was heard up to an offset.
    pub(super) fn heard_up_to(&mut self, offset: impl FnOnce(u64) -> u64) {
        let Some(replay) = &mut self.replay else {
            return;
        };
        replay.heard = offset(replay.heard);
        if replay.heard >= replay.until {
            let owed = std::mem::take(&mut replay.owed);
            self.replay = None;
            for (_, line) in owed {
                self.write(line, Carried::Other);
            }
        }
    }

    /// Answers a request of the agent, unless another host may have done so.
    pub(super) fn answer_agent(&mut self, request_id: &str, line: Vec<u8>) {
        match &mut self.replay {
            Some(replay) => replay.owed.push((request_id.to_owned(), line)),
            None => self.write(line, Carried::Other),
        }
    }

    /// The agent repeats an answer that it was given, by this host or by another one.
    pub(super) fn heard_echo(&mut self, request_id: &str) {
        if let Some(replay) = &mut self.replay {
            replay.owed.retain(|(owed, _)| owed != request_id);
        }
        self.close_permission(request_id, RequestState::Answered);
    }
}
