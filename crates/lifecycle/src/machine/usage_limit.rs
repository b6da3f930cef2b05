//! A usage limit of the agent's account in the state machine: after a turn that met one, the session waits until the
//! limit resets, and continues then, if the host has chosen so.

use std::time::Duration;

use bowline_jsonl::Prompt;

use super::policy::DecisionPath;
use super::{Machine, Output};
use crate::attention::limit_of_last_turn;
use crate::budget::{LimitKind, LimitRequest, USAGE_TOOL};
use crate::control::{ControlEntry, ControlLine};
use crate::intent::Intent;
use crate::permission::PermissionAnswer;

/// Shortest wait, in milliseconds. A limit that should have been reset and is met again is not tried in a loop.
const MIN_WAIT_MS: u64 = 60_000;

/// What a session does about usage limits.
#[derive(Debug, Default)]
pub(super) struct UsageLimitState {
    /// The prompt to continue with once a limit resets; without one the session waits for its host.
    prompt: Option<String>,
    /// Number of ended turns at the last look. Each turn is examined once.
    examined: u64,
    /// When the limit resets that the last turn met, in milliseconds since 1970, until a request says so.
    resets_at_ms: Option<u64>,
    /// Whether the answer at the reset is on its way through the control stream.
    is_answering: bool,
}

impl Machine {
    /// Sets the prompt to continue with once a usage limit resets, before the first input.
    pub(crate) fn set_resume_prompt(&mut self, prompt: Option<String>) {
        self.usage_limit.prompt = prompt;
    }

    /// Returns whether the last turn met a limit that nothing was asked about.
    pub(super) const fn has_met_limit(&self) -> bool {
        self.usage_limit.resets_at_ms.is_some()
    }

    /// Waits after a turn that met a usage limit, and continues when it resets.
    pub(super) fn check_usage_limit(&mut self) {
        if self.usage_limit.prompt.is_none() || self.follower.is_some() {
            return;
        }
        self.examine_turn();
        if self.ended || self.end_stage.is_some() || self.is_replaying() {
            return;
        }
        let at_ms = self.meta().at_ms;
        match (self.open_limit(), self.usage_limit.resets_at_ms) {
            (Some(open), _)
                if open.limit == LimitKind::Usage
                    && at_ms >= open.allowed
                    && !self.usage_limit.is_answering =>
            {
                let request_id = open.request_id.clone();
                self.continue_after_reset(request_id);
            }
            (None, Some(resets_at_ms))
                if !self.is_limit_pending() && !self.transcript.open_work().turn =>
            {
                let due = resets_at_ms.max(at_ms.saturating_add(MIN_WAIT_MS));
                self.ask_about(|number| LimitRequest::usage(number, due, at_ms));
            }
            _ => {}
        }
    }

    /// Looks whether a turn that has ended met a limit.
    fn examine_turn(&mut self) {
        let turns = self.ended_turns();
        if self.usage_limit.examined != turns {
            self.usage_limit.examined = turns;
            let limit = limit_of_last_turn(&self.transcript);
            self.usage_limit.resets_at_ms = limit.and_then(|it| it.resets_at_ms);
        }
    }

    /// Notes that the last turn led to a request: it leads to no other, also after a restart.
    pub(super) fn usage_limit_held(&mut self) {
        self.examine_turn();
        self.usage_limit.resets_at_ms = None;
        self.usage_limit.is_answering = false;
    }

    /// Answers the request with `go_on` at the reset of the limit, as a user could.
    fn continue_after_reset(&mut self, request_id: String) {
        let answer = PermissionAnswer::Option(LimitRequest::GO_ON.to_owned());
        match self.policy_path() {
            DecisionPath::Direct => {
                // The request is open, and has the option.
                let _ = self.answer_limit(&request_id, &answer, Some(USAGE_TOOL));
            }
            DecisionPath::Control => {
                self.usage_limit.is_answering = true;
                self.outputs.push_back(Output::Decision(ControlLine {
                    id: format!("{request_id}:reset"),
                    client: None,
                    entry: ControlEntry::Intent(Intent::Answer {
                        request_id,
                        answer,
                        by: Some(USAGE_TOOL.to_owned()),
                        how: None,
                    }),
                }));
            }
        }
    }

    /// Sends the prompt with which the work continues, before the prompts that wait.
    pub(super) fn continue_work(&mut self, request: &LimitRequest) {
        let Some(text) = self.usage_limit.prompt.clone() else {
            return;
        };
        let prompt = Prompt {
            uuid: Some(prompt_uuid(request)),
            ..Prompt::text(text)
        };
        // A refused prompt is one that was sent before a restart.
        let _ = self.send_first(prompt);
    }

    /// Returns when the limit that the session waits for resets.
    pub(super) fn usage_limit_deadline(&self) -> Option<Duration> {
        let open = self.open_limit().filter(|it| {
            it.limit == LimitKind::Usage
                && self.follower.is_none()
                && !self.usage_limit.is_answering
        })?;
        let left = open.allowed.saturating_sub(self.meta().at_ms);
        Some(self.now.saturating_add(Duration::from_millis(left)))
    }
}

/// Returns the uuid of the prompt after a request. It is the same in each fold of the session's log, so that the prompt
/// is sent once, and differs from those of other requests.
fn prompt_uuid(request: &LimitRequest) -> String {
    let (due, asked) = (request.allowed, request.spent.unwrap_or_default());
    format!(
        "{:08x}-{:04x}-8000-8000-{:012x}",
        (due >> 16) & 0xffff_ffff,
        due & 0xffff,
        asked & 0xffff_ffff_ffff
    )
}
