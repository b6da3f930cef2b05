//! Requests of Codex, and the host's answers.

use bowline_jsonl::codex::{
    Approval, ApprovalAnswer, Question as Asked, Questions, UserInputAnswer,
};
use bowline_jsonl::rpc::{Id, RpcError};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::codex::{Codex, owned, request_name};
use crate::fold::primitives::{CallUpdate, Request};
use crate::model::{
    AnswerKind, Question, QuestionKind, QuestionOption, RequestKind, RequestOption,
};
use crate::state::PermissionState;
use crate::transcript::Fold;

/// Decisions with their labels, and what they do.
const DECISIONS: [(&str, &str, AnswerKind); 5] = [
    ("accept", "Allow once", AnswerKind::AllowOnce),
    (
        "acceptForSession",
        "Allow for this session",
        AnswerKind::AllowAlways,
    ),
    (
        "acceptWithExecpolicyAmendment",
        "Allow such commands",
        AnswerKind::AllowAlways,
    ),
    ("decline", "Decline", AnswerKind::RejectOnce),
    ("cancel", "Decline and stop", AnswerKind::RejectOnce),
];

/// What is accepted whatever a request says.
const ALWAYS: [&str; 1] = ["decline"];

/// What is accepted where a request says nothing.
const WITHOUT_LIST: [&str; 4] = ["accept", "acceptForSession", "decline", "cancel"];

impl Codex {
    pub(super) fn approval(
        &mut self,
        id: Id<'_>,
        method: Str<'_>,
        approval: &Approval<'_>,
        line: RawJson<'_>,
        fold: &mut Fold<'_>,
    ) {
        let method = method.decode();
        let tool = method.split('/').nth(1).unwrap_or(&method);
        let thread = self.thread(approval.thread_id, fold);
        let call = approval
            .item_id
            .map(|item| self.item_name(approval.thread_id, item));
        if let Some(call) = &call {
            fold.upsert_call(thread, call, CallUpdate::default());
        }
        let request = Request {
            kind: RequestKind::Permission,
            thread,
            call: call.as_deref(),
            tool_name: tool,
            options: options(approval),
            questions: Vec::new(),
            url: None,
            rule: approval
                .proposed_amendment
                .map(|rule| rule.text().to_owned()),
            raw: line,
        };
        self.ask(id, request, fold);
    }

    pub(super) fn questions(
        &mut self,
        id: Id<'_>,
        asked: &Questions<'_>,
        line: RawJson<'_>,
        fold: &mut Fold<'_>,
    ) {
        let thread = self.thread(asked.thread_id, fold);
        let call = asked
            .item_id
            .map(|item| self.item_name(asked.thread_id, item));
        let request = Request {
            kind: RequestKind::Question,
            thread,
            call: call.as_deref(),
            tool_name: "requestUserInput",
            options: Vec::new(),
            questions: asked
                .questions()
                .map(|question| question_of(&question))
                .collect(),
            url: None,
            rule: None,
            raw: line,
        };
        self.ask(id, request, fold);
    }

    fn ask(&mut self, id: Id<'_>, request: Request<'_>, fold: &mut Fold<'_>) {
        let name = request_name(id, fold);
        fold.open_request(&name, request);
        self.asked.insert(id.text().to_owned(), name);
    }

    /// The host's answer to a request of Codex.
    pub(super) fn answer(
        &mut self,
        id: Option<Id<'_>>,
        result: Result<RawJson<'_>, RpcError<'_>>,
        fold: &mut Fold<'_>,
    ) {
        let Some(name) = id.and_then(|id| self.asked.remove(id.text())) else {
            return;
        };
        let (state, how) = match result {
            Ok(result) => answer_of(result),
            Err(_) => (PermissionState::Answered, "cancel".to_owned()),
        };
        fold.answer_request(&name, state, &how, None);
    }

    /// The request is answered; without an answer in the input it is withdrawn.
    pub(super) fn resolved(&mut self, id: Option<Id<'_>>, fold: &mut Fold<'_>) {
        let Some(name) = id.and_then(|id| self.asked.remove(id.text())) else {
            return;
        };
        if self.has_input {
            fold.withdraw_request(&name);
        } else {
            fold.answer_request(&name, PermissionState::Answered, "answer", None);
        }
    }
}

fn answer_of(result: RawJson<'_>) -> (PermissionState, String) {
    if let Some(decision) = ApprovalAnswer::parse(result).decision {
        let how = name_of(decision);
        let is_rejection = matches!(&*how, "decline" | "cancel");
        let state = if is_rejection {
            PermissionState::Denied
        } else {
            PermissionState::Allowed
        };
        return (state, how);
    }
    if UserInputAnswer::parse(result).answers.is_some() {
        return (PermissionState::Answered, "answer".to_owned());
    }
    (PermissionState::Allowed, "allow".to_owned())
}

/// The name of a decision: a string, or the key of an object.
fn name_of(decision: RawJson<'_>) -> String {
    let key = || decision.members().next().map(|(key, _)| key);
    owned(decision.as_str().or_else(key))
}

fn options(approval: &Approval<'_>) -> Vec<RequestOption> {
    let mut names: Vec<_> = match approval.available_decisions {
        Some(list) => list.elements().map(name_of).collect(),
        None => WITHOUT_LIST.map(str::to_owned).into(),
    };
    for name in ALWAYS {
        if !names.iter().any(|it| it == name) {
            names.push(name.to_owned());
        }
    }
    let option = |id: String| {
        let known = DECISIONS.iter().find(|(name, ..)| *name == id);
        RequestOption {
            name: known.map_or_else(|| id.clone(), |(_, label, _)| (*label).to_owned()),
            kind: known.map_or(AnswerKind::AllowOnce, |(.., kind)| *kind),
            id,
        }
    };
    names.into_iter().map(option).collect()
}

fn question_of(question: &Asked<'_>) -> Question {
    let options: Vec<_> = question
        .options()
        .map(|option| QuestionOption {
            value: owned(option.label),
            name: owned(option.label),
            description: option.description.map(|it| it.decode().into_owned()),
        })
        .collect();
    Question {
        id: owned(question.id),
        title: question.header.map(|header| header.decode().into_owned()),
        text: owned(question.question),
        kind: if options.is_empty() {
            QuestionKind::Text
        } else {
            QuestionKind::Single
        },
        free_text: question.is_other || options.is_empty(),
        options,
    }
}
