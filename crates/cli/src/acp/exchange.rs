//! Requests of both sides that wait for their responses.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Requests without a response, by the text of their ids.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    of_editor: HashSet<String>,
    of_runner: HashSet<String>,
}

/// The members of a message that tell a request from a response (JSON-RPC 2.0, sections 4 and 5).
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
}

impl Exchange {
    pub(super) fn sent_by_editor(&mut self, message: &str) {
        pair(message, &mut self.of_editor, &mut self.of_runner);
    }

    pub(super) fn sent_by_runner(&mut self, message: &str) {
        pair(message, &mut self.of_runner, &mut self.of_editor);
    }

    /// Whether nothing more is to be expected once the editor says nothing more: each of its requests has its
    /// response, or one of the runner can have none.
    pub(super) fn is_over(&self) -> bool {
        self.of_editor.is_empty() || !self.of_runner.is_empty()
    }
}

/// Adds a request to those of the side that sent it, or takes the one that is responded to from those of the other.
fn pair(message: &str, own: &mut HashSet<String>, other: &mut HashSet<String>) {
    let Ok(Head {
        id: Some(id),
        method,
    }) = serde_json::from_str(message)
    else {
        return;
    };
    match method {
        Some(_) => _ = own.insert(id.get().to_owned()),
        None => _ = other.remove(id.get()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_ends_its_request() {
        let mut exchange = Exchange::default();
        assert!(exchange.is_over());
        exchange.sent_by_editor(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#);
        exchange.sent_by_editor(r#"{"jsonrpc":"2.0","method":"session/cancel","params":{}}"#);
        exchange.sent_by_editor("no message");
        exchange.sent_by_runner(r#"{"jsonrpc":"2.0","method":"session/update","params":{"id":1}}"#);
        assert!(!exchange.is_over());
        exchange.sent_by_runner(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert!(exchange.is_over());
    }

    #[test]
    fn request_of_the_runner_without_a_response_ends_it() {
        let mut exchange = Exchange::default();
        exchange
            .sent_by_editor(r#"{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{}}"#);
        exchange
            .sent_by_runner(r#"{"jsonrpc":"2.0","id":0,"method":"session/request_permission"}"#);
        assert!(exchange.is_over());
        exchange.sent_by_editor(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
        assert!(!exchange.is_over());
    }
}
