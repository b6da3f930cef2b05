//! A permission request as readers see it.

use bowline_jsonl::{CanUseTool, RawJson, Str};
use bowline_reducer::Permission;
use bowline_reducer::model::{self, AnswerKind, RequestKind, RequestOption};
use serde::Deserialize;
use serde_json::{Map, Value};

/// A permission request and its outcome.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PermissionRecord {
    /// Id of the request, chosen by the agent.
    pub request_id: String,
    /// The tool call that needs the permission.
    pub tool_use_id: Option<String>,
    /// Name of the tool.
    pub tool_name: String,
    /// The sub-agent that asks; absent on the main thread.
    pub agent_id: Option<String>,
    /// The kind of answer that the request needs.
    pub kind: PermissionKind,
    /// The tool's arguments, a JSON object. Empty once the request is closed.
    pub input: String,
    /// Rules that would make the request unnecessary, a JSON array.
    pub suggestions: Option<String>,
    /// When the agent asked, in milliseconds since 1970.
    pub asked_at_ms: u64,
    /// The answers to choose from by their id, with what each does; empty for questions.
    pub options: Vec<RequestOption>,
    /// Whether the request is open, and how it was closed.
    pub state: RequestState,
    /// The client that answered, if it gave a name.
    pub answered_by: Option<String>,
    /// Whether the answer allowed the tool call; absent unless it is known.
    pub allowed: Option<bool>,
}

/// State of a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestState {
    /// The request waits for an answer.
    Open,
    /// A client allowed or denied it.
    Answered,
    /// The agent cancelled it.
    Withdrawn,
    /// No answer came in time, or its turn was aborted.
    Expired,
    /// The agent exited before an answer.
    Orphaned,
}

/// The kind of answer that a permission request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionKind {
    /// Whether a tool may run.
    Tool,
    /// Questions to the user (`AskUserQuestion`): answer with
    /// [`PermissionAnswer::Answers`](super::PermissionAnswer::Answers).
    Questions(Vec<Question>),
    /// A plan to approve (`ExitPlanMode`): answer with
    /// [`PermissionAnswer::ApprovePlan`](super::PermissionAnswer::ApprovePlan) or
    /// [`PermissionAnswer::RejectPlan`](super::PermissionAnswer::RejectPlan).
    Plan {
        /// The plan, in Markdown; empty if the agent keeps it in a file.
        plan: String,
    },
    /// A page that the user opens: allow the request when that is done.
    Url {
        /// Its address.
        url: String,
    },
}

/// One question to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Question {
    /// Its id; the text itself where the agent gives none. Answers refer to it by the id or the text.
    #[serde(skip)]
    pub id: String,
    /// The question.
    pub question: String,
    /// A title of one or two words.
    pub header: String,
    /// The options; free text is a valid answer, too.
    pub options: Vec<QuestionOption>,
    /// Whether several options can be chosen; their labels are joined by a comma and a space.
    #[serde(rename = "multiSelect")]
    pub multi_select: bool,
}

/// One option of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct QuestionOption {
    /// The answer.
    pub label: String,
    /// An explanation of it.
    pub description: String,
}

impl RequestState {
    /// Returns whether the request still accepts an answer.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open)
    }

    pub(super) const fn describe(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "already answered",
            Self::Withdrawn => "cancelled by the agent",
            Self::Expired => "expired",
            Self::Orphaned => "closed by the end of the agent",
        }
    }
}

impl PermissionRecord {
    pub(crate) fn open(request_id: &str, ask: &CanUseTool<'_>, asked_at_ms: u64) -> Self {
        let owned = |text: Option<Str<'_>>| text.map(|text| text.decode().into_owned());
        let tool_name = owned(ask.tool_name).unwrap_or_default();
        let input = ask.input.map_or("{}", RawJson::text).to_owned();
        let kind = PermissionKind::of(&tool_name, &input);
        // Anything but a list with a rule is nothing that an answer could repeat.
        let mut rules = ask.permission_suggestions.map(RawJson::elements);
        let is_lasting = rules.as_mut().is_some_and(|it| it.next().is_some());
        Self {
            options: options_of(&kind, is_lasting),
            kind,
            request_id: request_id.to_owned(),
            tool_use_id: owned(ask.tool_use_id),
            tool_name,
            agent_id: owned(ask.agent_id),
            input,
            suggestions: ask.permission_suggestions.map(|it| it.text().to_owned()),
            asked_at_ms,
            state: RequestState::Open,
            answered_by: None,
            allowed: None,
        }
    }
}

