//! Lines of JSON-RPC that a host writes.

use crate::encode::Object;
use crate::rpc::Id;

/// How a dialect writes JSON-RPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// With the member `jsonrpc`, as the standard asks.
    Standard,
    /// Without it, as Codex writes and reads.
    Bare,
}

/// The request is unknown to the receiver (JSON-RPC 2.0, section 5.1).
const METHOD_NOT_FOUND: i64 = -32601;

impl Wire {
    /// Encodes a request. `params` is JSON text. `id` must not repeat; a UUID keeps the ids of several
    /// hosts apart.
    #[must_use]
    pub fn request(self, id: &str, method: &str, params: &str) -> Vec<u8> {
        self.object()
            .str("id", id)
            .str("method", method)
            .raw("params", params)
            .line()
    }

    /// Encodes a notification. `params` is JSON text.
    #[must_use]
    pub fn notification(self, method: &str, params: Option<&str>) -> Vec<u8> {
        let line = self.object().str("method", method);
        match params {
            Some(params) => line.raw("params", params),
            None => line,
        }
        .line()
    }

    /// Encodes the answer to the request `id`. `result` is JSON text.
    #[must_use]
    pub fn result(self, id: Id<'_>, result: &str) -> Vec<u8> {
        self.object()
            .raw("id", id.text())
            .raw("result", result)
            .line()
    }

    /// Encodes the refusal of the request `id`.
    #[must_use]
    pub fn error(self, id: Id<'_>, code: i64, message: &str) -> Vec<u8> {
        let error = Object::new()
            .raw("code", &code.to_string())
            .str("message", message);
        self.object()
            .raw("id", id.text())
            .raw("error", &error.json())
            .line()
    }

    /// Encodes the refusal of a request whose method is unknown to the host.
    #[must_use]
    pub fn method_not_found(self, id: Id<'_>, method: &str) -> Vec<u8> {
        let message = format!("method not found: {method}");
        self.error(id, METHOD_NOT_FOUND, &message)
    }

    fn object(self) -> Object {
        match self {
            Self::Standard => Object::new().str("jsonrpc", "2.0"),
            Self::Bare => Object::new(),
        }
    }
}
