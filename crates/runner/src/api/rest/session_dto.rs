//! The bodies of requests and responses about sessions: the session to create, and its state.

use std::collections::{BTreeMap, BTreeSet};

use bowline_lifecycle::{Silence, SilenceCause};
use bowline_transport::wire::{Durability, Extent, SessionKind};
use bowline_transport::{SessionSummary, WindowSize};
use serde::Serialize;
use utoipa::ToSchema;

/// The session to create.
#[derive(Debug, ToSchema)]
#[expect(
    dead_code,
    reason = "the schema of SessionSpec, which bodies are parsed into"
)]
pub(super) struct NewSession {
    /// Id of the session, a UUID. Default: a random one.
    id: Option<String>,
    /// Display name.
    name: Option<String>,
    /// The agent: its name (`claude`, `codex`, `gemini`, `opencode`, `qwen`, `copilot`), or the path of its
    /// program. `kind`, `program`, `args`, `stdio`, `ring_bytes` and `journal` are then not allowed.
    agent: Option<String>,
    /// With an agent: the first prompt.
    prompt: Option<String>,
    /// With an agent: id of the first prompt, a UUID. Default: a random one.
    prompt_id: Option<String>,
    /// With an agent: the model. Default: the agent's own.
    model: Option<String>,
    /// With an agent: the permission mode. Default: the agent's own.
    mode: Option<String>,
    /// With an agent: the protocol that it speaks: `claude`, `qwen`, `codex` or `acp`. Default: that of its name.
    dialect: Option<String>,
    /// With an agent: further arguments.
    #[schema(required = false)]
    agent_args: Vec<String>,
    /// With an agent: tools that need no permission, in the syntax of its rules.
    #[schema(required = false)]
    allowed_tools: Vec<String>,
    /// With an agent: MCP servers that it connects to, beside those of its configuration, in the form of ACP's
    /// `session/new`. One that it cannot reach is refused by its name.
    #[schema(required = false)]
    mcp_servers: Vec<NewMcpServer>,
    /// With an agent: id of its conversation to resume.
    resume: Option<String>,
    /// With an agent: whether to resume a copy of the conversation.
    #[schema(required = false)]
    fork: bool,
    /// With an agent: what it may use before the session pauses and asks, by a permission request of the kind
    /// `question`.
    #[schema(required = false)]
    budget: NewBudget,
    /// With an agent: the prompt with which the session continues after a turn that met a usage limit of the agent's
    /// account, once the limit resets. Without it the session waits for a prompt.
    resume_at_reset: Option<String>,
    /// Id of a session of another runner of the fleet, which has ended or whose runner is silent: its agent continues
    /// the conversation here, in a new epoch of the session. Only `cwd` and `prompt` are then allowed beside it.
    take_over: Option<String>,
    /// With an agent: rules that answer permission requests before a user is asked, in TOML.
    policy: Option<String>,
    /// Display name, if `name` is absent.
    label: Option<String>,
    /// Kind of session. With `cwd` or `label`, and without `agent`, `prompt`, `kind` and `program`, the session is the
    /// user's shell in a terminal.
    #[schema(required = false)]
    kind: SessionKind,
    /// The program: a path, or a name to look up in the child's `PATH`.
    program: Option<String>,
    /// Arguments of the program.
    #[schema(required = false)]
    args: Vec<String>,
    /// The child's environment.
    #[schema(required = false)]
    env: NewEnvironment,
    /// The child's working directory, which must exist.
    cwd: Option<String>,
    /// The child's standard streams. Default: a terminal for the kind `terminal`, else pipes.
    #[schema(required = false)]
    stdio: NewStdio,
    /// Bytes of each stream that are kept in memory. Default: 1 MiB.
    ring_bytes: Option<u64>,
    /// Lines above a terminal's screen that a host receives when it joins. Default: 10,000.
    scrollback_lines: Option<u32>,
    /// What is kept on disk.
    #[schema(required = false)]
    journal: NewJournal,
    /// Labels for the creator's use.
    #[schema(required = false)]
    labels: BTreeMap<String, String>,
    /// The agent's hooks to serve, as `bowline_hooks::HookSpec` has them; with `--settings` and `bowline:hooks` in `args`.
    #[schema(value_type = Option<Object>)]
    hooks: Option<serde_json::Value>,
    /// How long the exit status is kept for a client to acknowledge it, in milliseconds. Default:
    /// 24 hours.
    exit_kept_ms: Option<u64>,
}

/// What a session may use. A limit that is absent does not apply.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct NewBudget {
    /// The cost, in US dollars. Refused for agents that report none.
    #[schema(exclusive_minimum = 0)]
    cost_usd: Option<f64>,
    /// Tokens: input, output and cache writes.
    #[schema(minimum = 1)]
    tokens: Option<u64>,
    /// Turns.
    #[schema(minimum = 1)]
    turns: Option<u64>,
    /// The time since the start, in seconds.
    #[schema(minimum = 1)]
    seconds: Option<u64>,
}

