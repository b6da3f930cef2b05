//! Requests of the agent, and their answers.

use bowline_jsonl::acp::Elicitation;
use bowline_jsonl::acp::write::{self, ElicitationAction};
use bowline_jsonl::rpc::Id;
use serde_json::{Map, Value, json};

use super::Acp;
use crate::machine::protocol::Link;
use crate::machine::protocol::asked::{Choice, RequestDetail};
use crate::permission::{PermissionAnswer, PermissionRecord};

/// What the agent asks for, as far as the answer depends on it.
#[derive(Clone, Debug)]
pub(super) enum Asking {
    Permission,
    /// Values of a form, by the properties of this JSON schema.
    Form(Value),
    /// That the user opens a page.
    Page,
}

impl Asking {
    pub(super) fn of(elicitation: &Elicitation<'_>) -> Self {
        if elicitation.url.is_some() {
            return Self::Page;
        }
        let schema = elicitation.requested_schema;
        let properties = schema.and_then(|schema| schema.get("properties"));
        let parsed = properties.and_then(|it| serde_json::from_str(it.text()).ok());
        Self::Form(parsed.unwrap_or(Value::Null))
    }
}

impl Acp {
    pub(super) fn ask(&mut self, id: Id<'_>, asking: Asking, link: &mut Link<'_>) {
        let is_cancelled = self.prompt.as_ref().is_some_and(|it| it.is_cancelled);
        let instead = if is_cancelled {
            Some(PermissionAnswer::Cancel)
        } else {
            self.opening.rejection()
        };
        self.asked.ask(id, asking, instead, link);
    }
}

impl RequestDetail for Asking {
    fn encode(&self, id: Id<'_>, choice: Choice<'_>, record: &PermissionRecord) -> Vec<u8> {
        match (self, choice) {
            (Self::Permission, Choice::Option(option)) => write::permission(id, Some(&option.id)),
            (Self::Form(properties), Choice::Answers(answers)) => {
                let content = form(properties, answers, record).to_string();
                write::elicitation(id, ElicitationAction::Accept(&content))
            }
            (Self::Form(_) | Self::Page, Choice::Accept) => {
                write::elicitation(id, ElicitationAction::Accept("{}"))
            }
            (Self::Form(_) | Self::Page, Choice::Reject) => {
                write::elicitation(id, ElicitationAction::Decline)
            }
            _ => cancelled(id, self),
        }
    }
}

/// Encodes the answer to a request whose turn is cancelled.
pub(super) fn cancelled(id: Id<'_>, asking: &Asking) -> Vec<u8> {
    match asking {
        Asking::Permission => write::permission(id, None),
        Asking::Form(_) | Asking::Page => write::elicitation(id, ElicitationAction::Cancel),
    }
}

/// Returns the values of a form: the answers, which are given by a question's id or its text, in the
/// types of the schema.
fn form(properties: &Value, answers: &[(String, String)], record: &PermissionRecord) -> Value {
    let mut values = Map::new();
    for (key, answer) in answers {
        let questions = record.questions();
        let by_id = questions.iter().find(|it| it.id == *key);
        let question = by_id.or_else(|| questions.iter().find(|it| it.question == *key));
        let Some(question) = question else { continue };
        let kind = properties[&question.id]["type"].as_str();
        values.insert(question.id.clone(), value(kind, answer));
    }
    Value::Object(values)
}

fn value(kind: Option<&str>, answer: &str) -> Value {
    let parsed = match kind {
        Some("boolean") => answer.parse::<bool>().ok().map(Value::from),
        Some("integer") => answer.parse::<i64>().ok().map(Value::from),
        Some("number") => answer.parse::<f64>().ok().map(Value::from),
        Some("array") => Some(answer.split(", ").collect()),
        _ => None,
    };
    parsed.unwrap_or_else(|| json!(answer))
}
