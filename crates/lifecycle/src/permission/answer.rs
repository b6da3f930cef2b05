//! Answers, and what they become on the wire.

use bowline_jsonl::Decision;
use serde_json::{Map, Value, json};

use super::{PermissionKind, PermissionRecord};
use crate::error::DialogueError;

/// An answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionAnswer {
    /// Whether the tool may run; it answers a request of any kind.
    Decide(Decision),
    /// The answers to questions: each question's text with what was chosen.
    Answers(Vec<(String, String)>),
    /// The plan is to be carried out.
    ApprovePlan {
        /// The permission mode that holds from then on, such as `acceptEdits`; the agent's own
        /// choice when absent.
        mode: Option<String>,
    },
    /// The plan is to be made again.
    RejectPlan {
        /// What is wrong with it; the model is told.
        feedback: String,
    },
}

impl From<Decision> for PermissionAnswer {
    fn from(decision: Decision) -> Self {
        Self::Decide(decision)
    }
}

impl PermissionAnswer {
    /// The decision that says it, with JSON that stands on one line: one bad line ends the real
    /// agent.
    pub(crate) fn decision(&self, record: &PermissionRecord) -> Result<Decision, DialogueError> {
        match (self, &record.kind) {
            (Self::Decide(decision), _) => normalise(decision),
            (Self::Answers(answers), PermissionKind::Questions(_)) => {
                Ok(with_answers(answers, &record.input))
            }
            (Self::ApprovePlan { mode }, PermissionKind::Plan { .. }) => Ok(Decision::Allow {
                updated_input: None,
                updated_permissions: mode.as_deref().map(set_mode),
            }),
            (Self::RejectPlan { feedback }, PermissionKind::Plan { .. }) => {
                Ok(Decision::deny(feedback))
            }
            (Self::Answers(_), _) => Err(self.misfit(record, "asks no questions")),
            _ => Err(self.misfit(record, "is no plan")),
        }
    }

    fn misfit(&self, record: &PermissionRecord, why: &'static str) -> DialogueError {
        DialogueError::WrongAnswer {
            request_id: record.request_id.clone(),
            why,
        }
    }
}

/// The original input and the answers beside it (protocol, section B.5).
fn with_answers(answers: &[(String, String)], input: &str) -> Decision {
    let input = serde_json::from_str(input).unwrap_or_default();
    let Value::Object(mut input) = input else {
        return Decision::allow();
    };
    let chosen = answers
        .iter()
        .map(|(question, answer)| (question.clone(), json!(answer)));
    input.insert(
        "answers".to_owned(),
        Value::Object(chosen.collect::<Map<_, _>>()),
    );
    Decision::Allow {
        updated_input: Some(Value::Object(input).to_string()),
        updated_permissions: None,
    }
}

/// A `PermissionUpdate` (protocol, section B.5).
fn set_mode(mode: &str) -> String {
    json!([{ "type": "setMode", "mode": mode, "destination": "session" }]).to_string()
}

fn normalise(decision: &Decision) -> Result<Decision, DialogueError> {
    let Decision::Allow {
        updated_input,
        updated_permissions,
    } = decision
    else {
        return Ok(decision.clone());
    };
    Ok(Decision::Allow {
        updated_input: one_line(updated_input.as_deref(), "the updated input", "object")?,
        updated_permissions: one_line(updated_permissions.as_deref(), "the rules", "array")?,
    })
}

fn one_line(
    json: Option<&str>,
    what: &'static str,
    shape: &'static str,
) -> Result<Option<String>, DialogueError> {
    let Some(json) = json else { return Ok(None) };
    let refuse = |reason: String| DialogueError::NotJson {
        what,
        reason,
        shape,
    };
    let value: Value = serde_json::from_str(json).map_err(|error| refuse(error.to_string()))?;
    if value.is_object() != (shape == "object") || value.is_array() != (shape == "array") {
        return Err(refuse("it is another kind of value".to_owned()));
    }
    Ok(Some(value.to_string()))
}
