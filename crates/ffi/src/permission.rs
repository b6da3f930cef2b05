//! Permission requests and their answers.

use crate::change::RequestOption;
use crate::core;
use crate::mirror::mirror;

/// A permission request and its answer.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct PermissionRecord {
    /// The request's id, chosen by the agent.
    pub request_id: String,
    /// The id of the tool call that needs permission.
    pub tool_use_id: Option<String>,
    /// The tool's name.
    pub tool_name: String,
    /// The id of the sub-agent that sent the request; absent on the main thread.
    pub agent_id: Option<String>,
    /// The kind of answer that the request expects.
    pub kind: PermissionKind,
    /// The tool's arguments as a JSON object. Empty once the request is closed.
    pub input: String,
    /// Rules that would make the request unnecessary, a JSON array.
    pub suggestions: Option<String>,
    /// The answers to choose from with `Choose`; empty for questions.
    pub options: Vec<RequestOption>,
    /// When the request arrived, in milliseconds since 1970.
    pub asked_at_ms: u64,
    /// The state of the request.
    pub state: RequestState,
    /// The name of the person or program that answered, if given; `policy` for a rule.
    pub answered_by: Option<String>,
    /// The rule that answered, and its file.
    pub answered_how: Option<String>,
    /// Whether the tool was allowed; absent without an answer.
    pub is_allowed: Option<bool>,
}

mirror! {
    /// The state of a permission request.
    RequestState = core::RequestState, else Orphaned {
        /// The request waits for an answer.
        Open,
        /// A host or a rule answered.
        Answered,
        /// The agent cancelled the request.
        Withdrawn,
        /// The request timed out, or its turn was interrupted.
        Expired,
        /// The agent exited before an answer.
        Orphaned,
    }
}

/// The kind of answer that a permission request expects.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PermissionKind {
    /// Whether a tool may run.
    Tool,
    /// Answers to questions.
    Questions {
        /// The questions.
        questions: Vec<Question>,
    },
    /// Approval of a plan.
    Plan {
        /// The plan, in Markdown.
        plan: String,
    },
    /// That the user opens a page: allow the request when that is done.
    Url {
        /// The page's address.
        url: String,
    },
}

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Question {
    /// The question's id, which identifies it in `QuestionAnswer`; its text if the agent gives none.
    pub id: String,
    /// The question's text, which also identifies it.
    pub question: String,
    /// A heading of a word or two.
    pub header: String,
    /// The options. Free text is also a valid answer.
    pub options: Vec<QuestionOption>,
    /// Whether several options can be chosen. Their labels are joined by a comma and a space.
    pub is_multi_select: bool,
}

/// An option of a question.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct QuestionOption {
    /// The label, which is the answer.
    pub label: String,
    /// An explanation of the option.
    pub description: String,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct QuestionAnswer {
    /// The question's id or its text.
    pub question: String,
    /// The chosen label, or free text.
    pub answer: String,
}

/// An answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PermissionAnswer {
    /// Allows the tool.
    Allow {
        /// Replaces the tool's arguments, a JSON object; the model's own when absent.
        updated_input: Option<String>,
        /// Permission rules to remember, a JSON array.
        updated_permissions: Option<String>,
    },
    /// Denies the tool.
    Deny {
        /// The reason, for the model.
        reason: String,
        /// Whether to end the turn as well.
        interrupt: bool,
    },
    /// Answers questions.
    Answers {
        /// One answer for each question.
        answers: Vec<QuestionAnswer>,
    },
    /// Approves a plan.
    ApprovePlan {
        /// The permission mode from then on; the agent's choice when absent.
        mode: Option<String>,
    },
    /// Rejects a plan.
    RejectPlan {
        /// The feedback, for the model.
        feedback: String,
    },
    /// Chooses one of the request's options.
    Choose {
        /// The option's id.
        option: String,
    },
    /// Gives no answer. The tool is denied.
    Dismiss,
}

impl From<PermissionAnswer> for core::PermissionAnswer {
    fn from(answer: PermissionAnswer) -> Self {
        match answer {
            PermissionAnswer::Allow {
                updated_input,
                updated_permissions,
            } => Self::Decide(core::Decision::Allow {
                updated_input,
                updated_permissions,
            }),
            PermissionAnswer::Deny { reason, interrupt } => Self::Decide(core::Decision::Deny {
                message: reason,
                interrupt,
            }),
            PermissionAnswer::Answers { answers } => {
                let pair = |it: QuestionAnswer| (it.question, it.answer);
                Self::Answers(answers.into_iter().map(pair).collect())
            }
            PermissionAnswer::ApprovePlan { mode } => Self::ApprovePlan { mode },
            PermissionAnswer::RejectPlan { feedback } => Self::RejectPlan { feedback },
            PermissionAnswer::Choose { option } => Self::Option(option),
            PermissionAnswer::Dismiss => Self::Cancel,
        }
    }
}

impl From<&core::PermissionRecord> for PermissionRecord {
    fn from(it: &core::PermissionRecord) -> Self {
        Self {
            request_id: it.request_id.clone(),
            tool_use_id: it.tool_use_id.clone(),
            tool_name: it.tool_name.clone(),
            agent_id: it.agent_id.clone(),
            kind: (&it.kind).into(),
            input: it.input.clone(),
            suggestions: it.suggestions.clone(),
            options: it.options.iter().map(Into::into).collect(),
            asked_at_ms: it.asked_at_ms,
            state: it.state.into(),
            answered_by: it.answered_by.clone(),
            answered_how: it.answered_how.clone(),
            is_allowed: it.allowed,
        }
    }
}

impl From<&core::PermissionKind> for PermissionKind {
    fn from(kind: &core::PermissionKind) -> Self {
        match kind {
            core::PermissionKind::Questions(questions) => Self::Questions {
                questions: questions.iter().map(Into::into).collect(),
            },
            core::PermissionKind::Plan { plan } => Self::Plan { plan: plan.clone() },
            core::PermissionKind::Url { url } => Self::Url { url: url.clone() },
            _ => Self::Tool,
        }
    }
}

impl From<&core::Question> for Question {
    fn from(it: &core::Question) -> Self {
        let option = |it: &core::QuestionOption| QuestionOption {
            label: it.label.clone(),
            description: it.description.clone(),
        };
        Self {
            id: it.id.clone(),
            question: it.question.clone(),
            header: it.header.clone(),
            options: it.options.iter().map(option).collect(),
            is_multi_select: it.multi_select,
        }
    }
}
