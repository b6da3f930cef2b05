//! Requests to the host.

use std::sync::Arc;

use crate::arena::{ShortText, Text};
use crate::log::LogStamp;
use crate::model::{AnsweredBy, Question, RequestKind, RequestOption};
use crate::names::Name;
use crate::record::id::ThreadId;
use crate::state::PermissionState;

#[derive(Clone, Debug, Default)]
pub(crate) struct PermissionRecord {
    pub(crate) request_id: ShortText,
    pub(crate) tool_use_id: Option<ShortText>,
    pub(crate) tool_name: Name,
    pub(crate) agent_id: Option<ShortText>,
    pub(crate) state: PermissionState,
    /// Raw JSON of the whole request.
    pub(crate) request: Text,
    pub(crate) at_ms: u64,
    /// Bytes of its line in the stream.
    pub(crate) offset: u64,
    pub(crate) end: u64,
    /// What a dialect says of it; `None` if all is in `request`.
    pub(crate) detail: Option<Arc<RequestDetail>>,
    pub(crate) answered: Option<Arc<AnsweredBy>>,
    pub(crate) stamp: LogStamp,
}

/// What a dialect says of a request.
#[derive(Clone, Debug)]
pub(crate) struct RequestDetail {
    pub(crate) kind: RequestKind,
    pub(crate) thread: ThreadId,
    pub(crate) options: Vec<RequestOption>,
    pub(crate) questions: Vec<Question>,
    pub(crate) url: Option<String>,
    pub(crate) rule: Option<String>,
    /// Why the host asks, if it does.
    pub(crate) reason: Option<String>,
}
