//! JSON-RPC 2.0 lines, which the dialects [`codex`](crate::codex) and [`acp`](crate::acp) are made of.
//!
//! Both sides send requests, and the ids of one side are independent of those of the other. The member
//! `jsonrpc` is optional, since Codex leaves it out. Members may have any order. Batches are not read.
//!
//! ```
//! use bowline_jsonl::{RawJson, rpc::Message};
//!
//! let line = RawJson::parse(r#"{"id":0,"method":"session/request_permission","params":{}}"#).unwrap();
//! let Some(Message::Request { id, method, .. }) = Message::parse(line) else { panic!() };
//! assert_eq!((id.text(), method.raw()), ("0", "session/request_permission"));
//! ```
//!
//! # Examples
//!
//! | example | types |
//! |---|---|
//! | [Reading](#reading) | [`Message`], [`Id`], [`RpcError`] |
//! | [Writing](#writing) | [`Wire`] |
//!
//! ## Reading
//!
//! ```
//! use bowline_jsonl::{RawJson, rpc::Message};
//!
//! fn describe(line: &str) -> Option<String> {
//!     Some(match Message::parse(RawJson::parse(line)?)? {
//!         Message::Request { id, method, .. } => format!("{id}: {}?", method.decode()),
//!         Message::Notification { method, .. } => method.decode().into_owned(),
//!         Message::Response { id, result } => match result {
//!             Ok(result) => format!("{id:?}: {}", result.text()),
//!             Err(error) => format!("{id:?}: {}", error.message?.decode()),
//!         },
//!     })
//! }
//! let refused = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no such method"}}"#;
//! assert_eq!(describe(refused).unwrap(), "Some(1): no such method");
//! ```
//!
//! ## Writing
//!
//! ```
//! use bowline_jsonl::rpc::Wire;
//!
//! let line = Wire::Bare.request("a", "thread/list", "{}");
//! assert_eq!(line, b"{\"id\":\"a\",\"method\":\"thread/list\",\"params\":{}}\n");
//! let line = Wire::Standard.notification("initialized", None);
//! assert_eq!(line, b"{\"jsonrpc\":\"2.0\",\"method\":\"initialized\"}\n");
//! ```

mod unknown;
mod write;

pub(crate) use unknown::unknown_members;
pub use write::Wire;

use std::fmt;

use crate::grammar::{Cursor, Field, object, record};
use crate::raw::{JsonKind, RawJson, raw_value};
use crate::text::Str;

/// One line of JSON-RPC, borrowed.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// A request, which the receiver answers with the same id.
    Request {
        /// Chosen by the sender.
        id: Id<'a>,
        /// Names the procedure.
        method: Str<'a>,
        /// Arguments, an object or an array.
        params: Option<RawJson<'a>>,
    },
    /// A message without an answer.
    Notification {
        /// Names the event.
        method: Str<'a>,
        /// Arguments, an object or an array.
        params: Option<RawJson<'a>>,
        /// When Codex sent it, in milliseconds since the Unix epoch.
        emitted_at_ms: Option<u64>,
    },
    /// The answer to a request.
    Response {
        /// Id of the request; none where the receiver could not read it (JSON-RPC 2.0, section 5).
        id: Option<Id<'a>>,
        /// The result, or why there is none.
        result: Result<RawJson<'a>, RpcError<'a>>,
    },
}

/// The id of a request: a number or a string, kept as it was written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Id<'a>(RawJson<'a>);

record! {
    /// The error of a response.
    pub RpcError<'a> {
        /// Why it failed (PROTOCOL-acp.md, Errors).
        code: Option<i64> = "code",
        /// One sentence.
        message: Option<Str<'a>> = "message",
        /// Details.
        data: Option<RawJson<'a>> = "data",
    }
}

impl Copy for RpcError<'_> {}

impl<'a> Id<'a> {
    /// Returns the id that `value` is; none unless it is a number or a string.
    #[must_use]
    pub fn new(value: RawJson<'a>) -> Option<Self> {
        matches!(value.kind(), JsonKind::Number | JsonKind::String).then_some(Self(value))
    }

