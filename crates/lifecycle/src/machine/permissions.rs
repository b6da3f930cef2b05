//! The agent's permission requests: each is answered once, by whoever comes first.

use std::collections::HashMap;

use bowline_jsonl::{CanUseTool, Decision, RawJson, permission};

use crate::error::DialogueError;

/// The permission requests of a session, by id.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    requests: HashMap<String, Request>,
}

#[derive(Debug)]
enum Request {
    /// The model's own arguments, which go back with an allow.
    Open(String),
    Closed(&'static str),
}

impl Permissions {
    /// A request that was seen before is sent again after a second `initialize`; it is one request.
    pub(crate) fn open(&mut self, request_id: &str, ask: &CanUseTool<'_>) {
        let input = ask.input.map_or("{}", RawJson::text).to_owned();
        self.requests
            .entry(request_id.to_owned())
            .or_insert(Request::Open(input));
    }

    pub(crate) fn withdraw(&mut self, request_id: &str) {
        if let Some(request @ Request::Open(_)) = self.requests.get_mut(request_id) {
            *request = Request::Closed("withdrawn by the agent");
        }
    }

    /// Every open request dies with the process.
    pub(crate) fn orphan(&mut self) {
        for request in self.requests.values_mut() {
            if matches!(request, Request::Open(_)) {
                *request = Request::Closed("orphaned by the end of the agent");
            }
        }
    }

    /// The line that answers a request.
    pub(crate) fn answer(
        &mut self,
        request_id: &str,
        decision: &Decision,
    ) -> Result<Vec<u8>, DialogueError> {
        let decision = &normalise(decision)?;
        let Some(request) = self.requests.get_mut(request_id) else {
            return Err(DialogueError::NoSuchRequest {
                request_id: request_id.to_owned(),
            });
        };
        let input = match request {
            Request::Open(input) => std::mem::take(input),
            Request::Closed(state) => {
                return Err(DialogueError::TooLate {
                    request_id: request_id.to_owned(),
                    state,
                });
            }
        };
        *request = Request::Closed("answered already");
        Ok(permission(request_id, decision, RawJson::parse(&input)))
    }
}

/// One bad line ends the real agent, so what the host gives is checked and put on one line.
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
    let value: serde_json::Value =
        serde_json::from_str(json).map_err(|error| refuse(error.to_string()))?;
    if value.is_object() != (shape == "object") || value.is_array() != (shape == "array") {
        return Err(refuse("it is another kind of value".to_owned()));
    }
    Ok(Some(value.to_string()))
}
