//! Steps that a well-behaved agent never takes.

use serde::{Deserialize, Serialize};

use super::is_false;

/// A line that is no event. A line end is added unless `unterminated`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Junk {
    /// Text.
    Text(String),
    /// Bytes in hexadecimal, for invalid UTF-8, NUL, `ESC[?25h`.
    Hex {
        /// Two digits a byte; blanks are skipped.
        hex: String,
        /// Leave the line end out.
        #[serde(default, skip_serializing_if = "is_false")]
        unterminated: bool,
    },
}

/// The head of an assistant line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Torn {
    /// Text of the line that is cut.
    pub text: String,
    /// Bytes of the line that are written; negative counts from its end (-1 leaves out the last).
    pub keep: i64,
}

/// Text on stderr: the text itself, or a flood of so many bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StderrText {
    /// A line.
    Line(String),
    /// A flood of numbered lines.
    Flood {
        /// Bytes.
        bytes: usize,
    },
}

/// How deaf a hang is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Hang {
    /// SIGINT, SIGTERM and SIGHUP do nothing.
    pub ignore_signals: bool,
    /// What stdin says, its end included, does nothing.
    pub deaf: bool,
}

/// A child process that sleeps and outlives what it likes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grandchild {
    /// How long it sleeps.
    pub seconds: u64,
    /// In a session of its own, as the real agent starts every tool.
    pub setsid: bool,
    /// Deaf to SIGHUP.
    pub nohup: bool,
    /// Deaf to SIGTERM too.
    pub ignore_term: bool,
    /// Keeps our stdout open.
    pub hold_stdout: bool,
    /// Its process id is written here, as text.
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
