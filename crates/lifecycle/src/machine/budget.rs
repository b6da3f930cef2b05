//! The budget in the state machine: at a limit the session pauses at the next safe point, and asks.

use std::time::Duration;

use bowline_jsonl::{Decision, HostRequest};
use bowline_reducer::{HostDecision, HostEvent};

use super::policy::DecisionPath;
use super::{Command, Machine, Output};
use crate::budget::{
    Budget, LimitAnswer, LimitKind, LimitRequest, ReachedLimit, SharedState, Spent,
};
use crate::control::{ControlEntry, ControlLine};
use crate::error::DialogueError;
use crate::intent::Intent;
use crate::permission::{
    AnswerOrigin, AnswerOutcome, EncodedAnswer, PermissionAnswer, RequestState,
};

/// The ticket of what the machine does on its own.
const NO_CALLER: super::Ticket = 0;

/// The budget of a session, and what the session has asked about it.
#[derive(Debug, Default)]
pub(super) struct BudgetState {
    budget: Budget,
    /// When the session began, by the times in its log.
    started_ms: Option<u64>,
    turns: u64,
    /// Number of requests so far.
    asked: u64,
    /// The open request.
    open: Option<LimitRequest>,
    /// Whether a request is on its way through the control stream.
    is_pending: bool,
    /// Whether a limit is reached: nothing is sent.
    is_holding: bool,
    /// The reached limit of the budget that this session shares with others.
    shared: Option<ReachedLimit>,
    /// The limit that this machine has asked the driver of the session to pause at. It asks once.
    requested: Option<ReachedLimit>,
}

impl Machine {
    /// Sets the budget, before the first input.
    pub(crate) const fn set_budget(&mut self, budget: Budget) {
        self.budget.budget = budget;
    }

    /// Counts a turn that has ended.
    pub(super) const fn count_turn(&mut self) {
        self.budget.turns += 1;
    }

    /// Returns the number of turns that have ended.
    pub(super) const fn ended_turns(&self) -> u64 {
        self.budget.turns
    }

    /// Returns the request about a limit that is open.
    pub(super) const fn open_limit(&self) -> Option<&LimitRequest> {
        self.budget.open.as_ref()
    }

    /// Returns whether a request is on its way through the control stream.
    pub(super) const fn is_limit_pending(&self) -> bool {
        self.budget.is_pending
    }

    /// Returns whether prompts wait for an answer about a limit.
    pub(super) const fn is_holding(&self) -> bool {
        self.budget.is_holding && self.follower.is_none()
    }

    /// Returns what the session has used.
    pub(crate) fn spent(&mut self) -> Spent {
        let at_ms = self.meta().at_ms;
        let started = *self.budget.started_ms.get_or_insert(at_ms);
        let usage = self.transcript.usage();
        let models = usage.models().map(|(_, it)| it);
        let cost = Spent::cost_of(usage.cost_usd());
        Spent {
            // Claude Code reports it with each turn, also if it is 0.
            cost: cost.or_else(|| (!self.protocol.folds_input()).then_some(0)),
            tokens: models
                .map(|it| it.input_tokens + it.output_tokens + it.cache_creation_tokens)
                .sum(),
            turns: self.budget.turns,
            time: at_ms.saturating_sub(started),
        }
    }

    /// Pauses at a limit, where the session may pause.
    pub(super) fn check_budget(&mut self) {
        let reached = match self.own_limit() {
            Some(own) => Some((own, false)),
            None => self.budget.shared.map(|it| (it, true)),
        };
        self.budget.is_holding =
            reached.is_some() || self.budget.open.is_some() || self.has_met_limit();
        let is_asked = self.budget.open.is_some() || self.budget.is_pending;
        let open = self.transcript.open_work();
        let is_safe = !open.turn || open.permissions > 0;
        let is_over = self.ended || self.end_stage.is_some();
        let Some((reached, is_shared)) = reached else {
            return;
        };
        if is_asked || !is_safe || is_over || self.is_replaying() {
            return;
        }
        let request = |number| LimitRequest::new(number, reached, is_shared);
        if self.follower.is_none() {
            self.ask_about(request);
        } else if self.budget.requested != Some(reached) {
            self.budget.requested = Some(reached);
            let request = request(self.budget.asked + 1);
            self.follower_command(Command::Hold(request), NO_CALLER);
        }
    }

