//! A permission request as readers see it.

use bowline_jsonl::{CanUseTool, RawJson, Str};
use serde::Deserialize;

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
    /// Whether the request is open, and how it was closed.
    pub state: RequestState,
    /// The client that answered, if it gave a name.
    pub answered_by: Option<String>,
    /// Whether the answer allowed the tool call; absent unless answered.
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
}

/// One question to the user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Question {
    /// The question. Answers refer to it by this text.
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
                Ok(input) if !input.questions.is_empty() => Self::Questions(input.questions),
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
