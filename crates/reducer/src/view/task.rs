//! Tasks and permission requests.

use std::borrow::Cow;
use std::ops::Range;

use bowline_jsonl::RawJson;
use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::arena::TextRef;
use crate::model::AnsweredBy;
use crate::record::{PermissionId, PermissionRecord, RequestDetail, TaskId, TaskRecord};
use crate::state::{PermissionState, TaskState};
use crate::transcript::Transcript;
use crate::view::asked::{self, Asked};
use crate::view::handle::Thread;
use crate::view::raw::Raw;

/// Background work that the agent announced. See [`Transcript::tasks`].
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    transcript: &'a Transcript,
    record: &'a TaskRecord,
    id: TaskId,
}

impl<'a> Task<'a> {
    pub(crate) fn new(transcript: &'a Transcript, id: TaskId) -> Self {
        let record = &transcript.tasks[id];
        Self {
            transcript,
            record,
            id,
        }
    }

    /// Returns its id within this transcript.
    #[must_use]
    pub const fn task_id(self) -> TaskId {
        self.id
    }

    /// Returns the `task_id`; for a sub-agent, that is its `agent_id`.
    #[must_use]
    pub fn id(self) -> &'a str {
        self.transcript.arena.str(self.record.id)
    }

    /// Returns its `task_type`: `local_bash`, `local_agent`, …
    #[must_use]
    pub fn kind(self) -> Option<&'a str> {
        self.transcript.name(self.record.kind)
    }

    /// Returns its state.
    #[must_use]
    pub const fn state(self) -> TaskState {
        self.record.state
    }

    /// Returns its purpose.
    #[must_use]
    pub fn description(self) -> TextRef<'a> {
        self.transcript.arena.text(self.record.description)
    }

    /// Returns its latest activity.
    #[must_use]
    pub fn activity(self) -> TextRef<'a> {
        self.transcript.arena.text(self.record.activity)
    }

    /// Returns the summary of its work, or why it failed.
    #[must_use]
    pub fn summary(self) -> TextRef<'a> {
        self.transcript.arena.text(self.record.summary)
    }

    /// Returns the `tool_use` id of the call that started it.
    #[must_use]
    pub fn tool_use_id(self) -> Option<&'a str> {
        self.record
            .tool_use_id
            .map(|it| self.transcript.arena.str(it))
    }

    /// Returns whether the turn continues without it.
    #[must_use]
    pub const fn is_backgrounded(self) -> bool {
        self.record.is_backgrounded
    }
}

impl Serialize for Task<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Task", 4)?;
        out.serialize_field("kind", &self.kind())?;
        out.serialize_field("state", &self.state())?;
        out.serialize_field("description", &self.description())?;
        out.serialize_field("tool_use_id", &self.tool_use_id())?;
        out.end()
    }
}

/// The agent's request for permission to run a tool. See [`Transcript::permissions`].
#[derive(Clone, Copy, Debug)]
pub struct Permission<'a> {
    transcript: &'a Transcript,
    record: &'a PermissionRecord,
    id: PermissionId,
}

impl<'a> Permission<'a> {
    pub(crate) fn new(transcript: &'a Transcript, id: PermissionId) -> Self {
        let record = &transcript.permissions[id];
        Self {
            transcript,
            record,
            id,
        }
    }

    /// Returns its id within this transcript. Ids grow in order.
    #[must_use]
    pub const fn permission_id(self) -> PermissionId {
        self.id
    }

    /// Returns the id that the host's answer must contain.
    #[must_use]
    pub fn request_id(self) -> &'a str {
        self.transcript.arena.str(self.record.request_id)
    }

    /// Returns the `tool_use` id of the call.
    #[must_use]
    pub fn tool_use_id(self) -> Option<&'a str> {
        self.record
            .tool_use_id
            .map(|it| self.transcript.arena.str(it))
    }

    /// Returns the name of the tool.
    #[must_use]
    pub fn tool_name(self) -> &'a str {
        self.transcript.names.str(self.record.tool_name)
    }

    /// Returns the id of the sub-agent that asks; `None` for the main agent.
    #[must_use]
    pub fn agent_id(self) -> Option<&'a str> {
        self.record.agent_id.map(|it| self.transcript.arena.str(it))
    }

    /// Returns its state.
    #[must_use]
    pub const fn state(self) -> PermissionState {
        self.record.state
    }

    /// Returns when it arrived, in milliseconds by the host's clock.
    #[must_use]
    pub const fn at_ms(self) -> u64 {
        self.record.at_ms
    }

    /// Returns the byte range of its line in the stream, without its line end.
    #[must_use]
    pub const fn bytes(self) -> Range<u64> {
        self.record.offset..self.record.end
    }

    /// Returns what it asks: as the agent says, else as follows from its request.
    #[must_use]
    pub fn asked(self) -> Asked<'a> {
        let Some(detail) = self.detail() else {
            let request = self.request().text();
            return RawJson::parse(&request)
                .map(asked::of_request)
                .unwrap_or_default();
        };
        Asked {
            kind: detail.kind,
            options: Cow::Borrowed(&detail.options),
            questions: Cow::Borrowed(&detail.questions),
            url: detail.url.as_deref(),
            rule: detail.rule.as_deref().map(Cow::Borrowed),
        }
    }

    /// Returns the name of the thread that asks; `None` for the main one.
    #[must_use]
    pub fn thread(self) -> Option<&'a str> {
        match self.detail() {
            Some(detail) => Thread::new(self.transcript, detail.thread).name(),
            None => self.agent_id(),
        }
    }

    /// Returns the answer's author, kind and time; `None` if the request is open, or they are unknown.
    #[must_use]
    pub fn answered(self) -> Option<&'a AnsweredBy> {
        let is_open = self.record.state == PermissionState::Open;
        self.record.answered.as_deref().filter(|_| !is_open)
    }

    fn detail(self) -> Option<&'a RequestDetail> {
        self.record.detail.as_deref()
    }

    /// Returns the whole request, a JSON object with `input`, `permission_suggestions`,
    /// `description`, …
    #[must_use]
    pub fn request(self) -> Raw<'a> {
        self.transcript.raw(self.record.request)
    }

    /// Returns the arguments of the tool, a JSON object.
    #[must_use]
    pub fn input(self) -> Option<String> {
        self.member("input")
    }

    /// Returns suggested rules, a JSON array.
    #[must_use]
    pub fn suggestions(self) -> Option<String> {
        self.member("permission_suggestions")
    }

    fn member(self, key: &str) -> Option<String> {
        let text = self.request().text();
        let request = RawJson::parse(&text)?;
        request.get(key).map(|value| value.text().to_owned())
    }
}
