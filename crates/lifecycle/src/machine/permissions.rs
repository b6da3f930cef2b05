//! The agent's permission requests: each is answered once, by whoever comes first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_jsonl::{CanUseTool, Decision, RawJson, permission};

use crate::error::DialogueError;
use crate::permission::{PermissionAnswer, PermissionRecord, RequestState};

/// The permission requests of a session, by id.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    requests: HashMap<String, Request>,
    /// How many are open.
    open: usize,
}

#[derive(Debug)]
struct Request {
    record: Arc<PermissionRecord>,
    asked: Duration,
    /// The answer, to know it when it comes again.
    answer: Option<PermissionAnswer>,
}

/// An answer that counts.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) record: Arc<PermissionRecord>,
    pub(crate) decision: Decision,
    pub(crate) line: Vec<u8>,
}

impl Permissions {
    /// A request that was seen before is sent again after a second `initialize`; it is one request.
    pub(crate) fn open(
        &mut self,
        request_id: &str,
        ask: &CanUseTool<'_>,
        now: Duration,
        at_ms: u64,
    ) -> Option<Arc<PermissionRecord>> {
        if self.requests.contains_key(request_id) {
            return None;
        }
        let record = Arc::new(PermissionRecord::open(request_id, ask, at_ms));
        let request = Request {
            record: Arc::clone(&record),
            asked: now,
            answer: None,
        };
        self.requests.insert(request_id.to_owned(), request);
        self.open += 1;
        Some(record)
    }

    /// Closes a request without an answer; none when it is closed already.
    pub(crate) fn close(
        &mut self,
        request_id: &str,
        state: RequestState,
    ) -> Option<Arc<PermissionRecord>> {
        let request = self.requests.get_mut(request_id)?;
        if !request.record.state.is_open() {
            return None;
        }
        self.open -= 1;
        Some(request.shut(state, None, None))
    }

    /// The ids of those that are open, the oldest first.
    pub(crate) fn open_ids(&self) -> Vec<String> {
        if self.open == 0 {
            return Vec::new();
        }
        let mut open: Vec<_> = self
            .requests
            .values()
            .filter(|request| request.record.state.is_open())
            .map(|request| (request.asked, request.record.request_id.clone()))
            .collect();
        open.sort();
        open.into_iter().map(|(_, id)| id).collect()
    }

    /// When the oldest open request was asked.
    pub(crate) fn oldest(&self) -> Option<(Duration, &str)> {
        if self.open == 0 {
            return None;
        }
        let open = self
            .requests
            .values()
            .filter(|it| it.record.state.is_open());
        open.map(|it| (it.asked, it.record.request_id.as_str()))
            .min()
    }

    /// The answer to a request; none when the very same answer was given before by the same one.
    pub(crate) fn answer(
        &mut self,
        request_id: &str,
        answer: PermissionAnswer,
        by: Option<&str>,
    ) -> Result<Option<Taken>, DialogueError> {
        let Some(request) = self.requests.get_mut(request_id) else {
            return Err(DialogueError::NoSuchRequest {
                request_id: request_id.to_owned(),
            });
        };
        let record = &request.record;
        if !record.state.is_open() {
            let is_same = record.answered_by.as_deref() == by;
            if is_same && request.answer.as_ref() == Some(&answer) {
                return Ok(None);
            }
            return Err(DialogueError::TooLate {
                request_id: request_id.to_owned(),
                state: record.state.words(),
                by: record.answered_by.clone(),
            });
        }
        let decision = answer.decision(record)?;
        let line = permission(request_id, &decision, RawJson::parse(&record.input));
        let allowed = matches!(decision, Decision::Allow { .. });
        self.open -= 1;
        let record = request.shut(RequestState::Answered, by.map(str::to_owned), Some(allowed));
        request.answer = Some(answer);
        Ok(Some(Taken {
            record,
            decision,
            line,
        }))
    }
}

impl Request {
    fn shut(
        &mut self,
        state: RequestState,
        answered_by: Option<String>,
        allowed: Option<bool>,
    ) -> Arc<PermissionRecord> {
        let record = Arc::make_mut(&mut self.record);
        record.state = state;
        record.answered_by = answered_by;
        record.allowed = allowed;
        // The transcript keeps what was asked.
        record.input = String::new();
        Arc::clone(&self.record)
    }
}
