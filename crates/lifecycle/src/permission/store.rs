//! The permission requests of one session. Each is answered once; the first answer wins.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use bowline_jsonl::Decision;
use bytes::Bytes;

use super::{PermissionAnswer, PermissionRecord, RequestState};
use crate::error::DialogueError;

/// Closed requests that are kept, so that a repeated or late answer gets its own reply. Bounded,
/// because each may hold a plan or the contents of a file.
const MAX_CLOSED: usize = 256;

/// The permission requests of a session at one moment, in the order in which the agent made them:
/// every open one, and the last 256 that were closed.
///
/// A cheap handle of an immutable list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Permissions(Arc<[Arc<PermissionRecord>]>);

impl Permissions {
    /// Returns all requests, open and closed.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<PermissionRecord>> {
        self.0.iter()
    }

    /// Returns the requests that wait for an answer, the oldest first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &Arc<PermissionRecord>> {
        self.0.iter().filter(|record| record.state.is_open())
    }

    /// Returns the request with this id.
    #[must_use]
    pub fn get(&self, request_id: &str) -> Option<&Arc<PermissionRecord>> {
        self.0.iter().find(|it| it.request_id == request_id)
    }
}

/// The permission requests of a session.
#[derive(Debug, Default)]
pub(crate) struct PermissionStore {
    /// By their number, in the order of arrival.
    requests: BTreeMap<u64, Request>,
    /// Numbers by the agent's id.
    numbers: HashMap<String, u64>,
    /// Numbers of those without an answer.
    open: BTreeSet<u64>,
    /// Numbers of the others, in the order in which they were closed.
    closed: VecDeque<u64>,
    next: u64,
}

#[derive(Debug)]
struct Request {
    record: Arc<PermissionRecord>,
    opened_at: Duration,
    closing: Option<Closing>,
}

#[derive(Debug)]
struct Closing {
    /// The answer, to recognise a repetition of it.
    answer: Option<PermissionAnswer>,
    /// The line of the answer, if writing it failed or its delivery is unknown.
    undelivered: Option<Bytes>,
}

/// An answer in the agent's protocol.
#[derive(Debug)]
pub(crate) struct EncodedAnswer {
    pub(crate) line: Vec<u8>,
    /// What it decides.
    pub(crate) decision: Decision,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnswerOrigin<'a> {
    /// The client, or `policy`.
    pub(crate) by: Option<&'a str>,
    /// The rule.
    pub(crate) how: Option<&'a str>,
}

/// What an answer led to.
#[derive(Debug)]
pub(crate) enum AnswerOutcome {
    /// It is the first answer.
    Accepted {
        record: Arc<PermissionRecord>,
        encoded: EncodedAnswer,
    },
    /// It repeats the accepted answer, whose line may not have been delivered.
    Resend(Bytes),
    /// It repeats the accepted answer.
    Duplicate,
}

impl PermissionStore {
    /// Adds a request. Returns `None` for one that is known: the agent sends its open requests again
    /// after a second `initialize`.
    pub(crate) fn open(
        &mut self,
        record: PermissionRecord,
        now: Duration,
    ) -> Option<Arc<PermissionRecord>> {
        if self.find(&record.request_id).is_some() {
            return None;
        }
        let number = self.next;
        self.next += 1;
        self.numbers.insert(record.request_id.clone(), number);
        self.open.insert(number);
        let record = Arc::new(record);
        let request = Request {
            record: Arc::clone(&record),
            opened_at: now,
            closing: None,
        };
        self.requests.insert(number, request);
        Some(record)
    }

    /// Closes a request that no client of this host has answered; `allowed` is the answer of another host, if
    /// it is known. Returns `None` if the request is closed or unknown.
    pub(crate) fn close(
        &mut self,
        request_id: &str,
        state: RequestState,
        allowed: Option<bool>,
    ) -> Option<Arc<PermissionRecord>> {
        let request = self.find(request_id)?;
        if let Some(closing) = &mut request.closing {
            // The agent has the answer, or no longer wants one.
            closing.undelivered = None;
            return None;
        }
        let record = request.close(state, AnswerOrigin::default(), allowed);
        self.finish_closing(request_id, None);
        Some(record)
    }

    /// Notes which client gave the answer to a request. Returns the request if it is closed, and nothing was
    /// known of that.
    pub(crate) fn attribute(
        &mut self,
        request_id: &str,
        by: &str,
        how: Option<&str>,
    ) -> Option<Arc<PermissionRecord>> {
        let request = self.find(request_id)?;
        let record = Arc::make_mut(&mut request.record);
        record.answered_how = how.map(str::to_owned);
        let was_known = record.answered_by.replace(by.to_owned()).is_some();
        let is_closed = request.closing.is_some() && !was_known;
        is_closed.then(|| Arc::clone(&request.record))
    }

