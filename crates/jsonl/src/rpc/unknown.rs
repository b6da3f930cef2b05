//! Members of a line that no record reads.

use crate::grammar::{Field as _, Known};
use crate::raw::RawJson;
use crate::rpc::{Message, RpcError};

/// Returns the members of a line that are not known, as JSON pointers in the order of the line. `params` returns what
/// is known of the parameters of a request or a notification.
///
/// Returns `None` for a line that is kept as a whole: where `params` does, for a result, whose members its request
/// decides, and for an object that is no message.
pub(crate) fn unknown_members<'a>(
    line: RawJson<'a>,
    params: impl FnOnce(Message<'a>) -> Option<Known>,
) -> Option<Vec<String>> {
    let message = Message::parse(line)?;
    let params = match message {
        Message::Response { result: Ok(_), .. } => return None,
        Message::Response { result: Err(_), .. } => Known::Value,
        Message::Request { .. } | Message::Notification { .. } => params(message)?,
    };
    let known = vec![
        ("jsonrpc", Known::Value),
        ("id", Known::Value),
        ("method", Known::Value),
        ("params", params),
        ("result", Known::Value),
        ("error", RpcError::known()),
        ("emittedAtMs", Known::Value),
    ];
    Some(crate::unknown_members::unknown_members(line, &known))
}
