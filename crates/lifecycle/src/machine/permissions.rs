//! The agent's permission requests: each is answered once, by whoever comes first.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bowline_jsonl::{CanUseTool, Decision, RawJson, permission};

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
        let request = self.open.remove(request_id)?;
        let record = request.shut(state, None, None);
        self.remember(Closed {
            record: Arc::clone(&record),
            answer: None,
        });
        Some(record)
    }

    fn remember(&mut self, closed: Closed) {
        let id = closed.record.request_id.clone();
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

    /// The answer to a request; none when the very same answer was given before by the same one.
    pub(crate) fn answer(
        &mut self,
        request_id: &str,
        answer: PermissionAnswer,
        by: Option<&str>,
    ) -> Result<Option<Taken>, DialogueError> {
        if let Some(closed) = self.closed.get(request_id) {
            return closed.again(&answer, by).map(|()| None);
        }
        let Some(request) = self.open.get(request_id) else {
            return Err(DialogueError::NoSuchRequest {
                request_id: request_id.to_owned(),
            });
        };
        let decision = answer.decision(&request.record)?;
        let input = RawJson::parse(&request.record.input);
        let line = permission(request_id, &decision, input);
        Ok(self.take(request_id, answer, by, decision, line))
    }

    /// Closes a request with its answer.
    fn take(
        &mut self,
        request_id: &str,
        answer: PermissionAnswer,
        by: Option<&str>,
        decision: Decision,
        line: Vec<u8>,
    ) -> Option<Taken> {
        let request = self.open.remove(request_id)?;
        let allowed = matches!(decision, Decision::Allow { .. });
        let record = request.shut(RequestState::Answered, by.map(str::to_owned), Some(allowed));
        self.remember(Closed {
            record: Arc::clone(&record),
            answer: Some(answer),
        });
        Some(Taken {
            record,
            decision,
            line,
        })
    }
}

impl Closed {
    /// Takes an answer to a request that is closed: only the very same one, from the same one, is no
    /// error.
    fn again(&self, answer: &PermissionAnswer, by: Option<&str>) -> Result<(), DialogueError> {
        let record = &self.record;
        if record.answered_by.as_deref() == by && self.answer.as_ref() == Some(answer) {
            return Ok(());
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
