//! Control requests of the host that wait for the agent's answer.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_jsonl::{ControlAnswer, RawJson, Str};

use crate::error::DialogueError;
use crate::machine::input::{Reply, Ticket};

/// The open requests of a session. Ids are ours and count up, so they never meet the agent's own.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: BTreeMap<u64, Open>,
    last: u64,
    /// What stands in each id between those of several hosts of one agent; empty for its first.
    salt: String,
}

#[derive(Debug)]
struct Open {
    name: String,
    /// Whom the answer goes to; nobody waits for some requests.
    ticket: Option<Ticket>,
    due: Duration,
}

/// An answer that has found its request.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) name: String,
    pub(crate) ticket: Option<Ticket>,
    pub(crate) reply: Result<Reply, DialogueError>,
}

const PREFIX: &str = "bowline-";

impl Requests {
    /// From now on ids are those of one host of several.
    pub(crate) fn set_salt(&mut self, salt: String) {
        self.salt = format!("{salt}-");
    }

    /// Gives the agent so much more time for everything that it was asked.
    pub(crate) fn postpone(&mut self, by: Duration) {
        for open in self.open.values_mut() {
            open.due = open.due.saturating_add(by);
        }
    }

    /// Opens a request and gives its id.
    pub(crate) fn open(&mut self, name: &str, ticket: Option<Ticket>, due: Duration) -> String {
        self.last += 1;
        self.open.insert(
            self.last,
            Open {
                name: name.to_owned(),
                ticket,
                due,
            },
        );
        format!("{PREFIX}{}{}", self.salt, self.last)
    }

    /// Closes the request that the agent answers; none for an answer to somebody else.
    pub(crate) fn answer(&mut self, answer: &ControlAnswer<'_>) -> Option<Answered> {
        let id = answer.request_id?.decode();
        let ours = id.strip_prefix(PREFIX)?.strip_prefix(&self.salt)?;
        let open = self.open.remove(&ours.parse().ok()?)?;
        let text = |it: Option<Str<'_>>| it.map(|it| it.decode().into_owned());
        let reply = if answer.subtype.is_some_and(|subtype| subtype == "error") {
            Err(DialogueError::Refused {
                request: open.name.clone(),
                reason: text(answer.error).unwrap_or_default(),
                code: text(answer.error_code),
            })
        } else {
            Ok(Reply::Answer(
                answer.response.map_or("{}", RawJson::text).to_owned(),
            ))
        };
        Some(Answered {
            name: open.name,
            ticket: open.ticket,
            reply,
        })
    }

    /// Whether anything was asked that has no answer yet.
    pub(crate) fn any_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// When the next request has waited long enough.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        self.open.values().map(|open| open.due).min()
    }

    /// Gives up the requests that are due at `now`.
    pub(crate) fn expire(&mut self, now: Duration, waited: Duration) -> Vec<Answered> {
        let due: Vec<u64> = self
            .open
            .iter()
            .filter(|(_, open)| open.due <= now)
            .map(|(id, _)| *id)
            .collect();
        self.give_up(&due, |open| DialogueError::NoAnswer {
            request: open.name.clone(),
            seconds: waited.as_secs(),
        })
    }

    /// Gives up every request.
    pub(crate) fn close(&mut self) -> Vec<Answered> {
        let all: Vec<u64> = self.open.keys().copied().collect();
        self.give_up(&all, |_| DialogueError::Ended)
    }

    fn give_up(&mut self, ids: &[u64], error: impl Fn(&Open) -> DialogueError) -> Vec<Answered> {
        let open = ids.iter().filter_map(|id| self.open.remove(id));
        open.map(|open| Answered {
            reply: Err(error(&open)),
            name: open.name,
            ticket: open.ticket,
        })
        .collect()
    }
}
