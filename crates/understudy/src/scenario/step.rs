//! The steps of a turn.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::faults::{Grandchild, Hang, Junk, StderrText, Torn};
use super::is_false;

/// A step of a turn. In a file it is a table with one key, the step's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Step {
    /// A text block.
    Text(Text),
    /// A thinking block.
    Thinking(Text),
    /// A redacted thinking block with this opaque data.
    RedactedThinking(String),
    /// A tool call and its result; ends the API message.
    Tool(Tool),
    /// A sub-agent, started by the Agent tool.
    Agent(Agent),
    /// Several calls in one API message. Each result is printed once its call is done.
    Parallel(Vec<Call>),
    /// Ends the API message; the next block opens another.
    NewMessage(bool),
    /// The plan as a whole; in stream-json a call of `TodoWrite`.
    Plan(Vec<PlanStep>),
    /// The use of a rate limit. ACP has no such line.
    Limits(Limits),
    /// Failed attempts of an API request, with or without an abandoned draft.
    ApiRetry(ApiRetry),
    /// A text block that the API truncated. It is kept, and the agent prompts itself to continue.
    CutOff(String),
    /// An API failure: the turn ends with `subtype: success` and `is_error: true`.
    Fail(ApiFailure),
    /// Ends the turn with `error_max_turns` and this limit.
    MaxTurns(u64),
    /// A line, verbatim except for its placeholders.
    Raw(Raw),
    /// Bytes that are not an event.
    Junk(Junk),
    /// A `system` line of this many bytes.
    Big(usize),
    /// Steps to repeat.
    Many(Many),
    /// The start of a line without a line end, usually followed by `exit` or `die`.
    Torn(Torn),
    /// Waits for this many milliseconds, scaled by the pace.
    DelayMs(u64),
    /// Writes in pieces of this many bytes from now on; 0 writes whole lines.
    Chunk(usize),
    /// Text on stderr.
    Stderr(StderrText),
    /// Exits with this code.
    Exit(u8),
    /// Ends the process by this signal: `SIGKILL`, `SIGTERM`, `SIGSEGV`, ...
    Die(String),
    /// Stops playing; the process keeps running.
    Hang(Hang),
    /// Closes stdout; the process keeps running.
    CloseStdout(bool),
    /// Stops reading stdin.
    IgnoreStdin(bool),
    /// Starts a child process that sleeps.
    Grandchild(Grandchild),
    /// Waits for an action of the host.
    WaitFor(WaitFor),
    /// Sends a `control_request` to the host, such as `hook_callback`, and waits for any response.
    Request(Request),
    /// A `system` line with these fields; `session_id` and `uuid` are added.
    System(Map<String, Value>),
    /// A `system/informational` line.
    Notice(String),
    /// `/clear`: a new conversation with a new session id. Must be the first step of its turn.
    Clear(bool),
}

/// A text and how it is streamed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Text {
    /// In deltas of 8 characters, 20 ms apart.
    Plain(String),
    /// With these deltas.
    Paced {
        /// The text.
        text: String,
        /// Number of characters in a delta.
        #[serde(default = "Text::delta_default")]
        delta: usize,
        /// Time before each delta, in milliseconds.
        #[serde(default = "Text::delta_ms_default")]
        delta_ms: u64,
    },
}

/// A tool call and its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tool {
    /// The tool's name: `Bash`, `Read`, `Edit`, ...
    pub name: String,
    /// Its input.
    pub input: Map<String, Value>,
    /// The tool use id; generated if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Content of the result: a string or an array of blocks.
    pub result: Value,
    /// The structured result; generated if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_result: Option<Value>,
    /// The call fails.
    #[serde(skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// Run time in milliseconds. A shell command of at least 2,000 ms is announced as a task.
    pub duration_ms: u64,
    /// Requests permission first. Without `--permission-prompt-tool stdio` the call is denied.
    #[serde(skip_serializing_if = "is_false")]
    pub ask: bool,
    /// Withdraws the permission request after this many milliseconds; the call fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdraw_ms: Option<u64>,
    /// Runs in the background: the call returns immediately and a task notification follows.
    #[serde(skip_serializing_if = "is_false")]
    pub background: bool,
    /// Prints no result.
    #[serde(skip_serializing_if = "is_false")]
    pub no_result: bool,
    /// Steps after the call if it was allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Step>,
    /// Steps after the call if it was denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Step>,
    /// Steps of the turn that the notification of a background call starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<Step>,
}

