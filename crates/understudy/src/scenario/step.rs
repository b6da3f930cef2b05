//! The steps of a turn.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::is_false;
use super::trouble::{Grandchild, Hang, Junk, StderrText, Torn};

/// One step of a turn. In a file it is a table with one key, the step's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A text block.
    Text(Text),
    /// A thinking block.
    Thinking(Text),
    /// A redacted thinking block with this opaque data.
    RedactedThinking(String),
    /// A tool call and its result; ends the API message.
    Tool(Tool),
    /// A call of the Agent tool: a sub-agent with steps of its own.
    Agent(Agent),
    /// Several calls in one API message. Results come when each call's time is over.
    Parallel(Vec<Call>),
    /// End the API message here, so that the next block opens another.
    NewMessage(bool),
    /// Failed attempts, with or without an abandoned draft, then another message id.
    ApiRetry(ApiRetry),
    /// A text block that the API cut: it is kept, and the agent asks itself to go on.
    CutOff(String),
    /// The API failed for good: the turn ends with `subtype: success`, `is_error: true`.
    Fail(ApiFailure),
    /// The turn ends with `error_max_turns` after this limit.
    MaxTurns(u64),
    /// One line, verbatim, with placeholders.
    Raw(Raw),
    /// Bytes that are no event.
    Junk(Junk),
    /// One harmless `system` line of this many bytes.
    Big(usize),
    /// Steps to repeat.
    Many(Many),
    /// The head of a line and no line end. Usually `exit` or `die` follows.
    Torn(Torn),
    /// Wait for this many milliseconds (scaled by the pace).
    DelayMs(u64),
    /// From here on write in pieces of this many bytes; 0 writes whole lines.
    Chunk(usize),
    /// Text on stderr.
    Stderr(StderrText),
    /// Exit with this code, now.
    Exit(u8),
    /// Die by this signal, now: `SIGKILL`, `SIGTERM`, `SIGSEGV`, ...
    Die(String),
    /// Do nothing more.
    Hang(Hang),
    /// Close stdout and live on.
    CloseStdout(bool),
    /// Take no further line from stdin, nor its end.
    IgnoreStdin(bool),
    /// Start a child process that sleeps.
    Grandchild(Grandchild),
    /// Wait for the host.
    WaitFor(WaitFor),
    /// Ask the host something: a `control_request` with these fields, `hook_callback` for example.
    /// Whatever it answers, the steps go on.
    Request(Request),
    /// A `system` line with these fields; `session_id` and `uuid` are added.
    System(Map<String, Value>),
    /// A `system/informational` line.
    Notice(String),
    /// `/clear`: a new conversation with a new session id. First step of its turn.
    Clear(bool),
}

/// Text, whole or with a rhythm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// Deltas of 8 characters, 20 ms apart.
    Plain(String),
    /// Deltas as asked.
    Paced {
        /// The text.
        text: String,
        /// Characters a delta.
        #[serde(default = "Text::delta_default")]
        delta: usize,
        /// Milliseconds between two deltas.
        #[serde(default = "Text::delta_ms_default")]
        delta_ms: u64,
    },
}

/// A tool call and what becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tool {
    /// The tool, as the model calls it: `Bash`, `Read`, `Edit`, ...
    pub name: String,
    /// Its input.
    pub input: Map<String, Value>,
    /// The tool use's id; one is made up if it is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Content of the result: a string or a list of blocks.
    pub result: Value,
    /// The structured result; one that suits the tool is made up otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_result: Option<Value>,
    /// The tool failed.
    #[serde(skip_serializing_if = "is_false")]
    pub is_error: bool,
    /// How long it runs. From 2,000 ms on it is announced as a task.
    pub duration_ms: u64,
    /// Ask the host first, if `--permission-prompt-tool stdio` was given; else it is denied.
    #[serde(skip_serializing_if = "is_false")]
    pub ask: bool,
    /// The question is withdrawn after this time, and the call fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdraw_ms: Option<u64>,
    /// Runs in the background: the call returns at once, a task notification follows.
    #[serde(skip_serializing_if = "is_false")]
    pub background: bool,
    /// No result ever comes.
    #[serde(skip_serializing_if = "is_false")]
    pub no_result: bool,
    /// Steps that follow an allowed call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Step>,
    /// Steps that follow a denied call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Step>,
    /// Steps of the unasked turn that a background call's notification starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<Step>,
}

/// A sub-agent. Its last text is its report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// Three to five words.
    pub description: String,
    /// What it is told.
    pub prompt: String,
    /// Its type; `general-purpose` if empty.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The Agent call's tool use id; one is made up if it is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Runs in the background, over the ends of turns.
    #[serde(skip_serializing_if = "is_false")]
    pub background: bool,
    /// It fails with this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    /// What it does; agents may be among the steps.
    pub steps: Vec<Step>,
    /// Steps of the unasked turn that a background agent's report starts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<Step>,
}

/// One of several parallel calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// A tool.
    Tool(Tool),
    /// A sub-agent.
    Agent(Agent),
}

/// Attempts that failed before the one that works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApiRetry {
    /// How many attempts fail.
    pub attempts: u64,
    /// Status of the failures; `None` for a broken connection.
    pub status: Option<u16>,
    /// The kind of error: `overloaded`, `rate_limit`, `server_error`, ...
    pub error: String,
    /// The wait after each failure, in milliseconds.
    pub delay_ms: u64,
    /// Text that the first attempt streamed before it failed. It is never completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
}

/// The API's last word.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApiFailure {
    /// HTTP status.
    pub status: u16,
    /// What the agent says about it.
    pub text: String,
    /// The assistant line's `error`.
    pub error: String,
}

/// A line to print as it is, with placeholders filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
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
    /// How often.
    pub times: usize,
    /// What.
    pub steps: Vec<Step>,
}

/// A question to the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The body: `subtype` and what belongs to it.
    pub request: Map<String, Value>,
    /// It is withdrawn after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdraw_ms: Option<u64>,
}

/// What a turn may wait for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// An interrupt. It is acknowledged and ends nothing; the steps go on.
    Interrupt,
    /// The end of stdin.
    Eof,
    /// Another prompt, which stays queued.
    Prompt,
    /// A control request of this subtype, answered as usual.
    Control(String),
}

impl Text {
    fn delta_default() -> usize {
        8
    }

    fn delta_ms_default() -> u64 {
        20
    }

    /// The text, the characters a delta and the milliseconds between deltas.
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

impl Step {
    /// A text step with the usual rhythm.
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
    /// A tool call that succeeds at once. An `input` that is no object is taken as empty.
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
