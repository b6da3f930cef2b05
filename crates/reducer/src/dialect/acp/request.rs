//! Requests of the agent, and the host's answers.

use bowline_jsonl::acp::{
    Elicitation, ElicitationAnswer, PermissionAnswer, PermissionOption, PermissionRequest,
};
use bowline_jsonl::rpc::{Id, RpcError};
use bowline_jsonl::{RawJson, Str};

use crate::dialect::acp::update::owned;
use crate::dialect::acp::{Acp, AskedRequest, request_name};
use crate::fold::primitives::{CallEnd, CallUpdate, Request};
use crate::model::{
    AnswerKind, Question, QuestionKind, QuestionOption, RequestKind, RequestOption,
};
use crate::state::{CallState, PermissionState};
use crate::transcript::Fold;

impl Acp {
    pub(super) fn permission(
        &mut self,
        id: Id<'_>,
        request: &PermissionRequest<'_>,
        line: RawJson<'_>,
        fold: &mut Fold<'_>,
    ) {
        self.flush_prompt(fold);
        let session = request.session_id;
        self.call(session, &request.tool_call, fold);
        let call = request.tool_call.tool_call_id;
        let call = call.map(|call| self.call_name(session, call));
        let rejecting = |option: &PermissionOption<'_>| {
            option
                .kind
                .is_some_and(|kind| kind.decode().starts_with("reject"))
        };
        let asked = AskedRequest {
            name: request_name(id, fold),
            call,
            thread: self.thread(session, fold),
            rejecting: request
                .options()
                .filter(rejecting)
                .map(|option| owned(option.option_id))
                .collect(),
        };
        let tool = request.tool_call.name.or(request.tool_call.kind);
        let opened = Request {
            options: request.options().map(|option| option_of(&option)).collect(),
            ..opened(RequestKind::Permission, &asked, line)
        };
        let tool = tool.unwrap_or_default().decode();
        self.ask(
            id,
            asked.clone(),
            Request {
                tool_name: &tool,
                ..opened
            },
            fold,
        );
    }

    pub(super) fn elicitation(
        &mut self,
        id: Id<'_>,
        request: &Elicitation<'_>,
        line: RawJson<'_>,
        fold: &mut Fold<'_>,
    ) {
        self.flush_prompt(fold);
        let session = request.session_id;
        let call = request.tool_call_id;
        let asked = AskedRequest {
            name: request_name(id, fold),
            call: call.map(|call| self.call_name(session, call)),
            thread: self.thread(session, fold),
            rejecting: Vec::new(),
        };
        let kind = match request.url {
            Some(_) => RequestKind::Url,
            None => RequestKind::Question,
        };
        let opened = Request {
            tool_name: "elicitation",
            questions: questions(request),
            url: request.url.map(|url| url.decode().into_owned()),
            ..opened(kind, &asked, line)
        };
        self.ask(id, asked.clone(), opened, fold);
    }

    fn ask(&mut self, id: Id<'_>, asked: AskedRequest, request: Request<'_>, fold: &mut Fold<'_>) {
        fold.open_request(&asked.name, request);
        self.asked.insert(id.text().to_owned(), asked);
    }

    /// The agent no longer asks.
    pub(super) fn withdraw(&mut self, id: Option<Id<'_>>, fold: &mut Fold<'_>) {
        let asked = id.and_then(|id| self.asked.remove(id.text()));
        if let Some(asked) = asked {
            fold.withdraw_request(&asked.name);
        }
    }

    /// The host's answer to a request of the agent.
    pub(super) fn answer(
        &mut self,
        id: Option<Id<'_>>,
        result: Result<RawJson<'_>, RpcError<'_>>,
        fold: &mut Fold<'_>,
    ) {
        let Some(asked) = id.and_then(|id| self.asked.remove(id.text())) else {
            return;
        };
        let (state, how) = match result {
            Ok(result) => answer_of(result, &asked),
            Err(_) => (PermissionState::Answered, "cancel".to_owned()),
        };
        fold.answer_request(&asked.name, state, &how, None);
        let rejected = asked.call.filter(|_| state == PermissionState::Denied);
        if let Some(call) = rejected.filter(|_| !asked.rejecting.is_empty()) {
            // Some agents say no more about a call that was rejected.
            let call = fold.upsert_call(asked.thread, &call, CallUpdate::default());
            let end = CallEnd {
                state: CallState::Failed,
                text: None,
                raw: None,
            };
            fold.end_call(call, end);
        }
    }
}