/// A sub-agent. Its last text is its report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// A description of three to five words.
    pub description: String,
    /// The prompt of the sub-agent.
    pub prompt: String,
    /// Its type; `general-purpose` if empty.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The tool use id of the Agent call; generated if empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Runs in the background, beyond the end of its turn.
    #[serde(skip_serializing_if = "is_false")]
    pub background: bool,
    /// Fails with this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    /// The steps; they may contain further sub-agents.
    pub steps: Vec<Step>,
    /// Steps of the turn that the report of a background sub-agent starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<Step>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    #[serde(default)]
    pub state: PlanState,
}

/// How far a step of a plan is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PlanState {
    /// Not begun.
    #[default]
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
}

/// The use of a rate limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Length of the window, in minutes.
    pub window_minutes: u64,
    /// The used share, in percent.
    pub used_percent: u32,
    /// When the window ends, in seconds since the Unix epoch.
    pub resets_at: u64,
}

/// One of several parallel calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Call {
    /// A tool.
    Tool(Tool),
    /// A sub-agent.
    Agent(Agent),
}

/// Failed attempts of an API request that succeeds in the end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApiRetry {
    /// Number of attempts that fail.
    pub attempts: u64,
    /// HTTP status of the failures; `None` for a lost connection.
    pub status: Option<u16>,
    /// The error: `overloaded`, `rate_limit`, `server_error`, ...
    pub error: String,
    /// Delay after each failure, in milliseconds.
    pub delay_ms: u64,
    /// Text that the first attempt streams before it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
}

/// A permanent API failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApiFailure {
    /// HTTP status.
    pub status: u16,
    /// The agent's message about it.
    pub text: String,
    /// The `error` of the assistant line.
    pub error: String,
}

/// A line to print verbatim, except for its placeholders.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Raw {
    /// Any text.
    Line(String),
    /// A JSON value, printed compactly.
    Json(Value),
}

/// Steps to repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Many {
    /// Number of repetitions.
    pub times: usize,
    /// The steps.
    pub steps: Vec<Step>,
}

/// A control request to the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The body: `subtype` and its fields.
    pub request: Map<String, Value>,
    /// Withdraws the request after this many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdraw_ms: Option<u64>,
}

/// An action of the host that a step can wait for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitFor {
    /// An interrupt, which is acknowledged and does not end the turn.
    Interrupt,
    /// The end of stdin.
    Eof,
    /// Another prompt, which stays in the queue.
    Prompt,
    /// A control request with this subtype.
    Control(String),
}

impl Text {
    fn delta_default() -> usize {
        8
    }

    fn delta_ms_default() -> u64 {
        20
    }

    /// Returns the text, the characters of a delta and the milliseconds before each.
    pub(crate) fn parts(self) -> (String, usize, u64) {
        match self {
            Self::Plain(text) => (text, Self::delta_default(), Self::delta_ms_default()),
            Self::Paced {
                text,
                delta,
                delta_ms,
            } => (text, delta.max(1), delta_ms),
        }
    }
}

impl Default for ApiRetry {
    fn default() -> Self {
        let error = "overloaded".to_owned();
        Self {
            attempts: 1,
            status: Some(529),
            error,
            delay_ms: 500,
            draft: None,
        }
    }
}

impl Default for ApiFailure {
    fn default() -> Self {
        Self {
            status: 529,
            text: "API Error: Repeated 529 Overloaded errors.".to_owned(),
            error: "server_error".to_owned(),
        }
    }
}

impl ApiFailure {
    /// The failure of each turn while the user is not logged in.
    pub(crate) fn logged_out() -> Self {
        Self {
            status: 401,
            text: "Not logged in · Please run /login".to_owned(),
            error: "authentication_failed".to_owned(),
        }
    }
}

impl Step {
    /// A text step with the default deltas.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::Plain(text.into()))
    }

    /// A tool step: name, input and the text of the result.
    #[must_use]
    pub fn tool(name: &str, input: Value, result: &str) -> Self {
        Self::Tool(Tool::new(name, input, result))
    }
}

impl Tool {
    /// A tool call that succeeds immediately. An `input` other than an object is replaced by an empty
    /// one.
    #[must_use]
    pub fn new(name: &str, input: Value, result: &str) -> Self {
        let input = match input {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Self {
            name: name.to_owned(),
            input,
            result: result.into(),
            ..Self::default()
        }
    }
}
