//! What a scenario says: turns, steps, and how the process as a whole behaves.
//!
//! The same types are read from TOML or JSON files and built in Rust; `SCENARIOS.md` describes
//! the file form.

mod file;
mod step;
mod trouble;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use file::ScenarioError;
pub use step::{Agent, ApiFailure, ApiRetry, Call, Many, Raw, Request, Step, Text, Tool, WaitFor};
pub use trouble::{Grandchild, Hang, Junk, StderrText, Torn};

/// A whole script: the turns to play and the manners of the process that plays them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// The turns, in order. A prompt takes the first unused turn that fits it.
    #[serde(rename = "turn", skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<Turn>,
    /// Session ids that `--resume` knows. `None` knows every id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sessions: Option<Vec<String>>,
    /// Pieces of this many bytes, each written and flushed alone; 0 writes whole lines.
    #[serde(skip_serializing_if = "is_zero")]
    pub chunk: usize,
    /// Print the text and thinking of foreground agents even without `--forward-subagent-text`.
    #[serde(skip_serializing_if = "is_false")]
    pub forward_subagent_text: bool,
    /// Never read stdin.
    #[serde(skip_serializing_if = "is_false")]
    pub ignore_stdin: bool,
    /// Accept a terminal on stdin, which the real agent refuses.
    #[serde(skip_serializing_if = "is_false")]
    pub allow_tty: bool,
    /// What happens to a prompt for which no turn is left.
    pub otherwise: Otherwise,
    /// Prompts that wait when a round of tools ends join the running turn, as in the real agent.
    /// `false` keeps them for a turn of their own.
    pub fold: bool,
    /// Scripted answers to the host's control requests; others get the usual ones.
    #[serde(rename = "control", skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<ControlReply>,
    /// Fail before anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup: Option<Startup>,
}

/// One turn: what starts it, what it prints, how it ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// What starts it.
    pub on: Trigger,
    /// The prompt must contain this text.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matches: Option<String>,
    /// May be played again and again.
    #[serde(skip_serializing_if = "is_false")]
    pub repeat: bool,
    /// No `init` opens it, so that it may print anything or nothing.
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
pub enum Trigger {
    /// The next user message.
    #[default]
    Prompt,
    /// The next user message of a process that was started with `--resume`.
    Resume,
    /// The start of the process; no prompt is needed.
    Start,
    /// The end of the turn before it; no prompt is needed.
    Follow,
}

/// What happens to a prompt for which no turn is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Otherwise {
    /// A short reply that repeats the prompt, and the built-in commands.
    #[default]
    Reply,
    /// Nothing, for ever.
    Silence,
}

/// Changes to the `result` line that ends a turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultChange {
    /// No `result` at all.
    #[serde(skip_serializing_if = "is_false")]
    pub skip: bool,
    /// Kept back until the next `result` is printed, just before it.
    #[serde(skip_serializing_if = "is_false")]
    pub hold: bool,
    /// If the turn is interrupted, its `result` is kept back in the same way.
    #[serde(skip_serializing_if = "is_false")]
    pub hold_if_interrupted: bool,
    /// Tokens of this turn's input, instead of the invented number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of this turn's output, instead of the invented number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// US dollars that this turn adds to the running total, instead of a price from the tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Fields that replace or join those of the line.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub set: Map<String, Value>,
    /// Fields to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
}

/// A scripted answer to one kind of control request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ControlReply {
    /// The request's `subtype`.
    pub subtype: String,
    /// Payload of a success.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
    /// Text of an error; wins over `response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `error_code` of an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Never answer, and do nothing.
    #[serde(skip_serializing_if = "is_false")]
    pub silent: bool,
    /// Answer after this many milliseconds, so that later requests may overtake it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

/// A failure before the first line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Startup {
    /// Printed on stderr with a line end.
    pub stderr: String,
    /// Exit code.
    pub exit: u8,
}

impl Scenario {
    /// An empty scenario with the real agent's manners.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same scenario with one more turn, started by a prompt.
    #[must_use]
    pub fn turn(self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.with(Turn {
            steps: steps.into_iter().collect(),
            ..Turn::default()
        })
    }

    /// The same scenario with one more turn.
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
