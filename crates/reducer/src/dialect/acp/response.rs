//! Answers to the host's requests.

use bowline_jsonl::acp::{Initialized, Opened, PromptResult, PromptUsage};
use bowline_jsonl::rpc::{Id, RpcError};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::acp::update::owned;
use crate::dialect::acp::{Acp, Loading, SentRequest, request_name};
use crate::fold::primitives::{CallEnd, TurnEnd};
use crate::record::CallId;
use crate::state::{CallState, Outcome};
use crate::transcript::Fold;
use crate::view::ModelUsage;

impl Acp {
    pub(super) fn response(
        &mut self,
        id: Option<Id<'_>>,
        result: Result<RawJson<'_>, RpcError<'_>>,
        fold: &mut Fold<'_>,
    ) {
        self.flush_prompt(fold);
        let sent = id.and_then(|id| self.sent.remove(id.text()));
        let is_turn_open = fold.transcript().evidence.turn.is_open;
        match (sent.or_else(|| guess(result.as_ref().ok())), result) {
            (Some(SentRequest::Prompt), result) => self.end_prompt(id, result, fold),
            (Some(SentRequest::Open), result) => self.opened(result, fold),
            (Some(SentRequest::Initialize), Ok(result)) => {
                let agent = Initialized::parse(result).agent_info;
                let [name, version] = [agent.name, agent.version].map(|it| it.map(Str::decode));
                fold.set_agent(name.as_deref(), version.as_deref());
            }
            (Some(SentRequest::Set(option, value)), Ok(result)) => {
                match result.get("configOptions") {
                    Some(options) => self.settings.replace(Some(options), fold),
                    None => self.settings.set(&option, &value, fold),
                }
            }
            (None, Err(error)) if is_turn_open && !self.has_input => {
                self.end_prompt(id, Err(error), fold);
            }
            (_, Err(error)) => fold.notice("error", &owned(error.message)),
            (_, Ok(_)) => {}
        }
    }

    /// A session is open. The past that came with it is complete with the next prompt: Gemini CLI sends a part of
    /// it after the response.
    fn opened(&mut self, result: Result<RawJson<'_>, RpcError<'_>>, fold: &mut Fold<'_>) {
        if !self.has_input || result.is_err() {
            self.end_loading(fold);
        }
        let result = match result {
            Ok(result) => result,
            Err(error) => return fold.notice("error", &owned(error.message)),
        };
        let opened = Opened::parse(result);
        if let Some(session) = opened.session_id {
            self.session = Some(session.decode().into_owned());
        }
        if let Some(session) = &self.session {
            fold.set_conversation(session);
        }
        self.settings.open(&opened, fold);
    }

    pub(super) fn end_loading(&mut self, fold: &mut Fold<'_>) {
        if self.loading != Loading::No {
            self.flush_prompt(fold);
            fold.close_message(fold.main());
            close_calls(fold);
            fold.set_history(false);
            self.loading = Loading::No;
        }
    }

    /// The end of a prompt's turn; the next prompt's begins.
    fn end_prompt(
        &mut self,
        id: Option<Id<'_>>,
        result: Result<RawJson<'_>, RpcError<'_>>,
        fold: &mut Fold<'_>,
    ) {
        let name = id.map(|id| request_name(id, fold)).unwrap_or_default();
        for order in self.prompts.remove(&name) {
            fold.unqueue_prompt(order);
        }
        let main = fold.main();
        match result {
            Ok(result) => {
                let result = PromptResult::parse(result);
                let reason = owned(result.stop_reason);
                let outcome = match &*reason {
                    "cancelled" => Outcome::Cancelled,
                    "refusal" => Outcome::Failed,
                    _ => Outcome::Completed,
                };
                let end = TurnEnd {
                    outcome,
                    reason: &reason,
                    ..TurnEnd::default()
                };
                fold.end_turn(main, end);
                if let Some(usage) = result.usage.as_deref() {
                    fold.set_usage(&name, self.settings.model(), tokens(usage), None);
                }
            }
            Err(error) => {
                let end = TurnEnd {
                    outcome: Outcome::Failed,
                    reason: "error",
                    text: Some(&owned(error.message)),
                    duration_ms: None,
                };
                fold.end_turn(main, end);
            }
        }
        self.structured.clear();
        if let Some((order, next)) = self.prompts.first() {
            fold.begin_turn(main, Some(next));
            fold.unqueue_prompt(order);
        }
    }
}

/// What was asked, by the members of the result, where the input is unknown.
fn guess(result: Option<&RawJson<'_>>) -> Option<SentRequest> {
    let has = |key| result.is_some_and(|result| result.get(key).is_some());
    if has("stopReason") {
        return Some(SentRequest::Prompt);
    }
    if has("protocolVersion") {
        return Some(SentRequest::Initialize);
    }
    (has("sessionId") || has("modes")).then_some(SentRequest::Open)
}

/// Ends calls of the past that have no end.
fn close_calls(fold: &mut Fold<'_>) {
    let main = fold.main();
    let open: Vec<CallId> = fold.transcript().threads[main]
        .open
        .iter()
        .copied()
        .collect();
    for call in open {
        let end = CallEnd {
            state: CallState::Lost,
            text: None,
            raw: None,
        };
        fold.end_call(call, end);
    }
}

fn tokens(usage: &PromptUsage) -> ModelUsage {
    ModelUsage {
        input_tokens: usage.input_tokens.unwrap_or_default(),
        output_tokens: usage.output_tokens.unwrap_or_default(),
        cache_read_tokens: usage.cached_read_tokens.unwrap_or_default(),
        cache_creation_tokens: usage.cached_write_tokens.unwrap_or_default(),
    }
}
