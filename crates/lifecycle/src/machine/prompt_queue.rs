//! Prompts that a pause holds back.

use std::collections::VecDeque;

use bowline_jsonl::Prompt;

use super::input::Ticket;
use super::receipts::{ReceiptState, ReceiptUpdate, Receipts};

/// Prompts that a pause holds back.
#[derive(Debug, Default)]
pub(super) struct PromptQueue {
    pub(super) is_paused: bool,
    pub(super) prompts: VecDeque<Prompt>,
    /// Commands that wait for the pause to take effect.
    pub(super) pausing: Vec<Ticket>,
}

impl PromptQueue {
    pub(super) fn len(&self) -> usize {
        self.prompts.len()
    }

    /// Drops the queued prompts.
    pub(super) fn cancel(&mut self, receipts: &mut Receipts) -> Vec<ReceiptUpdate> {
        let prompts = self.prompts.drain(..);
        prompts
            .filter_map(|prompt| receipts.advance(&prompt.uuid?, ReceiptState::Cancelled))
            .collect()
    }
}