impl PermissionRecord {
    /// Returns a request that a transcript has, of an agent whose dialect says all of it.
    pub(crate) fn of_request(request: &Permission<'_>, asked_at_ms: u64) -> Self {
        let asked = request.asked();
        let questions = asked.questions.iter().map(Question::of);
        Self {
            kind: match (asked.kind, asked.url) {
                (RequestKind::Url, Some(url)) => PermissionKind::Url {
                    url: url.to_owned(),
                },
                (RequestKind::Question, _) => PermissionKind::Questions(questions.collect()),
                _ => PermissionKind::Tool,
            },
            request_id: request.request_id().to_owned(),
            tool_use_id: request.tool_use_id().map(str::to_owned),
            tool_name: request.tool_name().to_owned(),
            agent_id: request.agent_id().map(str::to_owned),
            input: input_of(&request.request().text()),
            suggestions: None,
            asked_at_ms,
            options: asked.options.into_owned(),
            state: RequestState::Open,
            answered_by: None,
            allowed: None,
        }
    }

    /// Returns the questions that it asks.
    #[must_use]
    pub fn questions(&self) -> &[Question] {
        match &self.kind {
            PermissionKind::Questions(questions) => questions,
            _ => &[],
        }
    }

    pub(crate) fn has_questions(&self) -> bool {
        matches!(self.kind, PermissionKind::Questions(_))
    }
}

/// Members of a request's parameters that say what is asked for.
const SHOWN: [&str; 7] = [
    "command",
    "cwd",
    "reason",
    "grantRoot",
    "permissions",
    "message",
    "url",
];

/// Returns what a JSON-RPC request asks for, as a JSON object: the arguments of its tool call, or the
/// members that a user can judge.
fn input_of(request: &str) -> String {
    let mut request: Value = serde_json::from_str(request).unwrap_or_default();
    let params = request["params"].take();
    let call = &params["toolCall"];
    let mut shown = match &call["rawInput"] {
        Value::Object(input) => input.clone(),
        _ => Map::new(),
    };
    if shown.is_empty()
        && let Some(title) = call["title"].as_str()
    {
        shown.insert("title".to_owned(), title.into());
    }
    for name in SHOWN {
        if let Some(value) = params.get(name).filter(|it| !it.is_null()) {
            shown.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(shown).to_string()
}

/// The options of a request of Claude Code, which gives them no ids.
fn options_of(kind: &PermissionKind, is_lasting: bool) -> Vec<RequestOption> {
    if matches!(kind, PermissionKind::Questions(_)) {
        return Vec::new();
    }
    let option = |id: &str, name: &str, kind| RequestOption {
        id: id.to_owned(),
        name: name.to_owned(),
        kind,
    };
    let mut options = vec![option("allow", "Allow", AnswerKind::AllowOnce)];
    if is_lasting {
        options.push(option(
            "allow_always",
            "Always allow",
            AnswerKind::AllowAlways,
        ));
    }
    options.push(option("deny", "Deny", AnswerKind::RejectOnce));
    options
}

impl Question {
    fn of(asked: &model::Question) -> Self {
        let options = asked.options.iter().map(|option| QuestionOption {
            label: option.value.clone(),
            description: option.description.clone().unwrap_or_default(),
        });
        Self {
            id: asked.id.clone(),
            question: asked.text.clone(),
            header: asked.title.clone().unwrap_or_default(),
            options: options.collect(),
            multi_select: asked.kind == model::QuestionKind::Multiple,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct QuestionsInput {
    questions: Vec<Question>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PlanInput {
    plan: String,
}

impl PermissionKind {
    /// Returns the kind for a tool and its arguments. Arguments of an unknown shape make it a plain
    /// tool permission.
    fn of(tool: &str, input: &str) -> Self {
        match tool {
            "AskUserQuestion" => match serde_json::from_str::<QuestionsInput>(input) {
                Ok(mut input) if !input.questions.is_empty() => {
                    for question in &mut input.questions {
                        question.id.clone_from(&question.question);
                    }
                    Self::Questions(input.questions)
                }
                _ => Self::Tool,
            },
            "ExitPlanMode" => Self::Plan {
                plan: serde_json::from_str::<PlanInput>(input)
                    .unwrap_or_default()
                    .plan,
            },
            _ => Self::Tool,
        }
    }
}
