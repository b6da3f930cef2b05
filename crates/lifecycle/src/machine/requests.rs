//! Requests of the host that wait for the agent's response.

use std::collections::BTreeMap;
use std::time::Duration;

use super::input::{Reply, Ticket};
use crate::error::DialogueError;

/// The requests of a session that have no response yet.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pending: BTreeMap<u64, PendingRequest>,
    last_id: u64,
    last_probe: u64,
    /// Part of each id that differs between the hosts of one agent; empty for the first host.
    salt: String,
}

#[derive(Debug)]
struct PendingRequest {
    name: String,
    /// The command that waits for the response, if one does.
    ticket: Option<Ticket>,
    due: Duration,
    is_probe: bool,
}

/// A request with its outcome.
#[derive(Debug)]
pub(super) struct CompletedRequest {
    pub(super) name: String,
    pub(super) ticket: Option<Ticket>,
    /// Whether it was only sent for a sign of life.
    pub(super) is_probe: bool,
    pub(super) reply: Result<Reply, DialogueError>,
}

/// Why the agent refused a request.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: String,
    pub(super) code: Option<String>,
}

/// Distinguishes ids of this crate from those of the agent and of other hosts.
const PREFIX: &str = "bowline-";

/// Numbers of probes. What they depend on is not in a session's log, so they must not count among those of the
/// other requests, which a fold of the log numbers again.
const PROBES: u64 = 1_000_000_000;

impl Requests {
    #[cfg(any(test, feature = "remote"))]
    pub(super) fn set_salt(&mut self, salt: &str) {
        self.salt = format!("{salt}-");
    }

    /// Numbers later requests after one that was written before, if its id is of this host.
    pub(super) fn continue_after(&mut self, id: &str) {
        let number = id
            .strip_prefix(PREFIX)
            .and_then(|it| it.parse::<u64>().ok());
        match number {
            Some(number) if number < PROBES => self.last_id = self.last_id.max(number),
            Some(number) if (PROBES..2 * PROBES).contains(&number) => {
                self.last_probe = self.last_probe.max(number - PROBES);
            }
            // Another host may write any number: none that this one reaches, nor one to count on from.
            _ => {}
        }
    }

    /// Moves all deadlines.
    pub(super) fn postpone(&mut self, by: Duration) {
        for request in self.pending.values_mut() {
            request.due = request.due.saturating_add(by);
        }
    }

    /// Adds a request and returns its id.
    pub(super) fn open(&mut self, name: &str, ticket: Option<Ticket>, due: Duration) -> String {
        self.last_id += 1;
        let request = PendingRequest {
            name: name.to_owned(),
            ticket,
            due,
            is_probe: false,
        };
        self.add(self.last_id, request)
    }

    /// Adds a request that is only sent for a sign of life, and returns its id.
    pub(super) fn open_probe(&mut self, name: &str, due: Duration) -> String {
        self.last_probe += 1;
        let request = PendingRequest {
            name: name.to_owned(),
            ticket: None,
            due,
            is_probe: true,
        };
        self.add(PROBES + self.last_probe, request)
    }

    fn add(&mut self, number: u64, request: PendingRequest) -> String {
        self.pending.insert(number, request);
        format!("{PREFIX}{}{number}", self.salt)
    }

    /// Completes the request with this id. Returns `None` if it is not one of these.
    pub(super) fn complete(
        &mut self,
        id: &str,
        outcome: Result<String, Refusal>,
    ) -> Option<CompletedRequest> {
        let number = id.strip_prefix(PREFIX)?.strip_prefix(&self.salt)?;
        let request = self.pending.remove(&number.parse().ok()?)?;
        let reply = outcome.map(Reply::Response);
        Some(CompletedRequest {
            reply: reply.map_err(|refusal| DialogueError::Refused {
                request: request.name.clone(),
                reason: refusal.reason,
                code: refusal.code,
            }),
            name: request.name,
            ticket: request.ticket,
            is_probe: request.is_probe,
        })
    }

    pub(super) fn any_open(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns when the next request times out.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.pending.values().map(|request| request.due).min()
    }

    /// Fails the requests that are due at `now`; `timeout` is for the error.
    pub(super) fn expire(&mut self, now: Duration, timeout: Duration) -> Vec<CompletedRequest> {
        self.fail(
            |request| request.due <= now,
            |request| DialogueError::NoAnswer {
                request: request.name.clone(),
                seconds: timeout.as_secs(),
            },
        )
    }

    /// Fails every request, at the end of the session.
    pub(super) fn close(&mut self) -> Vec<CompletedRequest> {
        self.fail(|_| true, |_| DialogueError::Ended)
    }

    fn fail(
        &mut self,
        is_failed: impl Fn(&PendingRequest) -> bool,
        error: impl Fn(&PendingRequest) -> DialogueError,
    ) -> Vec<CompletedRequest> {
        let (failed, pending) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition::<BTreeMap<_, _>, _>(|(_, request)| is_failed(request));
        self.pending = pending;
        let completed = failed.into_values().map(|request| CompletedRequest {
            reply: Err(error(&request)),
            name: request.name,
            ticket: request.ticket,
            is_probe: request.is_probe,
        });
        completed.collect()
    }
}
