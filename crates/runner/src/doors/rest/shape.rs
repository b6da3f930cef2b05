//! What the REST door takes and gives, as the OpenAPI document describes it.

use std::collections::{BTreeMap, BTreeSet};

use bowline_transport::ExitStatus;
use bowline_transport::wire::{Durability, ExitNotice, Extent, KillReport, SessionKind, StdioKind};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::serve::{Ending, Record, State};

/// A session to be made: the JSON form of a `SessionSpec`, for the document.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "read by the document alone; bodies are read as a SessionSpec"
)]
pub(super) struct NewSession {
    /// The session's name for programs, a UUID. A fresh one if it is left out.
    id: Option<String>,
    /// Its name for people.
    name: Option<String>,
    /// What it is for.
    kind: Kind,
    /// A name to look up in the child's `PATH`, or a path.
    program: String,
    /// Arguments after the program's name.
    #[schema(required = false)]
    args: Vec<String>,
    /// The child's environment.
    #[schema(required = false)]
    env: NewEnvironment,
    /// The child's working directory, which must be there.
    cwd: Option<String>,
    /// What the child's standard streams are; pipes if left out.
    #[schema(required = false)]
    stdio: NewStdio,
    /// Bytes of each stream that are kept in memory, 1 MiB if left out.
    ring_bytes: Option<u64>,
    /// What is kept on disk.
    #[schema(required = false)]
    journal: NewJournal,
    /// Whatever the host wants to find it by.
    #[schema(required = false)]
    labels: BTreeMap<String, String>,
    /// How long the exit is kept for somebody to acknowledge it, in milliseconds; 24 hours if left
    /// out.
    exit_kept_ms: Option<u64>,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// A structured conversation with an agent.
    Dialogue,
    /// A shell or a full-screen program.
    Terminal,
}

/// The child's environment.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document alone")]
pub(super) struct NewEnvironment {
    /// Whether it begins with that of the runner, and not empty.
    #[schema(required = false, default = true)]
    inherit: bool,
    /// Variables that are set.
    #[schema(required = false)]
    set: BTreeMap<String, String>,
    /// Variables that are taken away.
    #[schema(required = false)]
    remove: BTreeSet<String>,
}

/// What the child's standard streams are.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
#[expect(dead_code, reason = "read by the document alone")]
pub(super) enum NewStdio {
    /// Three pipes.
    Pipes,
    /// One terminal for all three.
    Pty {
        /// Its size at birth; 24 rows of 80 columns if left out.
        #[schema(required = false)]
        size: Size,
        /// What it does to the bytes: `cooked` as a login has it, or `raw`.
        #[schema(required = false)]
        mode: Mode,
    },
}

/// What a terminal does to the bytes.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "read by the document alone")]
pub(super) enum Mode {
    /// Echo, line editing, signals from keys.
    Cooked,
    /// Nothing.
    Raw,
}

/// A terminal's size in characters.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct Size {
    /// Rows of text.
    #[schema(minimum = 1, maximum = 1000)]
    rows: u16,
    /// Columns of text.
    #[schema(minimum = 1, maximum = 1000)]
    cols: u16,
}

/// What is kept on disk.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "read by the document alone")]
pub(super) struct NewJournal {
    /// Whether anything is.
    #[schema(required = false, default = true)]
    on: bool,
    /// Bytes on disk at most, 256 MiB if left out.
    #[schema(required = false)]
    cap_bytes: u64,
}

/// A session that was made.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Created {
    /// The session's name for programs.
    pub(super) id: String,
    /// This incarnation of its child.
    pub(super) epoch: String,
    /// The child's process.
    pub(super) pid: Option<u32>,
}

/// What is known of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Session {
    /// Its name for programs.
    pub(super) id: String,
    /// Its name for people.
    name: Option<String>,
    /// What it is for.
    kind: Kind,
    /// What the child's standard streams are: `pipes` or `pty`.
    #[schema(value_type = String)]
    stdio: StdioKind,
    /// What was started.
    program: String,
    /// Where, if somebody said.
    cwd: Option<String>,
    /// Whatever the host wants to find it by.
    labels: BTreeMap<String, String>,
    /// How far it has come.
    state: State,
    /// This incarnation of the child.
    epoch: String,
    /// The child's process, while it runs.
    pid: Option<u32>,
    /// When it was started, in milliseconds since 1970.
    started_ms: u64,
    /// When it ended, in milliseconds since 1970.
    ended_ms: Option<u64>,
    /// How it ended.
    exit: Option<Exit>,
}

impl Session {
    pub(super) fn of(record: &Record) -> Self {
        let (info, state) = (&record.info, record.state());
        Self {
            id: info.id.to_string(),
            name: info.name.clone(),
            kind: match info.kind {
                SessionKind::Dialogue => Kind::Dialogue,
                SessionKind::Terminal => Kind::Terminal,
            },
            stdio: info.stdio,
            program: info.program.clone(),
            cwd: info
                .cwd
                .as_ref()
                .map(|it| it.to_string_lossy().into_owned()),
            labels: info.labels.clone(),
            state,
            epoch: info.epoch.to_string(),
            pid: info.pid.filter(|_| state == State::Running),
            started_ms: info.started_ms,
            ended_ms: info.ended_ms,
            exit: info.exit.as_ref().map(Exit::of),
        }
    }
}

