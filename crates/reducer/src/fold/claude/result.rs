//! `result` lines: the end of a turn (`crates/jsonl/PROTOCOL.md`, Results).

use bowline_jsonl::{Event, ModelUsage, RawJson, Str, TurnResult};

use crate::arena::Text;
use crate::record::{EntryBody, ResultRecord, ThreadId, Tokens, TurnOwner};
use crate::state::Outcome;
use crate::transcript::{LineContext, Transcript};
use crate::uuids::{LineEffect, Uuid};

impl Transcript {
    pub(crate) fn result(
        &mut self,
        event: &Event<'_>,
        result: &TurnResult<'_>,
        context: LineContext,
    ) {
        let outcome = outcome(result);
        let record = ResultRecord {
            subtype: self.name_of(result.subtype.unwrap_or_default()),
            is_error: result.is_error,
            outcome,
            text: self.result_text(result),
            origin: origin(result).map(|kind| self.name_of(kind)),
            terminal_reason: result.terminal_reason.map(|it| self.name_of(it)),
            num_turns: result.num_turns.unwrap_or_default(),
            duration_ms: result.duration_ms.unwrap_or_default(),
            line_end: context.line_end(),
        };
        let body = EntryBody::Result(Box::new(record));
        let entry = self.entry(ThreadId::MAIN, body, context);
        if let Some(uuid) = Uuid::of(event.uuid) {
            self.uuids.record(uuid, LineEffect::Entry(entry.number()));
        }
        if self.result_owner(result) == TurnOwner::Open {
            self.close_turn(outcome, result.queued_turn_count.unwrap_or_default());
        }
        self.add_usage(event, result);
    }

    /// The final text; on error subtypes, which have none, the errors.
    fn result_text(&mut self, result: &TurnResult<'_>) -> Option<Text> {
        if let Some(text) = result.result {
            return Some(self.arena.store_of(text));
        }
        let errors = result.errors.into_iter().flat_map(RawJson::elements);
        let errors: Vec<_> = errors
            .filter_map(RawJson::as_str)
            .map(Str::decode)
            .collect();
        (!errors.is_empty()).then(|| self.arena.store(&errors.join("\n")))
    }

    /// Updates the counters of the conversation.
    fn add_usage(&mut self, event: &Event<'_>, result: &TurnResult<'_>) {
        let conversation = event.session_id.map(|id| self.name_of(id));
        let cost = result.total_cost_usd.unwrap_or_default();
        self.usage.add_cost(conversation, cost);
        for (model, usage) in result.models() {
            let model = self.name_of(model);
            if usage.context_window.is_some() && self.session.model == Some(model) {
                self.set_neutral(|it| &mut it.context_size, usage.context_window);
            }
            self.usage.add_tokens(conversation, model, tokens(&usage));
        }
        self.touch_usage();
    }
}

fn tokens(usage: &ModelUsage) -> Tokens {
    [
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_creation_tokens,
    ]
    .map(Option::unwrap_or_default)
}

fn origin<'a>(result: &TurnResult<'a>) -> Option<Str<'a>> {
    result.origin.as_ref().and_then(|origin| origin.kind)
}

/// The decision table of `crates/jsonl/PROTOCOL.md`, Results.
fn outcome(result: &TurnResult<'_>) -> Outcome {
    let reason = result.terminal_reason.unwrap_or_default().decode();
    if reason.starts_with("aborted_") || is_older_interrupt(result) {
        Outcome::Cancelled
    } else if result.is_error {
        Outcome::Failed
    } else if result.deferred_tool_use.is_some_and(|it| !it.is_null()) {
        Outcome::Suspended
    } else {
        Outcome::Completed
    }
}

/// Returns whether an agent without `terminal_reason`, older than 2.1.100, was interrupted. An error
/// that it calls no error has no other cause.
fn is_older_interrupt(result: &TurnResult<'_>) -> bool {
    let is_aborted = result
        .subtype
        .is_some_and(|it| it == "error_during_execution");
    is_aborted && !result.is_error && result.terminal_reason.is_none()
}