    /// Returns the id as JSON text, which an answer repeats.
    #[must_use]
    pub const fn text(self) -> &'a str {
        self.0.text()
    }

    /// Returns the id if it is a string.
    #[must_use]
    pub fn as_str(self) -> Option<Str<'a>> {
        self.0.as_str()
    }
}

impl fmt::Debug for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Reads the parameters of a method; the default members where there are none.
pub(crate) fn read<'a, T: Field<'a> + Default>(params: Option<RawJson<'a>>) -> T {
    params.map(RawJson::parse_as).unwrap_or_default()
}

/// Reads the `requestId` of a message about a request.
pub(crate) fn request_id(params: Option<RawJson<'_>>) -> Option<Id<'_>> {
    params?.get("requestId").and_then(Id::new)
}

/// The members of a line; of two equal keys the last one counts.
#[derive(Default)]
struct Parts<'a> {
    id: Option<RawJson<'a>>,
    method: Option<RawJson<'a>>,
    params: Option<RawJson<'a>>,
    result: Option<RawJson<'a>>,
    error: Option<RawJson<'a>>,
    emitted_at_ms: Option<RawJson<'a>>,
}

impl<'a> Message<'a> {
    /// Returns the method; none for a response.
    #[must_use]
    pub const fn method(&self) -> Option<Str<'a>> {
        match self {
            Self::Request { method, .. } | Self::Notification { method, .. } => Some(*method),
            Self::Response { .. } => None,
        }
    }

    /// Returns the method, followed by what kind of update or item it is about; `result` or `error` for a
    /// response. For counts and lists.
    #[must_use]
    pub fn name(&self) -> String {
        let (method, params) = match self {
            Self::Request { method, params, .. } | Self::Notification { method, params, .. } => {
                (method, params)
            }
            Self::Response { result: Ok(_), .. } => return "result".to_owned(),
            Self::Response { result: Err(_), .. } => return "error".to_owned(),
        };
        let kind =
            |object: &str, key: &str| params.and_then(|it| it.get(object)?.get(key)?.as_str());
        let kind = kind("update", "sessionUpdate").or_else(|| kind("item", "type"));
        match kind {
            Some(kind) => format!("{method} {kind}"),
            None => method.decode().into_owned(),
        }
    }

    /// Parses the object of a line.
    ///
    /// Returns none for an object that is no JSON-RPC message, and for one with a member that nests more
    /// than 120 levels. A method with the id `null` is a notification, since it asks for no answer.
    #[must_use]
    pub fn parse(line: RawJson<'a>) -> Option<Self> {
        let parts = Parts::parse(line)?;
        let id = parts.id.filter(|id| !id.is_null());
        let id = match id {
            None => None,
            Some(id) => Some(Id::new(id)?),
        };
        let params = parts.params.filter(|params| !params.is_null());
        match (parts.method, id) {
            (Some(method), Some(id)) => Some(Self::Request {
                id,
                method: method.as_str()?,
                params,
            }),
            (Some(method), None) => Some(Self::Notification {
                method: method.as_str()?,
                params,
                emitted_at_ms: parts.emitted_at_ms.and_then(RawJson::as_u64),
            }),
            (None, id) => {
                parts.id?;
                let error = parts.error.filter(|error| !error.is_null());
                let result = match (error, parts.result) {
                    (Some(error), _) => Err(error.parse_as()),
                    (None, result) => Ok(result?),
                };
                Some(Self::Response { id, result })
            }
        }
    }
}

impl<'a> Parts<'a> {
    fn parse(line: RawJson<'a>) -> Option<Self> {
        let mut parts = Self::default();
        let parsed = object(Cursor::new(line.text()), |key, input| {
            let (end, value) = raw_value(input)?;
            let member = match &*key.decode() {
                "id" => &mut parts.id,
                "method" => &mut parts.method,
                "params" => &mut parts.params,
                "result" => &mut parts.result,
                "error" => &mut parts.error,
                "emittedAtMs" => &mut parts.emitted_at_ms,
                _ => return Ok((end, ())),
            };
            *member = Some(value);
            Ok((end, ()))
        });
        parsed.is_ok().then_some(parts)
    }
}
