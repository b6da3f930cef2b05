//! The agent's requests to the user.

use std::collections::HashMap;

use agent_client_protocol_schema::v1::{
    AgentRequest, CreateElicitationResponse, ElicitationSessionScope, PermissionOption,
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SessionId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use bowline_reducer::PermissionState;
use bowline_reducer::model::{AnswerKind, Question, RequestKind};
use bowline_reducer::owned::PermissionValue;
use serde_json::value::RawValue;

use super::elicitation;
use super::feed::{Calls, Declared};
use super::intent::Answer;

const ALLOW: &str = "allow";
const DENY: &str = "deny";

/// What an editor is asked, by the request's id in the transcript.
#[derive(Debug, Default)]
pub(super) struct Permissions {
    asked: HashMap<String, Asked>,
}

#[derive(Debug)]
struct Asked {
    form: Form,
    session: SessionId,
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

/// What follows from an editor's answer.
#[derive(Debug)]
pub(super) enum Next {
    /// The answer is complete.
    Answer(Answer),
    /// The next question.
    Ask(Box<AgentRequest>),
}

impl Permissions {
    /// Begins to ask a request; `None` unless it is open and was not asked before.
    pub(super) fn open(
        &mut self,
        value: &PermissionValue,
        session: SessionId,
        calls: &Calls,
        declared: Declared,
    ) -> Option<AgentRequest> {
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

    /// Notes under which id a request was sent to the editor.
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

    /// Takes the editor's answer. An error is none: another host may still answer.
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
    fn request(&self, calls: &Calls) -> AgentRequest {
        let value = &self.value;
        match &self.form {
            Form::Elicitation => {
                let scope = ElicitationSessionScope::new(self.session.clone());
                let scope = scope.tool_call_id(value.tool_use_id.clone().map(Into::into));
                let request = match &value.url {
                    Some(url) => elicitation::url(scope, &value.request_id, url),
                    None => elicitation::form(scope, &value.questions),
                };
                AgentRequest::CreateElicitationRequest(request)
            }
            Form::Questions { answers } => match value.questions.get(answers.len()) {
                Some(question) => self.permission(calls, Some(&question.text), choices(question)),
                None => self.permission(calls, None, decisions()),
            },
            Form::Options => self.permission(calls, None, options(value)),
            Form::Decision => self.permission(calls, value.url.as_deref(), decisions()),
        }
    }

    fn permission(
        &self,
        calls: &Calls,
        title: Option<&str>,
        options: Vec<PermissionOption>,
    ) -> AgentRequest {
        let id = self.value.tool_use_id.as_deref();
        let sent = id.and_then(|id| calls.sent(id));
        let mut call = match sent {
            Some(sent) => ToolCallUpdate::from(sent.clone()),
            None => {
                let id = id.unwrap_or(&self.value.request_id).to_owned();
                let fields = ToolCallUpdateFields::new().title(self.value.tool_name.clone());
                ToolCallUpdate::new(id, fields)
            }
        };
        call.fields.status = Some(ToolCallStatus::Pending);
        if let Some(title) = title {
            call.fields.title = Some(title.to_owned());
        }
        let request = RequestPermissionRequest::new(self.session.clone(), call, options);
        AgentRequest::RequestPermissionRequest(request)
    }
}

fn options(value: &PermissionValue) -> Vec<PermissionOption> {
    let option = |option: &bowline_reducer::model::RequestOption| {
        let kind = match option.kind {
            AnswerKind::AllowOnce => PermissionOptionKind::AllowOnce,
            AnswerKind::AllowAlways => PermissionOptionKind::AllowAlways,
            AnswerKind::RejectOnce => PermissionOptionKind::RejectOnce,
            AnswerKind::RejectAlways => PermissionOptionKind::RejectAlways,
            _ => PermissionOptionKind::RejectOnce,
        };
        PermissionOption::new(option.id.clone(), option.name.clone(), kind)
    };
    value.options.iter().map(option).collect()
}

fn decisions() -> Vec<PermissionOption> {
    vec![
        PermissionOption::new(ALLOW, "Allow", PermissionOptionKind::AllowOnce),
        PermissionOption::new(DENY, "Reject", PermissionOptionKind::RejectOnce),
    ]
}

/// The choices of a question, and one that dismisses it.
fn choices(question: &Question) -> Vec<PermissionOption> {
    let choice = |choice: &bowline_reducer::model::QuestionOption| {
        let kind = PermissionOptionKind::AllowOnce;
        PermissionOption::new(choice.value.clone(), choice.name.clone(), kind)
    };
    let mut choices: Vec<_> = question.options.iter().map(choice).collect();
    let kind = PermissionOptionKind::RejectOnce;
    choices.push(PermissionOption::new(DENY, "Dismiss", kind));
    choices
}
