//! Permission requests in the transcript.

use super::call::ByteRange;
use crate::core::reducer::{self, model};
use crate::mirror::mirror;

/// A permission request in the transcript. Absent values are unknown.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct PermissionView {
    /// The id to answer the request with.
    pub request_id: String,
    /// The tool call that needs permission.
    pub tool_use_id: Option<String>,
    /// The tool's name.
    pub tool_name: String,
    /// The state of the request.
    pub state: PermissionState,
    /// The tool's arguments as a JSON object; absent once the request is closed.
    pub input: Option<String>,
    /// What the request asks for.
    pub kind: RequestKind,
    /// The answers to choose from.
    pub options: Vec<RequestOption>,
    /// The questions to answer.
    pub questions: Vec<RequestQuestion>,
    /// The URL to open.
    pub url: Option<String>,
    /// The name of the thread that asks; absent on the main thread.
    pub thread: Option<String>,
    /// What a lasting answer would add, as the agent writes it.
    pub rule: Option<String>,
    /// The answer, if there is one.
    pub decided_by: Option<DecidedBy>,
    /// The request's line in the agent's output.
    pub bytes: ByteRange,
}

mirror! {
    /// The state of a permission request in the transcript.
    PermissionState = reducer::PermissionState, else Open {
        /// The request waits for an answer.
        Open,
        /// The host allowed it.
        Allowed,
        /// The host denied it.
        Denied,
        /// The request was answered, but the stream does not contain the answer.
        Answered,
        /// The agent cancelled the request.
        Withdrawn,
        /// The stream ended or the turn was interrupted before an answer.
        Expired,
        /// The stream ended before an answer, and the tool call was never announced.
        Orphaned,
    }
}

mirror! {
    /// What a request asks for.
    RequestKind = model::RequestKind, else Permission {
        /// One of its options.
        Permission,
        /// Answers to its questions.
        Question,
        /// That the user opens its URL.
        Url,
    }
}

/// An answer that the host may choose. A host chooses by kind and answers by id.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RequestOption {
    /// The id to answer with.
    pub id: String,
    /// The label.
    pub name: String,
    /// What the option does.
    pub kind: AnswerKind,
}

mirror! {
    /// What an option does.
    AnswerKind = model::AnswerKind, else RejectOnce {
        /// Allows this call.
        AllowOnce,
        /// Allows this call and such calls in the future.
        AllowAlways,
        /// Rejects this call.
        RejectOnce,
        /// Rejects this call and such calls in the future.
        RejectAlways,
    }
}

/// A question with an answer of its own.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RequestQuestion {
    /// The id to answer with.
    pub id: String,
    /// A short label.
    pub title: Option<String>,
    /// The question.
    pub text: String,
    /// How the question is answered.
    pub kind: QuestionKind,
    /// The choices; empty for free text.
    pub options: Vec<QuestionChoice>,
    /// Whether the answer may be a text that is not among the choices.
    pub free_text: bool,
}

mirror! {
    /// How a question is answered.
    QuestionKind = model::QuestionKind, else Text {
        /// With one of its choices.
        Single,
        /// With any number of its choices.
        Multiple,
        /// With a text.
        Text,
    }
}

/// A choice of a question.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct QuestionChoice {
    /// The value to answer with.
    pub value: String,
    /// The label.
    pub name: String,
    /// An explanation.
    pub description: Option<String>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct DecidedBy {
    /// The name of the host or of the rule.
    pub who: Option<String>,
    /// The id of the option, or `allow`, `deny`, `answer` or `cancel`.
    pub how: Option<String>,
    /// When it was decided, in milliseconds since 1970.
    pub at_ms: Option<u64>,
}

impl From<reducer::Permission<'_>> for PermissionView {
    fn from(it: reducer::Permission<'_>) -> Self {
        let asked = it.asked();
        let is_open = it.state() == reducer::PermissionState::Open;
        Self {
            request_id: it.request_id().to_owned(),
            tool_use_id: it.tool_use_id().map(str::to_owned),
            tool_name: it.tool_name().to_owned(),
            state: it.state().into(),
            input: is_open.then(|| it.input()).flatten(),
            kind: asked.kind.into(),
            options: asked.options.iter().map(Into::into).collect(),
            questions: asked.questions.iter().map(Into::into).collect(),
            url: asked.url.map(Into::into),
            thread: it.thread().map(str::to_owned),
            rule: asked.rule.map(Into::into),
            decided_by: it.answered().map(Into::into),
            bytes: it.bytes().into(),
        }
    }
}

impl From<&model::RequestOption> for RequestOption {
    fn from(it: &model::RequestOption) -> Self {
        Self {
            id: it.id.clone(),
            name: it.name.clone(),
            kind: it.kind.into(),
        }
    }
}

impl From<&model::Question> for RequestQuestion {
    fn from(it: &model::Question) -> Self {
        let choice = |it: &model::QuestionOption| QuestionChoice {
            value: it.value.clone(),
            name: it.name.clone(),
            description: it.description.clone(),
        };
        Self {
            id: it.id.clone(),
            title: it.title.clone(),
            text: it.text.clone(),
            kind: it.kind.into(),
            options: it.options.iter().map(choice).collect(),
            free_text: it.free_text,
        }
    }
}

impl From<&model::AnsweredBy> for DecidedBy {
    fn from(it: &model::AnsweredBy) -> Self {
        Self {
            who: it.who.clone(),
            how: it.how.clone(),
            at_ms: it.at_ms,
        }
    }
}
