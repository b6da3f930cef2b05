//! Codex' lines.

use bowline_jsonl::codex::{
    ItemDelta, ItemLine, LimitWindow, RateLimits, ServerMessage, ServerNotice, Thread,
    ThreadOpened, ThreadStatus, TokenUsage, Tokens, Turn, TurnPlan,
};
use bowline_jsonl::rpc::{Id, Message, RpcError};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::codex::{Codex, SentRequest, owned};
use crate::fold::primitives::{Place, TextKind, TurnEnd};
use crate::model::{Limit, PlanItem, PlanState, ThreadState};
use crate::record::ThreadId;
use crate::state::Outcome;
use crate::transcript::Fold;
use crate::view::ModelUsage;

/// Notifications that say nothing of the conversation: parts of items that their end repeats, and
/// states of threads.
const WITHOUT_EFFECT: [&str; 9] = [
    "item/reasoning/summaryPartAdded",
    "item/commandExecution/terminalInteraction",
    "item/mcpToolCall/progress",
    "thread/closed",
    "thread/goal/cleared",
    "hook/started",
    "hook/completed",
    "account/updated",
    "skills/changed",
];

impl Codex {
    pub(super) fn server(
        &mut self,
        message: ServerMessage<'_>,
        line: RawJson<'_>,
        fold: &mut Fold<'_>,
    ) {
        match message {
            ServerMessage::TextDelta(delta) | ServerMessage::PlanDelta(delta) => {
                self.delta(&delta, TextKind::Text, fold);
            }
            ServerMessage::SummaryDelta(delta) | ServerMessage::ReasoningDelta(delta) => {
                self.delta(&delta, TextKind::Thinking, fold);
            }
            ServerMessage::OutputDelta(delta) => self.output_delta(&delta, fold),
            ServerMessage::PatchUpdated(delta) => self.patch(&delta, fold),
            ServerMessage::ItemStarted(line) => self.item_line(&line, false, fold),
            ServerMessage::ItemCompleted(line) => self.item_line(&line, true, fold),
            ServerMessage::TurnStarted(line) => {
                let thread = self.thread(line.thread_id, fold);
                self.begin(thread, &line.turn, fold);
            }
            ServerMessage::TurnCompleted(line) => {
                let thread = self.thread(line.thread_id, fold);
                end(thread, &line.turn, fold);
            }
            ServerMessage::ThreadStarted(thread) => self.started(&thread, fold),
            ServerMessage::ThreadName(name) => self.rename(&name, fold),
            ServerMessage::Plan(plan) => self.plan(&plan, fold),
            ServerMessage::TokenUsage(usage) => self.usage(&usage, fold),
            ServerMessage::RateLimits(limits) => rate_limits(&limits, fold),
            ServerMessage::Resolved(id) => self.resolved(id, fold),
            ServerMessage::Notice(method, notice) => {
                self.notice(method, &notice, fold);
            }
            ServerMessage::Approval(id, method, approval) => {
                self.approval(id, method, &approval, line, fold);
            }
            ServerMessage::Questions(id, questions) => self.questions(id, &questions, line, fold),
            ServerMessage::Other(Message::Response { id, result }) => {
                self.response(id, result, fold);
            }
            ServerMessage::Other(Message::Notification { method, .. })
                if WITHOUT_EFFECT.contains(&&*method.decode()) => {}
            ServerMessage::Other(
                Message::Request { method, .. } | Message::Notification { method, .. },
            ) => fold.unknown(&method.decode()),
            _ => {}
        }
    }

    fn delta(&mut self, delta: &ItemDelta<'_>, kind: TextKind, fold: &mut Fold<'_>) {
        let text = delta.delta.unwrap_or_default();
        if text.is_empty() {
            return;
        }
        let item = delta.item_id.unwrap_or_default().decode();
        let place = Place {
            thread: self.thread(delta.thread_id, fold),
            message: Some(&item),
            part: Some(u16::try_from(delta.summary_index.unwrap_or_default()).unwrap_or(u16::MAX)),
        };
        fold.append(place, kind, text);
    }

    fn begin(&mut self, thread: ThreadId, turn: &Turn<'_>, fold: &mut Fold<'_>) {
        let id = turn.id.map(Str::decode);
        fold.begin_turn(thread, id.as_deref());
        if thread == fold.main() {
            self.turn = id.map(Into::into);
        } else {
            fold.set_thread_state(thread, ThreadState::Running);
        }
    }

    /// A thread that Codex announces; those of sub-agents it does not.
    fn started(&mut self, thread: &Thread<'_>, fold: &mut Fold<'_>) {
        if let Some(id) = thread.id.filter(|_| thread.parent_thread_id.is_none()) {
            self.thread.get_or_insert_with(|| owned(Some(id)));
        }
        if self.thread(thread.id, fold) == fold.main() {
            self.describe(thread, fold);
        }
    }

    fn rename(&mut self, name: &ThreadStatus<'_>, fold: &mut Fold<'_>) {
        if self.thread(name.thread_id, fold) == fold.main() {
            fold.set_title(name.thread_name.map(Str::decode).as_deref());
        }
    }

    fn describe(&mut self, thread: &Thread<'_>, fold: &mut Fold<'_>) {
        if let Some(id) = thread.id {
            fold.set_conversation(&id.decode());
        }
        if let Some(name) = thread.name {
            fold.set_title(Some(&name.decode()));
        }
        if let Some(cwd) = thread.cwd {
            fold.set_cwd(&cwd.decode());
        }
        let version = thread.cli_version.map(Str::decode);
        fold.set_agent(Some("codex"), version.as_deref());
        if let Some(model) = thread.model {
            fold.set_model(&model.decode());
            self.model = Some(owned(Some(model)));
        }
    }

