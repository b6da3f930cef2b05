//! The agent's requests to the user.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    CreateElicitationRequest, CreateElicitationResponse, ElicitationSessionScope,
    RequestPermissionOutcome, RequestPermissionResponse,
};
use bowline_reducer::PermissionState;
use bowline_reducer::model::{AnswerKind, Question, RequestKind, RequestOption};
use bowline_reducer::owned::PermissionValue;
use serde_json::value::RawValue;

use super::elicitation;
use super::feed::{Calls, Declared};
use super::intent::Answer;
use super::tool_call::{CallStatus, CallUpdate};

const ALLOW: &str = "allow";
const DENY: &str = "deny";

/// The requests to an editor, by the request's id in the transcript.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    asked: HashMap<String, Asked>,
}

#[derive(Debug)]
struct Asked {
    form: Form,
    session: Arc<str>,
    value: PermissionValue,
    /// The request to the editor; `None` once it has answered.
    rpc: Option<i64>,
}

/// How a request is asked.
#[derive(Clone, Debug)]
enum Form {
    /// With its own options.
    Options,
    /// Yes or no, where it has no options.
    Decision,
    /// One permission request for each question, with its choices as options.
    Questions { answers: Vec<(String, String)> },
    /// As a form, or a URL to open.
    Elicitation,
}

/// A request to the editor.
#[derive(Debug)]
pub(super) enum Ask {
    Permission(Box<PermissionRequest>),
    /// It has the same form in both versions.
    Elicitation(Box<CreateElicitationRequest>),
}

/// A choice between options.
#[derive(Debug)]
pub(super) struct PermissionRequest {
    pub(super) session: Arc<str>,
    /// The call that it is about.
    pub(super) call: CallUpdate,
    /// What is asked, unless the title of the call says it.
    pub(super) title: Option<String>,
    pub(super) options: Vec<RequestOption>,
}

/// Consequence of an editor's answer.
#[derive(Debug)]
pub(super) enum Next {
    /// The answer is complete.
    Answer(Answer),
    /// The next question.
    Ask(Box<Ask>),
}

impl Permissions {
    /// Begins to ask a request; `None` unless it is open and was not asked before.
    pub(super) fn open(
        &mut self,
        value: &PermissionValue,
        session: Arc<str>,
        calls: &Calls,
        declared: Declared,
    ) -> Option<Ask> {
        if value.state != PermissionState::Open || self.asked.contains_key(&value.request_id) {
            return None;
        }
        let form = match value.kind {
            RequestKind::Question if declared.forms => Form::Elicitation,
            RequestKind::Url if declared.urls => Form::Elicitation,
            RequestKind::Question => Form::Questions {
                answers: Vec::new(),
            },
            _ if value.options.is_empty() => Form::Decision,
            _ => Form::Options,
        };
        let asked = Asked {
            form,
            session,
            value: value.clone(),
            rpc: None,
        };
        let request = asked.request(calls);
        self.asked.insert(value.request_id.clone(), asked);
        Some(request)
    }

    /// Records the id under which a request was sent to the editor.
    pub(super) fn sent(&mut self, request_id: &str, rpc: i64) {
        if let Some(asked) = self.asked.get_mut(request_id) {
            asked.rpc = Some(rpc);
        }
    }

    /// Forgets a request that is not open any more; returns the editor's request that is to be cancelled.
    pub(super) fn close(&mut self, value: &PermissionValue) -> Option<i64> {
        if value.state == PermissionState::Open {
            return None;
        }
        self.asked.remove(&value.request_id)?.rpc
    }

    /// Forgets all requests; returns those of the editor that are to be cancelled.
    pub(super) fn clear(&mut self) -> Vec<i64> {
        self.asked.drain().filter_map(|(_, it)| it.rpc).collect()
    }

    /// Handles the editor's answer. An error counts as no answer: another host may still answer.
    pub(super) fn answer(
        &mut self,
        request_id: &str,
        result: Option<&RawValue>,
        calls: &Calls,
    ) -> Option<Next> {
        let asked = self.asked.get_mut(request_id)?;
        asked.rpc = None;
        let result = result?.get();
        if matches!(asked.form, Form::Elicitation) {
            let response: CreateElicitationResponse = serde_json::from_str(result).ok()?;
            let answer = elicitation::answer(response, &asked.value.questions);
            return Some(Next::Answer(answer));
        }
        let response: RequestPermissionResponse = serde_json::from_str(result).ok()?;
        let RequestPermissionOutcome::Selected(selected) = response.outcome else {
            return Some(Next::Answer(Answer::Cancel));
        };
        let option = selected.option_id.to_string();
        let answer = match &mut asked.form {
            Form::Decision if option == ALLOW => Answer::Allow,
            Form::Decision => Answer::Deny,
            Form::Questions { .. } if option == DENY => Answer::Cancel,
            Form::Questions { answers } => {
                let question = asked.value.questions.get(answers.len())?;
                answers.push((question.id.clone(), option));
                if answers.len() < asked.value.questions.len() {
                    return Some(Next::Ask(Box::new(asked.request(calls))));
                }
                Answer::Answers(std::mem::take(answers))
            }
            Form::Options | Form::Elicitation => Answer::Option(option),
        };
        Some(Next::Answer(answer))
    }
}

impl Asked {
    fn request(&self, calls: &Calls) -> Ask {
        let value = &self.value;
        match &self.form {
            Form::Elicitation => {
                let scope = ElicitationSessionScope::new(Arc::clone(&self.session));
                let scope = scope.tool_call_id(value.tool_use_id.clone().map(Into::into));
                Ask::Elicitation(Box::new(match &value.url {
                    Some(url) => elicitation::url(scope, &value.request_id, url),
                    None => elicitation::form(scope, &value.questions),
                }))
            }
            Form::Questions { answers } => match value.questions.get(answers.len()) {
                Some(question) => self.permission(calls, Some(&question.text), choices(question)),
                None => self.permission(calls, None, decisions()),
            },
            Form::Options => self.permission(calls, None, value.options.clone()),
            Form::Decision => self.permission(calls, value.url.as_deref(), decisions()),
        }
    }

    fn permission(&self, calls: &Calls, title: Option<&str>, options: Vec<RequestOption>) -> Ask {
        let id = self.value.tool_use_id.as_deref();
        let sent = id.and_then(|id| calls.sent(id));
        let mut call = match sent {
            Some(sent) => sent.clone().into(),
            None => CallUpdate {
                id: id.unwrap_or(&self.value.request_id).to_owned(),
                title: Some(self.value.tool_name.clone()),
                ..CallUpdate::default()
            },
        };
        call.status = Some(CallStatus::Pending);
        Ask::Permission(Box::new(PermissionRequest {
            session: Arc::clone(&self.session),
            call,
            title: title.map(str::to_owned),
            options,
        }))
    }
}

fn option(id: &str, name: &str, kind: AnswerKind) -> RequestOption {
    RequestOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
    }
}

fn decisions() -> Vec<RequestOption> {
    vec![
        option(ALLOW, "Allow", AnswerKind::AllowOnce),
        option(DENY, "Reject", AnswerKind::RejectOnce),
    ]
}

/// The choices of a question, and one that dismisses it.
fn choices(question: &Question) -> Vec<RequestOption> {
    let choice = |choice: &bowline_reducer::model::QuestionOption| {
        option(&choice.value, &choice.name, AnswerKind::AllowOnce)
    };
    let mut choices: Vec<_> = question.options.iter().map(choice).collect();
    choices.push(option(DENY, "Dismiss", AnswerKind::RejectOnce));
    choices
}