fn opened<'a>(kind: RequestKind, asked: &'a AskedRequest, raw: RawJson<'a>) -> Request<'a> {
    Request {
        kind,
        thread: asked.thread,
        call: asked.call.as_deref(),
        tool_name: "",
        options: Vec::new(),
        questions: Vec::new(),
        url: None,
        rule: None,
        raw,
    }
}

fn answer_of(result: RawJson<'_>, asked: &AskedRequest) -> (PermissionState, String) {
    let outcome = PermissionAnswer::parse(result).outcome;
    if let Some(option) = outcome.option_id {
        let option = option.decode().into_owned();
        let state = if asked.rejecting.contains(&option) {
            PermissionState::Denied
        } else {
            PermissionState::Allowed
        };
        return (state, option);
    }
    let action = ElicitationAnswer::parse(result).action.map(Str::decode);
    let (state, how) = match action.as_deref() {
        Some("accept") => (PermissionState::Answered, "answer"),
        Some("decline") => (PermissionState::Denied, "deny"),
        _ => (PermissionState::Answered, "cancel"),
    };
    (state, how.to_owned())
}

fn option_of(option: &PermissionOption<'_>) -> RequestOption {
    let kind = option.kind.unwrap_or_default().decode();
    RequestOption {
        id: owned(option.option_id),
        name: owned(option.name),
        kind: match &*kind {
            "allow_always" => AnswerKind::AllowAlways,
            "reject_once" => AnswerKind::RejectOnce,
            "reject_always" => AnswerKind::RejectAlways,
            _ => AnswerKind::AllowOnce,
        },
    }
}

/// The properties of a form: those with choices, and those without.
fn questions(request: &Elicitation<'_>) -> Vec<Question> {
    let schema = request.requested_schema;
    let properties = schema.and_then(|schema| schema.get("properties"));
    let properties = properties.into_iter().flat_map(RawJson::members);
    let question = |(id, property): (Str<'_>, RawJson<'_>)| {
        let text = |key| property.get(key).and_then(RawJson::as_str);
        let options = options_of(property);
        let kind = match (text("type"), options.is_empty()) {
            (Some(kind), _) if kind == "array" => QuestionKind::Multiple,
            (_, true) => QuestionKind::Text,
            _ => QuestionKind::Single,
        };
        Question {
            id: id.decode().into_owned(),
            title: text("title").map(|title| title.decode().into_owned()),
            text: owned(text("description").or(request.message)),
            kind,
            free_text: kind == QuestionKind::Text,
            options,
        }
    };
    properties.map(question).collect()
}

fn options_of(property: RawJson<'_>) -> Vec<QuestionOption> {
    let items = property.get("items").unwrap_or(property);
    let list = items.get("oneOf").or_else(|| items.get("anyOf"));
    let option = |value: RawJson<'_>| {
        let text = |key| value.get(key).and_then(RawJson::as_str);
        let id = owned(text("const"));
        QuestionOption {
            name: text("title").map_or_else(|| id.clone(), |name| name.decode().into_owned()),
            value: id,
            description: text("description").map(|it| it.decode().into_owned()),
        }
    };
    let plain = items.get("enum").into_iter().flat_map(RawJson::elements);
    let plain = plain
        .filter_map(RawJson::as_str)
        .map(|value| QuestionOption {
            value: value.decode().into_owned(),
            name: value.decode().into_owned(),
            description: None,
        });
    let named = list.into_iter().flat_map(RawJson::elements).map(option);
    named.chain(plain).collect()
}
