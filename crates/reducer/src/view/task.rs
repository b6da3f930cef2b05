//! Tasks and permission requests.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};

use crate::arena::TextRef;
use crate::record::{PermissionId, PermissionRecord, TaskId, TaskRecord};
use crate::state::{PermissionState, TaskState};
use crate::transcript::Transcript;
use crate::view::Raw;

/// Background work that the agent announced.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    transcript: &'a Transcript,
    record: &'a TaskRecord,
    id: TaskId,
}

impl<'a> Task<'a> {
    pub(crate) fn new(transcript: &'a Transcript, id: TaskId) -> Self {
        let record = &transcript.tasks[id.at()];
        Self {
            transcript,
            record,
            id,
        }
    }

    /// Names the task within this transcript.
    #[must_use]
    pub const fn task_id(self) -> TaskId {
        self.id
    }

    /// The `task_id`; for a sub-agent, its `agent_id`.
    #[must_use]
    pub fn id(self) -> &'a str {
        self.transcript.arena.str(self.record.id)
    }

    /// Its `task_type`: `local_bash`, `local_agent`, …
    #[must_use]
    pub fn kind(self) -> Option<&'a str> {
        self.transcript.name(self.record.kind)
    }

    /// What became of it.
    #[must_use]
    pub const fn state(self) -> TaskState {
        self.record.state
    }

    /// What it is for.
    #[must_use]
    pub fn description(self) -> TextRef<'a> {
        self.transcript.arena.text(self.record.description)
    }

    /// What it did last.
    #[must_use]
    pub fn activity(self) -> TextRef<'a> {
        self.transcript.arena.text(self.record.activity)
    }

    /// What it did in all, or why it failed.
    #[must_use]
    pub fn summary(self) -> TextRef<'a> {
        self.transcript.arena.text(self.record.summary)
    }

    /// The call that started it.
    #[must_use]
    pub fn tool_use_id(self) -> Option<&'a str> {
        self.record
            .tool_use_id
            .map(|it| self.transcript.arena.str(it))
    }

    /// Whether the turn goes on without it.
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

/// A request of the agent: may this tool run?
#[derive(Clone, Copy, Debug)]
pub struct Permission<'a> {
    transcript: &'a Transcript,
    record: &'a PermissionRecord,
    id: PermissionId,
}

impl<'a> Permission<'a> {
    pub(crate) fn new(transcript: &'a Transcript, id: PermissionId) -> Self {
        let record = &transcript.permissions[id.at()];
        Self {
            transcript,
            record,
            id,
        }
    }

    /// Names the request within this transcript; numbers grow in the order of asking.
    #[must_use]
    pub const fn permission_id(self) -> PermissionId {
        self.id
    }

    /// Names the request in the host's answer.
    #[must_use]
    pub fn request_id(self) -> &'a str {
        self.transcript.arena.str(self.record.request_id)
    }

    /// The call.
    #[must_use]
    pub fn tool_use_id(self) -> Option<&'a str> {
        self.record
            .tool_use_id
            .map(|it| self.transcript.arena.str(it))
    }

    /// The tool.
    #[must_use]
    pub fn tool_name(self) -> &'a str {
        self.transcript.names.str(self.record.tool_name)
    }

    /// The sub-agent that asks.
    #[must_use]
    pub fn agent_id(self) -> Option<&'a str> {
        self.record.agent_id.map(|it| self.transcript.arena.str(it))
    }

    /// What became of it.
    #[must_use]
    pub const fn state(self) -> PermissionState {
        self.record.state
    }

    /// When it was asked, in the host's milliseconds.
    #[must_use]
    pub const fn at_ms(self) -> u64 {
        self.record.at_ms
    }

    /// The whole request, a JSON object with `input`, `permission_suggestions`, `description`, …
    #[must_use]
    pub fn request(self) -> Raw<'a> {
        self.transcript.raw(self.record.request)
    }

    /// The arguments that the tool would run with, a JSON object.
    #[must_use]
    pub fn input(self) -> Option<String> {
        self.member("input")
    }

    /// Rules that the user may want to add, a JSON array.
    #[must_use]
    pub fn suggestions(self) -> Option<String> {
        self.member("permission_suggestions")
    }

    fn member(self, key: &str) -> Option<String> {
        let text = self.request().text();
        let request = bowline_jsonl::RawJson::parse(&text)?;
        request.get(key).map(|value| value.text().to_owned())
    }
}

impl Serialize for Permission<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Permission", 4)?;
        out.serialize_field("request_id", self.request_id())?;
        out.serialize_field("tool_use_id", &self.tool_use_id())?;
        out.serialize_field("tool_name", self.tool_name())?;
        out.serialize_field("state", &self.state())?;
        out.end()
    }
}
