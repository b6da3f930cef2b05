//! JSON-RPC: the kinds of line, and the host's answers to requests of the agent.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Error codes of JSON-RPC 2.0 and of ACP (`crates/jsonl/PROTOCOL-acp.md`, Errors).
pub(crate) const PARSE_ERROR: i64 = -32700;
pub(crate) const INVALID_REQUEST: i64 = -32600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
pub(crate) const INTERNAL_ERROR: i64 = -32603;
pub(crate) const AUTH_REQUIRED: i64 = -32000;
pub(crate) const NOT_FOUND: i64 = -32002;

/// A line of the host.
pub(crate) enum HostLine {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
    },
    /// An answer; the result, or the message of the error.
    Response {
        id: Value,
        result: Result<Value, String>,
    },
    /// Whitespace.
    Blank,
    /// No JSON.
    Malformed,
}

impl HostLine {
    /// Parses a line.
    pub(crate) fn parse(line: &[u8]) -> Self {
        if line.iter().all(u8::is_ascii_whitespace) {
            return Self::Blank;
        }
        let Ok(Value::Object(mut line)) = serde_json::from_slice(line) else {
            return Self::Malformed;
        };
        let params = line.shift_remove("params").unwrap_or_default();
        let method = line.shift_remove("method");
        match (line.shift_remove("id"), method) {
            (Some(id), Some(Value::String(method))) => Self::Request { id, method, params },
            (None, Some(Value::String(method))) => Self::Notification { method },
            (Some(id), None) => {
                let result = match line.shift_remove("error") {
                    Some(error) => Err(error["message"].as_str().unwrap_or_default().to_owned()),
                    None => Ok(line.shift_remove("result").unwrap_or_default()),
                };
                Self::Response { id, result }
            }
            _ => Self::Malformed,
        }
    }
}

/// The open requests of the agent, whose ids count from 0.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    next: u64,
    open: BTreeMap<u64, String>,
}

impl Asked {
    /// Returns the id for the player's request.
    pub(crate) fn open(&mut self, request_id: &str) -> u64 {
        let id = self.next;
        self.next += 1;
        self.open.insert(id, request_id.to_owned());
        id
    }

    /// Returns the player's request that the host answers.
    pub(crate) fn request(&self, id: &Value) -> Option<String> {
        self.open.get(&id.as_u64()?).cloned()
    }

    /// Forgets the player's request, and returns its id.
    pub(crate) fn close(&mut self, request_id: &str) -> Option<u64> {
        let id = *self.open.iter().find(|(_, it)| *it == request_id)?.0;
        self.open.remove(&id);
        Some(id)
    }
}

/// Returns an error object.
pub(crate) fn error(code: i64, message: &str) -> Value {
    json!({"code": code, "message": message})
}