    /// Keeps the line of an answer whose delivery failed or is unknown. The agent accepts one answer
    /// to a request, so only this line may be sent again.
    pub(crate) fn keep_undelivered(&mut self, request_id: &str, line: Bytes) {
        if let Some(closing) = self.find(request_id).and_then(|it| it.closing.as_mut()) {
            closing.undelivered = Some(line);
        }
    }

    /// Answers a request with the line that `encode` makes of the answer.
    pub(crate) fn answer(
        &mut self,
        request_id: &str,
        answer: PermissionAnswer,
        given: AnswerOrigin<'_>,
        encode: impl FnOnce(
            &PermissionRecord,
            &PermissionAnswer,
        ) -> Result<EncodedAnswer, DialogueError>,
    ) -> Result<AnswerOutcome, DialogueError> {
        let request = self
            .find(request_id)
            .ok_or_else(|| DialogueError::NoSuchRequest {
                request_id: request_id.to_owned(),
            })?;
        if request.closing.is_some() {
            return request.answer_again(&answer, given.by);
        }
        let encoded = encode(&request.record, &answer)?;
        let allowed = matches!(encoded.decision, Decision::Allow { .. });
        let record = request.close(RequestState::Answered, given, Some(allowed));
        self.finish_closing(request_id, Some(answer));
        Ok(AnswerOutcome::Accepted { record, encoded })
    }

    /// Returns the request with this id.
    pub(crate) fn record(&mut self, request_id: &str) -> Option<Arc<PermissionRecord>> {
        Some(Arc::clone(&self.find(request_id)?.record))
    }

    /// Returns the ids of the open requests, the oldest first.
    pub(crate) fn open_ids(&self) -> Vec<String> {
        let open = self.open.iter().map(|number| &self.requests[number]);
        open.map(|it| it.record.request_id.clone()).collect()
    }

    /// Returns the oldest open request of the agent and when it was opened; not one of the session
    /// itself, whose names are `own`.
    pub(crate) fn oldest_open(&self, own: &[&str]) -> Option<(Duration, &str)> {
        let mut open = self.open.iter().map(|number| &self.requests[number]);
        let oldest = open.find(|it| !own.contains(&&*it.record.tool_name))?;
        Some((oldest.opened_at, &oldest.record.request_id))
    }

    /// Returns the requests that readers see, by their id.
    pub(crate) fn snapshot(&self, is_seen: impl Fn(&str) -> bool) -> Permissions {
        let records = self.requests.values().map(|it| &it.record);
        let seen = records.filter(|it| is_seen(&it.request_id));
        Permissions(seen.cloned().collect())
    }

    fn find(&mut self, request_id: &str) -> Option<&mut Request> {
        self.requests.get_mut(self.numbers.get(request_id)?)
    }

    /// Notes the end of a request, and drops the one that was closed first of too many.
    fn finish_closing(&mut self, request_id: &str, answer: Option<PermissionAnswer>) {
        let Some(&number) = self.numbers.get(request_id) else {
            return;
        };
        if let Some(request) = self.requests.get_mut(&number) {
            request.closing = Some(Closing {
                answer,
                undelivered: None,
            });
        }
        self.open.remove(&number);
        self.closed.push_back(number);
        if self.closed.len() > MAX_CLOSED
            && let Some(oldest) = self.closed.pop_front()
            && let Some(request) = self.requests.remove(&oldest)
        {
            self.numbers.remove(&request.record.request_id);
        }
    }
}

impl Request {
    /// Replies to an answer for a closed request. Only the accepted answer, from the same client, is
    /// not an error.
    fn answer_again(
        &mut self,
        answer: &PermissionAnswer,
        by: Option<&str>,
    ) -> Result<AnswerOutcome, DialogueError> {
        let record = &self.record;
        if let Some(closing) = &mut self.closing
            && record.answered_by.as_deref() == by
            && closing.answer.as_ref() == Some(answer)
        {
            let undelivered = closing.undelivered.take();
            return Ok(undelivered.map_or(AnswerOutcome::Duplicate, AnswerOutcome::Resend));
        }
        Err(DialogueError::TooLate {
            request_id: record.request_id.clone(),
            state: record.state.describe().to_owned(),
            by: record.answered_by.clone(),
        })
    }

    fn close(
        &mut self,
        state: RequestState,
        given: AnswerOrigin<'_>,
        allowed: Option<bool>,
    ) -> Arc<PermissionRecord> {
        let record = Arc::make_mut(&mut self.record);
        record.state = state;
        let known = record
            .answered_by
            .take()
            .filter(|_| state == RequestState::Answered);
        record.answered_by = given.by.map(str::to_owned).or(known);
        if given.how.is_some() {
            record.answered_how = given.how.map(str::to_owned);
        }
        record.allowed = allowed;
        // The transcript keeps the arguments.
        record.input = String::new();
        Arc::clone(&self.record)
    }
}