    fn response(
        &mut self,
        id: Option<Id<'_>>,
        result: Result<RawJson<'_>, RpcError<'_>>,
        fold: &mut Fold<'_>,
    ) {
        let sent = id.and_then(|id| self.sent.remove(id.text()));
        let result = match result {
            Ok(result) => result,
            Err(error) => return self.refused(sent.as_ref(), &error, fold),
        };
        if let Some(opened) = ThreadOpened::parse(result) {
            let is_known = matches!(sent, Some(SentRequest::Open { is_known: true }));
            self.opened(&opened, is_known, fold);
        }
    }

    fn refused(&self, sent: Option<&SentRequest>, error: &RpcError<'_>, fold: &mut Fold<'_>) {
        let text = owned(error.message);
        let is_turn = matches!(sent, Some(SentRequest::Turn));
        if is_turn && self.turn.is_none() && fold.transcript().evidence.turn.is_open {
            let end = TurnEnd {
                outcome: Outcome::Failed,
                reason: "error",
                text: Some(&text),
                duration_ms: None,
            };
            return fold.end_turn(fold.main(), end);
        }
        fold.notice("error", &text);
    }

    /// A thread is open: the session's, with its past.
    fn opened(&mut self, opened: &ThreadOpened<'_>, is_known: bool, fold: &mut Fold<'_>) {
        self.thread = opened.thread.id.map(|id| id.decode().into_owned());
        self.describe(&opened.thread, fold);
        if let Some(model) = opened.model {
            fold.set_model(&model.decode());
            self.model = Some(owned(Some(model)));
        }
        if let Some(cwd) = opened.cwd {
            fold.set_cwd(&cwd.decode());
        }
        if let Some(policy) = opened.approval_policy.and_then(RawJson::as_str) {
            fold.set_permission_mode(&policy.decode());
        }
        if is_known {
            return;
        }
        fold.set_history(true);
        let main = fold.main();
        for turn in opened.thread.turns() {
            self.begin(main, &turn, fold);
            for item in turn.items() {
                self.item(opened.thread.id, &item, true, fold);
            }
            end(main, &turn, fold);
        }
        self.turn = None;
        fold.set_history(false);
    }

    fn item_line(&mut self, line: &ItemLine<'_>, is_done: bool, fold: &mut Fold<'_>) {
        self.item(line.thread_id, &line.item, is_done, fold);
    }

    fn plan(&mut self, plan: &TurnPlan<'_>, fold: &mut Fold<'_>) {
        if self.thread(plan.thread_id, fold) != fold.main() {
            return;
        }
        let steps = plan.steps().map(|step| PlanItem {
            text: owned(step.step),
            state: PlanState::of(&step.status.unwrap_or_default().decode()),
            priority: None,
        });
        fold.set_plan(steps.collect());
    }

    fn usage(&mut self, line: &TokenUsage<'_>, fold: &mut Fold<'_>) {
        let thread = self.thread(line.thread_id, fold);
        let total = tokens(&line.usage.total);
        let scope = owned(line.thread_id);
        fold.set_usage(&scope, self.model(), total, None);
        if thread == fold.main() {
            fold.set_context(line.usage.last.total, line.usage.model_context_window);
        } else {
            fold.set_thread_usage(thread, total);
        }
    }

    fn notice(&mut self, method: Str<'_>, notice: &ServerNotice<'_>, fold: &mut Fold<'_>) {
        // The end of the turn repeats an error after which Codex does not try again.
        if notice.will_retry == Some(false) {
            return;
        }
        let text = notice.message.or(notice.summary).or(notice.error.message);
        let text = text.or(notice.to_model).unwrap_or_default();
        fold.notice(&method.decode(), &text.decode());
    }
}

fn end(thread: ThreadId, turn: &Turn<'_>, fold: &mut Fold<'_>) {
    let reason = owned(turn.status);
    let (outcome, state) = match &*reason {
        "interrupted" => (Outcome::Cancelled, ThreadState::Interrupted),
        "failed" => (Outcome::Failed, ThreadState::Failed),
        _ => (Outcome::Completed, ThreadState::Completed),
    };
    let error = turn.error.message.map(Str::decode);
    let end = TurnEnd {
        outcome,
        reason: &reason,
        text: error.as_deref(),
        duration_ms: turn.duration_ms,
    };
    fold.end_turn(thread, end);
    if thread != fold.main() {
        fold.set_thread_state(thread, state);
    }
}

/// Codex counts tokens from the cache as input too.
fn tokens(tokens: &Tokens) -> ModelUsage {
    let read = tokens.cached_input.unwrap_or_default();
    let written = tokens.cache_write_input.unwrap_or_default();
    let input = tokens.input.unwrap_or_default();
    ModelUsage {
        input_tokens: input.saturating_sub(read).saturating_sub(written),
        output_tokens: tokens.output.unwrap_or_default(),
        cache_read_tokens: read,
        cache_creation_tokens: written,
    }
}

fn rate_limits(limits: &RateLimits, fold: &mut Fold<'_>) {
    for (window, limit) in [
        ("primary", &limits.primary),
        ("secondary", &limits.secondary),
    ] {
        if let Some(limit) = limit.as_deref() {
            fold.set_limit(limit_of(window, limit));
        }
    }
}

fn limit_of(window: &str, limit: &LimitWindow) -> Limit {
    Limit {
        window: window.to_owned(),
        used_share: limit.used_percent.map(|percent| percent / 100.0),
        resets_at_ms: limit.resets_at.map(|seconds| seconds.saturating_mul(1_000)),
    }
}