    /// Returns the limit of the session's own budget that is reached. It is that of the driver.
    fn own_limit(&mut self) -> Option<ReachedLimit> {
        if self.budget.budget.is_empty() || self.follower.is_some() {
            return None;
        }
        let spent = self.spent();
        self.budget.budget.reached(&spent)
    }

    /// Follows the budget that the session shares with others: a request about a limit that is not reached any
    /// more is closed as it was answered in another session.
    pub(super) fn shared_budget(&mut self, state: &SharedState) {
        self.budget.shared = state.reached;
        let open = self.budget.open.clone().filter(|it| it.is_shared);
        let Some(open) = open else { return };
        if state.reached.is_some_and(|it| it.limit == open.limit) {
            return;
        }
        let (chosen, answer) = open.answer_of(state.budget.amount(open.limit));
        let by = state.set_by.clone();
        if self.follower.is_none() {
            // The request is open.
            let _ = self.close_limit(&open, chosen, answer, by.as_deref());
            return;
        }
        let answer = Command::AnswerPermission {
            request_id: open.request_id,
            answer,
            by,
            how: None,
        };
        self.follower_command(answer, NO_CALLER);
    }

    /// Asks about a limit: at once, or through the control stream. The request gets its number.
    pub(super) fn ask_about(&mut self, request: impl FnOnce(u64) -> LimitRequest) {
        let request = request(self.budget.asked + 1);
        match self.policy_path() {
            DecisionPath::Direct => self.hold(request),
            DecisionPath::Control => {
                self.budget.is_pending = true;
                self.outputs.push_back(Output::Decision(ControlLine {
                    id: request.request_id.clone(),
                    client: None,
                    entry: ControlEntry::Intent(Intent::Hold(request)),
                }));
            }
        }
    }

    /// Opens the request about a limit.
    pub(super) fn hold(&mut self, request: LimitRequest) {
        self.budget.is_pending = false;
        if self.budget.open.is_some() || self.end_stage.is_some() {
            return;
        }
        self.budget.asked += 1;
        self.budget.is_holding = true;
        if request.limit == LimitKind::Usage {
            self.usage_limit_held();
        }
        self.host(HostEvent::HostAsked {
            request_id: &request.request_id,
            tool_name: request.tool(),
            reason: &request.reason(),
            question: &request.question(),
            options: &request.options(),
        });
        let record = request.record(self.meta().at_ms);
        self.budget.open = Some(request);
        if let Some(record) = self.permissions.open(record, self.now)
            && !self.is_replaying()
        {
            self.permission_requested(record);
        }
    }

    /// Answers the request about a limit. `None` if the request is another one.
    pub(super) fn answer_limit(
        &mut self,
        request_id: &str,
        answer: &PermissionAnswer,
        by: Option<&str>,
    ) -> Option<Result<(), DialogueError>> {
        let is_it = |it: &&LimitRequest| it.request_id == request_id;
        let request = self.budget.open.as_ref().filter(is_it)?.clone();
        Some(self.answer_open_limit(&request, answer, by))
    }

    fn answer_open_limit(
        &mut self,
        request: &LimitRequest,
        answer: &PermissionAnswer,
        by: Option<&str>,
    ) -> Result<(), DialogueError> {
        let request_id = &*request.request_id;
        let chosen = request
            .parse(answer)
            .map_err(|why| DialogueError::WrongAnswer {
                request_id: request_id.to_owned(),
                why,
            })?;
        self.close_limit(request, chosen, answer.clone(), by)?;
        self.apply_answer(request, chosen, by);
        match chosen {
            LimitAnswer::Stop => self.stop_for_limit(),
            LimitAnswer::GoOn if request.limit == LimitKind::Usage => self.continue_work(request),
            LimitAnswer::GoOn | LimitAnswer::Raise(_) => {}
        }
        Ok(())
    }

