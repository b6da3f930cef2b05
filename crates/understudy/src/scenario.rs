//! Scenarios: turns, steps, and the behaviour of the process.
//!
//! The same types are read from TOML and JSON files and built in Rust. `SCENARIOS.md` documents the
//! files.

mod faults;
mod file;
mod step;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use faults::{Grandchild, Hang, Junk, StderrText, Torn};
pub use file::ScenarioError;
pub use step::{
    Agent, ApiFailure, ApiRetry, Call, Limits, Many, PlanState, PlanStep, Raw, Request, Step, Text,
    Tool, WaitFor,
};

/// A script: the turns to play, and the behaviour of the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The turns. A prompt plays the first matching turn that was not played yet.
    #[serde(rename = "turn", skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// The session ids that `--resume` accepts and `--session-id` refuses. `None` accepts every id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<String>>,
    /// Writes in pieces of this many bytes, each flushed; 0 writes whole lines.
    #[serde(skip_serializing_if = "is_zero")]
    pub chunk: usize,
    /// Prints the text and thinking of foreground sub-agents, as `--forward-subagent-text` does.
    #[serde(skip_serializing_if = "is_false")]
    pub forward_subagent_text: bool,
    /// Never reads stdin.
    #[serde(skip_serializing_if = "is_false")]
    pub ignore_stdin: bool,
    /// Accepts a terminal on stdin, which the agent refuses.
    #[serde(skip_serializing_if = "is_false")]
    pub allow_tty: bool,
    /// What happens to a prompt without a turn.
    pub otherwise: Otherwise,
    /// Prompts that are queued when a round of tools ends join the running turn, and those that are
    /// queued when a turn begins share it, as in Claude Code. With `false` each has a turn of its own.
    pub fold: bool,
    /// Scripted responses to control requests of the host; others are handled as by the agent.
    #[serde(rename = "control", skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<ControlReply>,
    /// The user is not logged in: ACP refuses sessions with -32000, in the other dialects each turn fails.
    #[serde(skip_serializing_if = "is_false")]
    pub logged_out: bool,
    /// Fails at the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup: Option<Startup>,
}

/// A turn: its trigger, its steps and its result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// What starts the turn.
    pub on: Trigger,
    /// Text that the prompt must contain.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// The turn may be played more than once.
    #[serde(skip_serializing_if = "is_false")]
    pub repeat: bool,
    /// Prints no `init` line at the start.
    #[serde(skip_serializing_if = "is_false")]
    pub quiet: bool,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// Changes to the `result` line.
    pub result: ResultChange,
}

/// What starts a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Trigger {
    /// The next user message.
    #[default]
    Prompt,
    /// The next user message, in a process that was started with `--resume`.
    Resume,
    /// The start of the process, without a prompt.
    Start,
    /// The end of the previous turn of the scenario, without a prompt.
    Follow,
}

/// What happens to a prompt without a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Otherwise {
    /// A short reply that repeats the prompt, or a built-in command (see `--help`).
    #[default]
    Reply,
    /// The turn never ends.
    Silence,
}

/// Changes to the `result` line that ends a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultChange {
    /// Prints no `result`.
    #[serde(skip_serializing_if = "is_false")]
    pub skip: bool,
    /// Prints the line just before the next `result`.
    #[serde(skip_serializing_if = "is_false")]
    pub hold: bool,
    /// As `hold`, if the turn is interrupted.
    #[serde(skip_serializing_if = "is_false")]
    pub hold_if_interrupted: bool,
    /// Number of input tokens, instead of an invented one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Number of output tokens, instead of an invented one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Cost of the turn in US dollars, instead of one computed from the tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Fields to add or replace.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// Fields to remove.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

/// A scripted response to control requests with one subtype.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControlReply {
    /// The `subtype` of the requests.
    pub subtype: String,
    /// Payload of a success response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// Message of an error response; takes precedence over `response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `error_code` of an error response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Sends no response.
    #[serde(skip_serializing_if = "is_false")]
    pub silent: bool,
    /// Delay of the response in milliseconds; later requests may be answered first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// A failure at the start of the process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Startup {
    /// Text for stderr; a line end is added.
    pub stderr: String,
    /// Exit code.
    pub exit: u8,
}

impl Scenario {
    /// Returns an empty scenario, which behaves as the agent does.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a turn that is started by a prompt.
    #[must_use]
    pub fn turn(self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.with(Turn {
            steps: steps.into_iter().collect(),
            ..Turn::default()
        })
    }

    /// Adds a turn.
    #[must_use]
    pub fn with(mut self, turn: Turn) -> Self {
        self.turns.push(turn);
        self
    }
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            turns: Vec::new(),
            sessions: None,
            chunk: 0,
            forward_subagent_text: false,
            ignore_stdin: false,
            allow_tty: false,
            otherwise: Otherwise::default(),
            fold: true,
            controls: Vec::new(),
            logged_out: false,
            startup: None,
        }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}
