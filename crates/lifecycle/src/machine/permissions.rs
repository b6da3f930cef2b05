//! The agent's permission requests: each is answered once, by whoever comes first.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bowline_jsonl::{CanUseTool, Decision, RawJson, permission};
use bytes::Bytes;

use crate::error::DialogueError;
use crate::permission::{PermissionAnswer, PermissionRecord, RequestState};

/// Closed requests that are remembered: an answer that comes again, or too late, comes soon. Each may
/// hold a plan, and an answer with a file in it.
const REMEMBERED: usize = 256;

/// The permission requests of a session, by id.
#[derive(Debug, Default)]
pub(crate) struct Permissions {
    open: HashMap<String, Open>,
    /// The last that were closed.
    closed: HashMap<String, Closed>,
    /// The ids of those, in the order of their end.
    order: VecDeque<String>,
}

#[derive(Debug)]
struct Open {
    record: Arc<PermissionRecord>,
    asked: Duration,
}

#[derive(Debug)]
struct Closed {
    record: Arc<PermissionRecord>,
    /// The answer, to know it when it comes again.
    answer: Option<PermissionAnswer>,
    /// Its line, when that could not be written, or nobody knows whether it was.
    unwritten: Option<Bytes>,
}

/// What an answer is.
#[derive(Debug)]
pub(crate) enum Given {
    /// The first, which counts.
    First(Taken),
    /// The one that counts, given again, and its line, since that may not have arrived.
    Unwritten(Bytes),
    /// The one that counts, given again.
    Known,
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
        if self.open.contains_key(request_id) || self.closed.contains_key(request_id) {
            return None;
        }
        let record = Arc::new(PermissionRecord::open(request_id, ask, at_ms));
        let request = Open {
            record: Arc::clone(&record),
            asked: now,
        };
        self.open.insert(request_id.to_owned(), request);
        Some(record)
    }

    /// Closes a request without an answer; none when it is closed already.
    pub(crate) fn close(
        &mut self,
        request_id: &str,
        state: RequestState,
    ) -> Option<Arc<PermissionRecord>> {
        let Some(request) = self.open.remove(request_id) else {
            // The agent has had its answer, or wants none any more.
            if let Some(closed) = self.closed.get_mut(request_id) {
                closed.unwritten = None;
            }
            return None;
        };
        let record = request.shut(state, None, None);
        self.remember(&record, None);
        Some(record)
    }

    /// The line of an answer could not be written, or nobody knows whether it was. The agent takes
    /// one answer to a request, so that the same one can be sent again and no other.
    pub(crate) fn unwritten(&mut self, request_id: &str, line: Bytes) {
        if let Some(closed) = self.closed.get_mut(request_id) {
            closed.unwritten = Some(line);
        }
    }

    fn remember(&mut self, record: &Arc<PermissionRecord>, answer: Option<PermissionAnswer>) {
        let id = record.request_id.clone();
        let closed = Closed {
            record: Arc::clone(record),
            answer,
            unwritten: None,
        };
        self.closed.insert(id.clone(), closed);
        self.order.push_back(id);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.closed.remove(&oldest);
        }
    }

    /// The ids of those that are open, the oldest first.
    pub(crate) fn open_ids(&self) -> Vec<String> {
        let open = self.open.values();
        let mut open: Vec<_> = open
            .map(|request| (request.asked, request.record.request_id.clone()))
            .collect();
        open.sort();
        open.into_iter().map(|(_, id)| id).collect()
    }

    /// When the oldest open request was asked.
    pub(crate) fn oldest(&self) -> Option<(Duration, &str)> {
        let open = self.open.values();
        open.map(|it| (it.asked, it.record.request_id.as_str()))
            .min()
    }

    /// Takes an answer to a request.
    pub(crate) fn answer(
        &mut self,
        request_id: &str,
        answer: PermissionAnswer,
        by: Option<&str>,
    ) -> Result<Given, DialogueError> {
        if let Some(closed) = self.closed.get_mut(request_id) {
            return closed.again(&answer, by);
        }
        let unknown = || DialogueError::NoSuchRequest {
            request_id: request_id.to_owned(),
        };
        let request = self.open.get(request_id).ok_or_else(unknown)?;
        let decision = answer.decision(&request.record)?;
        let input = RawJson::parse(&request.record.input);
        let line = permission(request_id, &decision, input);
        let request = self.open.remove(request_id).ok_or_else(unknown)?;
        let allowed = matches!(decision, Decision::Allow { .. });
        let record = request.shut(RequestState::Answered, by.map(str::to_owned), Some(allowed));
        self.remember(&record, Some(answer));
        Ok(Given::First(Taken {
            record,
            decision,
            line,
        }))
    }
}

impl Closed {
    /// Takes an answer to a request that is closed: only the very same one, from the same one, is no
    /// error.
    fn again(
        &mut self,
        answer: &PermissionAnswer,
        by: Option<&str>,
    ) -> Result<Given, DialogueError> {
        let record = &self.record;
        if record.answered_by.as_deref() == by && self.answer.as_ref() == Some(answer) {
            let unwritten = self.unwritten.take();
            return Ok(unwritten.map_or(Given::Known, Given::Unwritten));
        }
        Err(DialogueError::TooLate {
            request_id: record.request_id.clone(),
            state: record.state.words(),
            by: record.answered_by.clone(),
        })
    }
}

impl Open {
    fn shut(
        mut self,
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
        self.record
    }
}
