//! Replies of NATS servers.

use std::time::SystemTime;

use serde::Deserialize;
use serde_json::Value;

use crate::bus::BusError;

/// Codes of errors of the server (nats-server, `server/errors.json`).
const WRONG_LAST_SEQUENCE: u64 = 10071;
const SEQUENCE_IN_PROCESS: u64 = 10164;
const STORE_FAILED: u64 = 10077;

/// What the description of a failure to store has if the stream is at its limit.
const FULL: &str = "maximum bytes exceeded";

/// The reply to a publication.
#[derive(Debug, Deserialize)]
struct PublishAck {
    seq: Option<u64>,
    error: Option<AckError>,
}

#[derive(Debug, Deserialize)]
struct AckError {
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

/// A server, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerState {
    /// Its name.
    pub name: String,
    /// Its clock when it replied (RFC 3339).
    pub time: String,
    /// This machine's clock when it was asked, and when the reply came.
    pub asked_and_answered: (SystemTime, SystemTime),
    /// Whether it syncs what it stores at once.
    pub is_sync_always: bool,
}

/// Returns the sequence of a message that was published.
pub(crate) fn stored_sequence(reply: &[u8]) -> Result<u64, BusError> {
    let ack: PublishAck = serde_json::from_slice(reply)
        .map_err(|error| BusError::Other(format!("a reply of the NATS server: {error}")))?;
    let Some(error) = ack.error else {
        let unclear =
            || BusError::Other("a reply of the NATS server without a sequence".to_owned());
        return ack.seq.ok_or_else(unclear);
    };
    Err(match error.err_code {
        WRONG_LAST_SEQUENCE => BusError::WrongLast,
        SEQUENCE_IN_PROCESS => BusError::InProcess,
        STORE_FAILED if error.description.contains(FULL) => BusError::Full,
        _ => BusError::Other(error.description),
    })
}

/// Returns what a server reports of itself; `None` if this is no such report.
pub(crate) fn server_state(
    reply: &[u8],
    asked: SystemTime,
    answered: SystemTime,
) -> Option<ServerState> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let text = |pointer| Some(reply.pointer(pointer)?.as_str()?.to_owned());
    let always = reply.pointer("/data/config/sync_always");
    Some(ServerState {
        name: text("/server/name")?,
        time: text("/server/time")?,
        asked_and_answered: (asked, answered),
        is_sync_always: always.and_then(Value::as_bool).unwrap_or(false),
    })
}

/// Reads bytes as each kind of reply.
///
/// # Errors
///
/// Returns the violated invariant.
#[cfg(feature = "fuzz")]
pub fn fuzz_reply(data: &[u8]) -> Result<(), String> {
    let stored = stored_sequence(data);
    let state = server_state(data, SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH);
    // What is not read of a reply need not be UTF-8.
    let Ok(json) = serde_json::from_slice::<Value>(data) else {
        return Ok(());
    };
    let is_error = json.get("error").is_some_and(|it| !it.is_null());
    // serde takes an array for the members in their order.
    if let Ok(stored) = stored
        && json.is_object()
        && (is_error || json["seq"] != stored)
    {
        return Err(format!("stored as {stored}"));
    }
    match state {
        Some(state) if json["server"]["name"] != state.name => Err(format!("reported {state:?}")),
        _ => Ok(()),
    }
}