/// All sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Sessions {
    /// The oldest first.
    pub(super) sessions: Vec<Session>,
}

/// A session, and what its shim has of it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Details {
    #[serde(flatten)]
    pub(super) session: Session,
    /// What there is of each stream, by its name; empty once the shim is gone.
    pub(super) streams: BTreeMap<String, Range>,
    /// How many bytes of input were taken.
    pub(super) input_next: Option<u64>,
    /// The terminal's size.
    pub(super) size: Option<Size>,
}

impl Size {
    pub(super) const fn of(size: bowline_transport::WindowSize) -> Self {
        Self {
            rows: size.rows,
            cols: size.cols,
        }
    }
}

/// What there is of a stream, in bytes from its beginning.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Range {
    /// Offset of the oldest byte.
    start: u64,
    /// Offset behind the newest byte.
    end: u64,
    /// What the bytes survive: `memory`, `process` or `power`.
    #[schema(value_type = String)]
    durable: Durability,
}

impl Range {
    pub(super) const fn of(extent: Extent) -> Self {
        Self {
            start: extent.start,
            end: extent.end,
            durable: extent.durable,
        }
    }
}

/// How a child ended.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Exit {
    /// The exit code, if it ended by itself.
    code: Option<i32>,
    /// The signal that ended it.
    signal: Option<i32>,
    /// For want of memory.
    oom: bool,
}

impl Exit {
    fn of(notice: &ExitNotice) -> Self {
        let (code, signal) = match notice.status {
            ExitStatus::Code(code) => (Some(code), None),
            ExitStatus::Signal(signal) => (None, Some(signal)),
            ExitStatus::Unknown => (None, None),
        };
        let oom = notice.oom;
        Self { code, signal, oom }
    }
}

/// How a session was ended.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ended {
    /// How its child ended, if that is known.
    exit: Option<Exit>,
    /// Processes that had to be killed.
    killed: Vec<u32>,
    /// Processes that are still there: none, as a rule.
    survivors: Vec<u32>,
    /// Whether its log and everything else of it was removed.
    removed: bool,
}

impl Ended {
    pub(super) fn of(ending: &Ending, removed: bool) -> Self {
        let pids = |read: fn(&KillReport) -> &Vec<u32>| {
            ending
                .report
                .as_ref()
                .map(read)
                .cloned()
                .unwrap_or_default()
        };
        Self {
            exit: ending.exit.as_ref().map(Exit::of),
            killed: pids(|it| &it.killed),
            survivors: pids(|it| &it.survivors),
            removed,
        }
    }
}

/// Something for the agent.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct NewPrompt {
    /// What to say.
    pub(super) text: String,
    /// Names the prompt, 1 to 128 bytes: one that is sent again is not written again. A UUID for
    /// dialogues; a fresh one if left out.
    #[serde(default)]
    pub(super) id: Option<String>,
}

/// What became of a prompt.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PromptTaken {
    /// The prompt's id.
    pub(super) id: String,
    /// `queued`, `written`, `submitted` or `unverified`.
    pub(super) state: &'static str,
}

/// An answer to the agent's question.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct NewAnswer {
    /// The question.
    pub(super) request_id: String,
    /// Whether the tool may run.
    pub(super) decision: Verdict,
    /// What the agent is told when it may not.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// End the turn as well when it may not.
    #[serde(default)]
    pub(super) interrupt: bool,
    /// What the tool runs with instead: a JSON object.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub(super) updated_input: Option<serde_json::Map<String, serde_json::Value>>,
    /// Rules to remember: a JSON array.
    #[serde(default)]
    #[schema(value_type = Option<Vec<Object>>)]
    pub(super) updated_permissions: Option<Vec<serde_json::Value>>,
}

/// Whether a tool may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// It may.
    Allow,
    /// It may not.
    Deny,
}

/// The agent's questions.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Permissions {
    /// In the order of asking.
    pub(super) permissions: Vec<Permission>,
}

/// A question of the agent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Permission {
    /// Names the question.
    pub(super) request_id: String,
    /// The tool call that it is about.
    pub(super) tool_use_id: Option<String>,
    /// The tool.
    pub(super) tool_name: String,
    /// What the tool would run with.
    #[schema(value_type = Object)]
    pub(super) input: serde_json::Value,
    /// `open`, or what became of it.
    #[schema(value_type = String, example = "open")]
    pub(super) state: serde_json::Value,
}

/// How hard to interrupt.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(super) struct NewInterrupt {
    /// Names the request: one that is sent again does nothing. A fresh one if left out.
    #[serde(default)]
    pub(super) id: Option<String>,
    /// Drop the prompts that wait, too.
    #[serde(default)]
    pub(super) cancel_queued: bool,
}
