//! Requests to the host: permissions, questions, URLs.

use serde::Serialize;

/// What a request asks for. See [`Asked::kind`](crate::Asked::kind).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RequestKind {
    /// Permission to do something: one of its options.
    #[default]
    Permission,
    /// Answers to its questions.
    Question,
    /// That the user opens a URL.
    Url,
}

/// An answer that the host may choose by its id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestOption {
    /// The id to answer with.
    pub id: String,
    /// Its label.
    pub name: String,
    /// What it does, by which a host chooses.
    pub kind: AnswerKind,
}

/// What an option does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnswerKind {
    /// Allows this call.
    AllowOnce,
    /// Allows this call and such calls in the future.
    AllowAlways,
    /// Rejects this call.
    RejectOnce,
    /// Rejects this call and such calls in the future.
    RejectAlways,
}

/// A question with an answer of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The id to answer with.
    pub id: String,
    /// A short label.
    pub title: Option<String>,
    /// The question.
    pub text: String,
    /// How it is answered.
    pub kind: QuestionKind,
    /// The choices; empty for free text.
    pub options: Vec<QuestionOption>,
    /// Whether the answer may be a text that is not among the choices.
    pub free_text: bool,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum QuestionKind {
    /// With one of its choices.
    #[default]
    Single,
    /// With any number of its choices.
    Multiple,
    /// With a text.
    Text,
}

/// A choice of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QuestionOption {
    /// The value to answer with.
    pub value: String,
    /// Its label.
    pub name: String,
    /// What it means.
    pub description: Option<String>,
}

/// The host or rule that answered a request, the kind of the answer, and its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AnsweredBy {
    /// The host, or `policy` for a rule; `None` if unknown.
    pub who: Option<String>,
    /// The rule; otherwise the id of the option, or `allow`, `deny`, `answer`, `cancel`.
    pub how: Option<String>,
    /// Milliseconds since the epoch of the host's clock.
    pub at_ms: Option<u64>,
}
