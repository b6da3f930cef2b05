//! Fault injection: steps that a correct agent never takes.

use serde::{Deserialize, Serialize};

use super::is_false;

/// Bytes that are not an event. A line end is added unless `unterminated`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Junk {
    /// Text.
    Text(String),
    /// Bytes in hexadecimal, for example invalid UTF-8 or control sequences.
    Hex {
        /// Two digits for each byte; blanks are ignored.
        hex: String,
        /// Adds no line end.
        #[serde(default, skip_serializing_if = "is_false")]
        unterminated: bool,
    },
}

/// The start of an assistant line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Torn {
    /// Text of the line.
    pub text: String,
    /// Number of bytes that are printed; a negative number counts from the end.
    pub keep: i64,
}

/// Text on stderr.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum StderrText {
    /// A line.
    Line(String),
    /// Numbered lines.
    Flood {
        /// Number of bytes.
        bytes: usize,
    },
}

/// What a process that hangs ignores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hang {
    /// SIGINT, SIGTERM and SIGHUP.
    pub ignore_signals: bool,
    /// Stdin, including its end.
    pub deaf: bool,
}

/// A child process that sleeps.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grandchild {
    /// How long it sleeps, in seconds.
    pub seconds: u64,
    /// Starts it in a session of its own (setsid(2)), as the agent does with every tool.
    pub setsid: bool,
    /// Ignores SIGHUP.
    pub nohup: bool,
    /// Ignores SIGTERM.
    pub ignore_term: bool,
    /// Inherits stdout and keeps it open.
    pub hold_stdout: bool,
    /// File that its process id is written to, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid_file: Option<String>,
}

impl Default for Torn {
    fn default() -> Self {
        Self {
            text: "This line is never finished.".to_owned(),
            keep: 60,
        }
    }
}