/// An MCP server: a program with `command`, `args` and `env`, or an endpoint with `type`, `url` and `headers`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct NewMcpServer {
    /// Its name, different from those of the session's other servers.
    name: String,
    /// How the agent reaches it: `stdio`, which it starts, `http` or `sse`.
    #[schema(rename = "type", required = false, default = "stdio")]
    kind: Option<String>,
    /// The program.
    command: Option<String>,
    /// Its arguments.
    #[schema(required = false)]
    args: Vec<String>,
    /// Variables beside the agent's own.
    #[schema(required = false)]
    env: Vec<NewPair>,
    /// The endpoint.
    url: Option<String>,
    /// Headers of each request to the endpoint.
    #[schema(required = false)]
    headers: Vec<NewPair>,
}

/// A variable, or a header.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct NewPair {
    /// Its name.
    name: String,
    /// Its value.
    value: String,
}

/// The child's environment.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct NewEnvironment {
    /// Whether to inherit the runner's environment.
    #[schema(required = false, default = true)]
    inherit: bool,
    /// Variables to set.
    #[schema(required = false)]
    set: BTreeMap<String, String>,
    /// Variables to remove.
    #[schema(required = false)]
    remove: BTreeSet<String>,
}

/// The child's standard streams.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum NewStdio {
    /// Three pipes.
    Pipes,
    /// One terminal for all three streams.
    Pty {
        /// The initial window size. Default: 24 rows of 80 columns.
        #[schema(required = false)]
        size: Size,
        /// The initial mode. Default: `cooked`.
        #[schema(required = false)]
        mode: Mode,
    },
}

/// The mode of a terminal.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) enum Mode {
    /// Echo, line editing and signals from keys.
    Cooked,
    /// Bytes pass unchanged.
    Raw,
}

/// The size of a terminal window, in characters.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
pub(super) struct Size {
    /// Rows.
    #[schema(minimum = 1, maximum = 1000)]
    rows: u16,
    /// Columns.
    #[schema(minimum = 1, maximum = 1000)]
    cols: u16,
}

impl From<WindowSize> for Size {
    fn from(size: WindowSize) -> Self {
        Self {
            rows: size.rows,
            cols: size.cols,
        }
    }
}

/// What is kept on disk.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct NewJournal {
    /// Whether to keep a journal.
    #[schema(required = false, default = true)]
    on: bool,
    /// Maximum size of the journal, in bytes. Default: 256 MiB.
    #[schema(required = false)]
    cap_bytes: u64,
}

/// A session that was created.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Created)]
pub(super) struct CreatedSession {
    /// Id of the session.
    pub(super) id: String,
    /// Incarnation of the child.
    pub(super) epoch: String,
    /// Process id of the child.
    pub(super) pid: Option<u32>,
}

/// A session, and the state of its streams.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Details)]
pub(super) struct SessionDetails {
    #[serde(flatten)]
    pub(super) session: SessionSummary,
    /// The available range of each stream, by name. Empty once the session's process has ended.
    pub(super) streams: BTreeMap<String, StreamRange>,
    /// Bytes of input that were accepted.
    pub(super) input_next: Option<u64>,
    /// The terminal's window size.
    pub(super) size: Option<Size>,
    /// The silence of an agent that this runner drives, once it is so long that the watchdog makes an inquiry.
    pub(super) silence: Option<SilenceDetails>,
}

/// A silence of an agent.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SilenceDetails {
    /// What the session is busy with: `starting`, `model`, `tool`, `permission`, `background task`, …
    phase: String,
    /// Time without a sign of life, in milliseconds.
    silent_ms: u64,
    /// What it may be due to, if the agent is known for it.
    cause: Option<SilenceCauseDetails>,
}

/// What a silence may be due to.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SilenceCauseDetails {
    /// `HIDDEN_PERMISSION`: a sub-agent may wait for a permission that its agent does not ask for.
    code: &'static str,
    /// What it may be.
    detail: String,
    /// What to do about it.
    next: String,
}

impl From<Silence> for SilenceDetails {
    fn from(silence: Silence) -> Self {
        Self {
            phase: silence.phase.to_string(),
            silent_ms: u64::try_from(silence.silent_for.as_millis()).unwrap_or(u64::MAX),
            cause: silence.cause.map(Into::into),
        }
    }
}

impl From<SilenceCause> for SilenceCauseDetails {
    fn from(cause: SilenceCause) -> Self {
        Self {
            code: match cause {
                SilenceCause::HiddenPermission { .. } => "HIDDEN_PERMISSION",
                _ => "OTHER",
            },
            detail: cause.detail(),
            next: cause.remedy(),
        }
    }
}

/// The available range of a stream, as byte offsets from its start.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Range)]
pub(super) struct StreamRange {
    /// Offset of the oldest available byte.
    start: u64,
    /// End offset of the stream.
    end: u64,
    /// What the bytes survive: `memory`, `process` or `power`.
    #[schema(value_type = String)]
    durable: Durability,
}

impl From<Extent> for StreamRange {
    fn from(extent: Extent) -> Self {
        Self {
            start: extent.start,
            end: extent.end,
            durable: extent.durable,
        }
    }
}
