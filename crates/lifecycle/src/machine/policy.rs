//! The policy in the state machine: a permission request is decided by a rule, or shown to a user.

use std::sync::Arc;

use bowline_jsonl::Decision;
use bowline_reducer::HostEvent;
use bowline_reducer::model::AnswerKind;

use super::{Machine, Output};
use crate::control::{ControlEntry, ControlLine};
use crate::intent::Intent;
use crate::permission::{PermissionAnswer, PermissionRecord};
use crate::policy::{Policy, PolicyRequest, PolicyVerdict, RuleDecision};

/// The name by which rules answer.
pub(crate) const POLICY: &str = "policy";

/// Where the decisions of a machine take effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum DecisionPath {
    /// At once.
    #[default]
    Direct,
    /// When they come back from the control stream.
    #[cfg_attr(
        not(any(test, feature = "remote")),
        expect(dead_code, reason = "sessions at a runner")
    )]
    Control,
}

/// The policy of a session, and the requests on which it is about to decide.
#[derive(Debug, Default)]
pub(super) struct PolicyState {
    policy: Policy,
    /// Whether paths can be resolved where the session is driven.
    resolves_paths: bool,
    pub(super) path: DecisionPath,
    undecided: Vec<Undecided>,
}

/// A request that no user has seen.
#[derive(Debug)]
pub(super) struct Undecided {
    request_id: String,
    /// What it asks for, while its paths are being resolved.
    request: Option<PolicyRequest>,
}

impl Machine {
    /// Sets the policy, before the first input.
    pub(crate) fn set_policy(&mut self, policy: Policy, resolves_paths: bool) {
        self.policy.policy = policy;
        self.policy.resolves_paths = resolves_paths;
    }

    pub(super) const fn policy_path(&self) -> DecisionPath {
        self.policy.path
    }

    /// Sets where decisions take effect, before the first input.
    #[cfg(any(test, feature = "remote"))]
    pub(crate) const fn set_decision_path(&mut self, path: DecisionPath) {
        self.policy.path = path;
    }

    /// Decides on an open request, or shows it.
    pub(super) fn permission_opened(&mut self, record: Arc<PermissionRecord>) {
        if self.policy.policy.is_empty() || self.follower.is_some() {
            return self.permission_requested(record);
        }
        let Some(request) = PolicyRequest::of(&record, &self.transcript) else {
            return self.permission_requested(record);
        };
        if self.policy.resolves_paths && self.policy.policy.depends_on_paths(&request) {
            let paths = request.paths_to_resolve();
            let request_id = record.request_id.clone();
            self.policy.undecided.push(Undecided {
                request_id: request_id.clone(),
                request: Some(request),
            });
            self.outputs
                .push_back(Output::ResolvePaths { request_id, paths });
            return;
        }
        self.decide(record, &request);
    }

    pub(super) fn paths_resolved(&mut self, request_id: &str, resolved: Vec<Option<String>>) {
        let Some(mut request) = self.take_undecided(request_id).and_then(|it| it.request) else {
            return;
        };
        request.set_resolved(resolved);
        if let Some(record) = self.permissions.record(request_id)
            && record.state.is_open()
        {
            self.decide(record, &request);
        }
    }

    fn decide(&mut self, record: Arc<PermissionRecord>, request: &PolicyRequest) {
        let verdict = self.policy.policy.decide(request);
        // At a limit, a user decides whether the session continues.
        let is_held = self.is_holding() && verdict.decision == RuleDecision::Allow;
        let answer = answer_of(&record, &verdict).filter(|_| !is_held);
        let Some(answer) = answer else {
            return self.permission_requested(record);
        };
        let request_id = record.request_id.clone();
        match self.policy.path {
            DecisionPath::Direct => {
                let (by, how) = (Some(POLICY), Some(&*verdict.rule));
                if self
                    .answer_permission(&request_id, answer, by, how)
                    .is_err()
                {
                    self.permission_requested(record);
                }
            }
            DecisionPath::Control => {
                self.policy.undecided.push(Undecided {
                    request_id: request_id.clone(),
                    request: None,
                });
                self.outputs.push_back(Output::Decision(ControlLine {
                    id: format!("{POLICY}:{request_id}"),
                    client: None,
                    entry: ControlEntry::Intent(Intent::Answer {
                        request_id,
                        answer,
                        by: Some(POLICY.to_owned()),
                        how: Some(verdict.rule),
                    }),
                }));
            }
        }
    }

    /// Shows a request that an answer has left open.
    pub(super) fn policy_answered(&mut self, request_id: &str) {
        if self.take_undecided(request_id).is_some()
            && let Some(record) = self.permissions.record(request_id)
            && record.state.is_open()
        {
            self.permission_requested(record);
        }
    }

    /// Puts an answer of a rule that was not written into the transcript: the agent still waits for it, and no
    /// client sends it again.
    pub(super) fn policy_answer_undelivered(&mut self, request_id: &str) {
        let record = self.permissions.record(request_id);
        let Some(record) = record.filter(|it| it.answered_by.as_deref() == Some(POLICY)) else {
            return;
        };
        let how = record.answered_how.as_deref().unwrap_or(POLICY);
        let reason = format!(
            "permission request {request_id} was decided by {how}, but the answer could not be written to the \
             agent, which may wait for it; end the session"
        );
        self.host(HostEvent::AnswerUndelivered { reason: &reason });
    }

    pub(super) fn take_undecided(&mut self, request_id: &str) -> Option<Undecided> {
        let undecided = &mut self.policy.undecided;
        let at = undecided
            .iter()
            .position(|it| it.request_id == request_id)?;
        Some(undecided.remove(at))
    }

    /// Returns whether a request is hidden until a rule has decided.
    pub(super) fn is_undecided(&self, request_id: &str) -> bool {
        let mut undecided = self.policy.undecided.iter();
        undecided.any(|it| it.request_id == request_id)
    }
}

/// Returns the answer for a verdict: for this call only. `None` if a user decides.
fn answer_of(record: &PermissionRecord, verdict: &PolicyVerdict) -> Option<PermissionAnswer> {
    let option = |kind| record.options.iter().find(|it| it.kind == kind);
    match verdict.decision {
        RuleDecision::Ask => None,
        RuleDecision::Allow if record.options.is_empty() => Some(Decision::allow().into()),
        RuleDecision::Allow => {
            let once = option(AnswerKind::AllowOnce)?;
            Some(PermissionAnswer::Option(once.id.clone()))
        }
        // A decision carries the reason, where the agent takes one, and rejects this call where it can.
        RuleDecision::Deny => {
            let reason = verdict.message.clone();
            let reason = reason.unwrap_or_else(|| format!("denied by {}", verdict.rule));
            Some(Decision::deny(reason).into())
        }
    }
}
