//! Commands of the session's log, each with its place in the agent's output.

use std::collections::VecDeque;

use crate::machine::Command;
use crate::message::ReplySender;

/// Commands whose place in the output is not reached, in their order.
#[derive(Default)]
pub(super) struct PlacedCommands(VecDeque<PlacedCommand>);

struct PlacedCommand {
    /// Offset in the output.
    after: u64,
    command: Command,
    reply: ReplySender,
}

impl PlacedCommands {
    pub(super) fn push(&mut self, after: u64, command: Command, reply: ReplySender) {
        self.0.push_back(PlacedCommand {
            after,
            command,
            reply,
        });
    }

    /// Takes the next command if its place is reached. One behind it waits, wherever its own place is.
    pub(super) fn next_before(&mut self, output_end: u64) -> Option<(Command, ReplySender)> {
        let next = self.0.pop_front_if(|it| it.after <= output_end)?;
        Some((next.command, next.reply))
    }
}
