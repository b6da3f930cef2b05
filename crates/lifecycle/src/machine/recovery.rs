//! The log of a session that a driver continues, while it is being folded: output, input and the host's
//! intents, in their order.
//!
//! The machine does then what it did before. Each line that it wants to write was written, which the input
//! shows, or is missing; the missing ones are written once the log is folded.

use std::mem;

use bowline_jsonl::RawJson;
use bowline_reducer::HostEvent;
use bytes::Bytes;

use super::own_lines::OwnLines;
use super::{Command, LinePurpose, Machine, Output, ReceiptState, Ticket};
use crate::error::DialogueError;

/// The ticket of commands whose callers are gone.
const RECOVERED: Ticket = 0;

/// A log that is being folded.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// Lines that the input did not show so far.
    unwritten: OwnLines,
    /// Ids of the requests in the input. What a request depended on may have been in another order then, or not
    /// in the log, as the time of a probe.
    written_ids: Vec<String>,
}

impl Recovery {
    pub(super) fn keep(&mut self, line: Bytes, purpose: LinePurpose) {
        self.unwritten.keep(line, purpose);
    }
}

impl Machine {
    /// Folds an intent of the log. Returns its outcome, unless the agent decides on it.
    pub(crate) fn recover_command(
        &mut self,
        command: Command,
    ) -> Option<Result<(), DialogueError>> {
        self.handle_input(super::Input::Command(command, RECOVERED), self.now);
        let outcome = self.outputs.iter().find_map(|it| match it {
            Output::Reply { ticket, reply } if *ticket == RECOVERED => Some(reply.clone()),
            _ => None,
        });
        self.drop_outputs();
        outcome.map(|it| it.map(drop))
    }

    /// Notes that a part of the log cannot be read.
    pub(crate) fn recover_damage(&mut self, reason: &str) {
        self.host(HostEvent::Damaged { reason });
    }

    /// Folds bytes of output of the log.
    pub(crate) fn recover_output(&mut self, input: super::Input) {
        self.handle_input(input, self.now);
        self.drop_outputs();
    }

    /// Folds bytes of the log that were written to the agent.
    pub(crate) fn recover_input(&mut self, bytes: &[u8]) {
        let mut lines = mem::take(&mut self.input_lines);
        lines.push(bytes, |line| self.recover_line(line));
        self.input_lines = lines;
    }

    /// Notes that a part of the log's input is missing.
    pub(crate) fn recover_input_gap(&mut self) {
        self.input_lines.skip();
    }

    fn recover_line(&mut self, line: &str) {
        self.fold_line(line);
        let purpose = self.recovery.as_mut().and_then(|recovery| {
            recovery.written_ids.extend(request_id(line));
            recovery.unwritten.take(line.as_bytes())
        });
        if let Some(purpose) = purpose {
            self.fold_effect(&purpose);
            if let LinePurpose::Prompt(uuid) = purpose {
                let update = self.receipts.advance(&uuid, ReceiptState::Written);
                self.receipt_updates(update);
            }
        }
        self.drop_outputs();
    }

    /// Ends the log: writes what is missing, and reports the permission requests.
    pub(crate) fn recovered(&mut self) {
        let Some(mut recovery) = self.recovery.take() else {
            return;
        };
        self.effects.reply_when_folded = true;
        for id in &recovery.written_ids {
            self.requests.continue_after(id);
        }
        let rest = mem::take(&mut self.outputs);
        for (line, purpose) in recovery.unwritten.drain() {
            self.write(line, purpose);
        }
        self.outputs.extend(rest);
        self.report_permissions();
        self.settle();
    }

    /// Drops what the log shows to be done. The end of a session has no line.
    fn drop_outputs(&mut self) {
        let stays = |it: &Output| matches!(it, Output::CloseInput | Output::Terminate(_));
        self.outputs.retain(stays);
    }
}

/// Returns the id of a request that a host wrote.
fn request_id(line: &str) -> Option<String> {
    let line = RawJson::parse(line)?;
    let id = line.get("id").or_else(|| line.get("request_id"))?;
    Some(id.as_str()?.decode().into_owned())
}
