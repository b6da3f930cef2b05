//! Permission requests as they are listed.

use bowline_jsonl::{CanUseTool, RawJson, Str};
use serde::Deserialize;

/// A permission request and what became of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PermissionRecord {
    /// Names the request; the agent chose it.
    pub request_id: String,
    /// The call that it is about.
    pub tool_use_id: Option<String>,
    /// The tool.
    pub tool_name: String,
    /// The sub-agent that asks; absent on the main thread.
    pub agent_id: Option<String>,
    /// What kind of answer is wanted.
    pub kind: PermissionKind,
    /// The tool's arguments, a JSON object. Empty once the request is closed.
    pub input: String,
    /// Rules that would make the request needless, a JSON array.
    pub suggestions: Option<String>,
    /// When it was asked, in milliseconds since 1970.
    pub asked_at_ms: u64,
    /// What became of it.
    pub state: RequestState,
    /// Who answered, if he gave a name.
    pub answered_by: Option<String>,
    /// Whether the answer was yes.
    pub allowed: Option<bool>,
}

/// What became of a permission request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestState {
    /// It waits for an answer.
    Open,
    /// The host answered.
    Answered,
    /// The agent took it back.
    Withdrawn,
    /// Nobody answered in time, or its turn was given up.
    Expired,
    /// The agent ended before an answer.
    Orphaned,
}

/// What kind of answer a request wants.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionKind {
    /// May a tool run?
    Tool,
    /// Questions to the user (`AskUserQuestion`): answer with
    /// [`PermissionAnswer::Answers`](super::PermissionAnswer::Answers).
    Questions(Vec<Question>),
    /// A plan that wants approval (`ExitPlanMode`): answer with
    /// [`PermissionAnswer::ApprovePlan`](super::PermissionAnswer::ApprovePlan) or
    /// [`PermissionAnswer::RejectPlan`](super::PermissionAnswer::RejectPlan).
    Plan {
        /// The plan, in Markdown; empty if the agent keeps it in a file.
        plan: String,
    },
}

/// One question to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Question {
    /// What is asked. Answers name it by this text.
    pub question: String,
    /// The question in a word or two.
    pub header: String,
    /// What can be chosen; words of one's own are an answer too.
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
    /// What it means.
    pub description: String,
}

impl RequestState {
    /// Whether an answer still counts.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Open)
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered already",
            Self::Withdrawn => "withdrawn by the agent",
            Self::Expired => "expired",
            Self::Orphaned => "orphaned by the end of the agent",
        }
    }
}

impl PermissionRecord {
    pub(crate) fn open(request_id: &str, ask: &CanUseTool<'_>, asked_at_ms: u64) -> Self {
        let owned = |text: Option<Str<'_>>| text.map(|text| text.decode().into_owned());
        let tool_name = owned(ask.tool_name).unwrap_or_default();
        let input = ask.input.map_or("{}", RawJson::text).to_owned();
        Self {
            kind: PermissionKind::of(&tool_name, &input),
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

#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    questions: Vec<Question>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Planned {
    plan: String,
}

impl PermissionKind {
    /// Arguments of another shape than these tools have make it a plain request.
    fn of(tool: &str, input: &str) -> Self {
        match tool {
            "AskUserQuestion" => match serde_json::from_str::<Asked>(input) {
                Ok(asked) if !asked.questions.is_empty() => Self::Questions(asked.questions),
                _ => Self::Tool,
            },
            "ExitPlanMode" => Self::Plan {
                plan: serde_json::from_str::<Planned>(input)
                    .unwrap_or_default()
                    .plan,
            },
            _ => Self::Tool,
        }
    }
}
