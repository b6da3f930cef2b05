//! Permission requests and their answers.

use crate::core;

use crate::mirror::mirror;

/// A permission request and what became of it.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
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
    pub is_allowed: Option<bool>,
}

mirror! {
    /// What became of a permission request.
    RequestState = core::RequestState, else Orphaned {
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
}

/// What kind of answer a request wants.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PermissionKind {
    /// May a tool run?
    Tool,
    /// Questions to the user.
    Questions {
        /// The questions.
        questions: Vec<Question>,
    },
    /// A plan that wants approval.
    Plan {
        /// The plan, in Markdown.
        plan: String,
    },
}

/// One question to the user.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct Question {
    /// What is asked. Answers name it by this text.
    pub question: String,
    /// The question in a word or two.
    pub header: String,
    /// What can be chosen; words of one's own are an answer too.
    pub options: Vec<QuestionOption>,
    /// Whether several options can be chosen; their labels are joined by a comma and a space.
    pub is_multi_select: bool,
}

/// One option of a question.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct QuestionOption {
    /// The answer.
    pub label: String,
    /// What it means.
    pub description: String,
}

/// The answer to one question.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct QuestionAnswer {
    /// The question's text.
    pub question: String,
    /// What was chosen.
    pub answer: String,
}

/// An answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum PermissionAnswer {
    /// The tool may run.
    Allow {
        /// Other arguments than the model's, a JSON object; the model's own when absent.
        updated_input: Option<String>,
        /// Rules to remember, a JSON array.
        updated_permissions: Option<String>,
    },
    /// The tool may not run.
    Deny {
        /// What the model is told.
        reason: String,
        /// End the turn as well.
        interrupt: bool,
    },
    /// The answers to questions.
    Answers {
        /// One for each question.
        answers: Vec<QuestionAnswer>,
    },
    /// The plan is to be carried out.
    ApprovePlan {
        /// The permission mode that holds from then on; the agent's own choice when absent.
        mode: Option<String>,
    },
    /// The plan is to be made again.
    RejectPlan {
        /// What is wrong with it; the model is told.
        feedback: String,
    },
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
            asked_at_ms: it.asked_at_ms,
            state: it.state.into(),
            answered_by: it.answered_by.clone(),
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
            question: it.question.clone(),
            header: it.header.clone(),
            options: it.options.iter().map(option).collect(),
            is_multi_select: it.multi_select,
        }
    }
}
