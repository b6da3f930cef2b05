//! The hooks of the agent: lines of their stream, and the replies of hosts, each once.

use std::collections::BTreeSet;

use bowline_transport::journal::Arrival;
use bytes::Bytes;

use super::control::hash;
use super::request_dedup::RequestDedup;
use super::requests::REUSED_ID;
use super::{Effect, SessionMachine};
use crate::wire::{PromptStatus, StreamId};

/// The hooks that wait for a host, and a hash of each reply.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    open: BTreeSet<u64>,
    replies: RequestDedup<u64>,
}

/// What a line says about a hook that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookChange {
    /// It waits for a host.
    Opened(u64),
    /// It has its reply.
    Closed(u64),
}

impl SessionMachine {
    /// Appends a line to the stream of hooks. After the exit of the child it is dropped.
    pub(crate) fn on_hook(&mut self, line: Bytes, change: Option<HookChange>) {
        match change {
            Some(HookChange::Opened(id)) => {
                self.hooks.open.insert(id);
            }
            Some(HookChange::Closed(id)) => {
                self.hooks.open.remove(&id);
            }
            None => {}
        }
        if self.exit.is_none() {
            let arrival = Arrival {
                at_ms: self.wall_ms,
                output: None,
            };
            self.append(StreamId::HOOKS, line, arrival);
        }
    }

    /// Takes the reply of a host to a hook. The first one counts.
    pub(super) fn reply_to_hook(&mut self, id: &str, body: &Bytes) -> PromptStatus {
        let refused = |reason: &str| PromptStatus::Refused {
            reason: reason.to_owned(),
        };
        let hash = hash(body);
        match self.hooks.replies.get(id) {
            Some(known) if *known == hash => return PromptStatus::Written,
            Some(_) => return refused(REUSED_ID),
            None => {}
        }
        let number: Option<u64> = id.strip_prefix("hook:").and_then(|it| it.parse().ok());
        let Some(number) = number.filter(|number| self.hooks.open.remove(number)) else {
            return refused("the hook has its reply, or does not wait any more");
        };
        self.hooks.replies.insert(id, hash);
        self.effects.push_back(Effect::HookReply {
            id: number,
            body: body.clone(),
        });
        PromptStatus::Written
    }
}
