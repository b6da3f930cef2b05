//! Answers to permission requests, and their form on the wire (`crates/jsonl/PROTOCOL.md`).

use bowline_jsonl::Decision;
use serde_json::{Map, Value, json};

use super::{PermissionKind, PermissionRecord};
use crate::error::DialogueError;

/// An answer to a permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PermissionAnswer {
    /// Allows or denies the tool call; valid for a request of any kind.
    Decide(Decision),
    /// Chooses one of the request's options, by its id.
    Option(String),
    /// Dismisses the request: neither an answer nor a denial, where the agent's protocol has that.
    Cancel,
    /// Answers questions: pairs of a question's id, or its text, and the chosen answer.
    Answers(Vec<(String, String)>),
    /// Approves a plan.
    ApprovePlan {
        /// The permission mode from then on, such as `acceptEdits`; chosen by the agent when absent.
        mode: Option<String>,
    },
    /// Sends a plan back for another attempt.
    RejectPlan {
        /// What to change, as text for the model.
        feedback: String,
    },
}

impl From<Decision> for PermissionAnswer {
    fn from(decision: Decision) -> Self {
        Self::Decide(decision)
    }
}

impl PermissionAnswer {
    /// Returns the decision to send. Its JSON is checked and put on one line, since the agent exits
    /// on a malformed line.
    pub(crate) fn decision(&self, record: &PermissionRecord) -> Result<Decision, DialogueError> {
        match (self, &record.kind) {
            (Self::Decide(decision), _) => normalize(decision),
            (Self::Option(option), _) => option_of(option, record),
            (Self::Cancel, _) => Ok(Decision::deny("the user dismissed the request")),
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
            (Self::Answers(_), _) => Err(wrong_answer(record, "asks no questions")),
            _ => Err(wrong_answer(record, "is not a plan")),
        }
    }
}

/// Returns the decision that an option of Claude Code's requests stands for.
fn option_of(option: &str, record: &PermissionRecord) -> Result<Decision, DialogueError> {
    let is_offered = record.options.iter().any(|it| it.id == option);
    match option {
        _ if !is_offered => Err(wrong_answer(record, "has no such option")),
        "allow" => Ok(Decision::allow()),
        "allow_always" => Ok(Decision::Allow {
            updated_input: None,
            updated_permissions: record.suggestions.clone(),
        }),
        _ => Ok(Decision::deny("the user said no")),
    }
}

fn wrong_answer(record: &PermissionRecord, why: &'static str) -> DialogueError {
    DialogueError::WrongAnswer {
        request_id: record.request_id.clone(),
        why,
    }
}

/// Allows the call with the answers beside the original arguments.
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

/// Returns a `PermissionUpdate` that sets the permission mode.
fn set_mode(mode: &str) -> String {
    json!([{ "type": "setMode", "mode": mode, "destination": "session" }]).to_string()
}

fn normalize(decision: &Decision) -> Result<Decision, DialogueError> {
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
    let invalid = |reason: String| DialogueError::NotJson {
        what,
        reason,
        shape,
    };
    let value: Value = serde_json::from_str(json).map_err(|error| invalid(error.to_string()))?;
    if value.is_object() != (shape == "object") || value.is_array() != (shape == "array") {
        return Err(invalid("it is another kind of value".to_owned()));
    }
    Ok(Some(value.to_string()))
}