    fn apply_answer(&mut self, request: &LimitRequest, chosen: LimitAnswer, by: Option<&str>) {
        if !request.is_shared {
            self.budget.budget.apply(request.limit, chosen);
        } else if chosen != LimitAnswer::Stop {
            // The budget says anew if one of its limits is reached.
            self.budget.shared = None;
            if !self.is_replaying() {
                self.outputs.push_back(Output::SharedLimit {
                    limit: request.limit,
                    answer: chosen,
                    by: by.map(str::to_owned),
                });
            }
        }
    }

    /// Closes the request in the transcript and in the list of requests.
    fn close_limit(
        &mut self,
        request: &LimitRequest,
        chosen: LimitAnswer,
        answer: PermissionAnswer,
        by: Option<&str>,
    ) -> Result<(), DialogueError> {
        let request_id = &*request.request_id;
        let how = request.describe(chosen);
        let (decision, event) = match chosen {
            LimitAnswer::Stop => (Decision::deny(""), HostDecision::Deny),
            _ => {
                let updated_input = None;
                (Decision::allow(), HostDecision::Allow { updated_input })
            }
        };
        let origin = AnswerOrigin {
            by,
            how: Some(&how),
        };
        // Nothing is written to the agent.
        let encode = |_: &_, _: &_| {
            Ok(EncodedAnswer {
                line: Vec::new(),
                decision,
            })
        };
        let outcome = self
            .permissions
            .answer(request_id, answer, origin, encode)?;
        self.budget.open = None;
        self.host(HostEvent::PermissionAttributed {
            request_id,
            who: by.unwrap_or("user"),
            how: Some(&how),
        });
        self.host(HostEvent::PermissionAnswered {
            request_id,
            decision: event,
        });
        if let AnswerOutcome::Accepted { record, .. } = outcome {
            self.permission_ended(record);
        }
        Ok(())
    }

    /// Ends the session in order: what waits is dropped, and the open turn is interrupted.
    fn stop_for_limit(&mut self) {
        self.drop_waiting();
        if self.follower.is_some() {
            // The driver does the rest.
            return;
        }
        if self.transcript.has_open_turn() {
            let interrupt = HostRequest::Interrupt {
                cancel_queued: true,
            };
            self.command(Command::Request(interrupt), NO_CALLER);
        }
        self.command(Command::End, NO_CALLER);
    }

    /// Closes the request of a session that is ended: prompts that wait for it are not sent.
    pub(super) fn end_limit(&mut self) {
        if !self.budget.is_holding || self.follower.is_some() {
            return;
        }
        self.drop_waiting();
        if let Some(request) = self.budget.open.take() {
            let deny = PermissionAnswer::Decide(Decision::deny("the session is ended"));
            // The request is open.
            let _ = self.close_limit(&request, LimitAnswer::Stop, deny, None);
        }
    }

    /// Forgets a request that was closed with its turn or its process.
    pub(super) fn limit_closed(&mut self, request_id: &str, state: RequestState) {
        let open = &mut self.budget.open;
        if state != RequestState::Answered {
            let _ = open.take_if(|it| it.request_id == request_id);
        }
    }

    /// Returns when the limit of the time is reached.
    pub(super) fn budget_deadline(&self) -> Option<Duration> {
        let is_asked = self.budget.is_holding || self.follower.is_some();
        let limit = self.budget.budget.time.filter(|_| !is_asked)?;
        let limit = u64::try_from(limit.as_millis()).ok()?;
        let due = self.budget.started_ms?.saturating_add(limit);
        let left = due.saturating_sub(self.meta().at_ms);
        Some(self.now.saturating_add(Duration::from_millis(left)))
    }
}
