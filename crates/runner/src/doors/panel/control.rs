//! The text frames of a panel: JSON objects with a `type`. Binary frames are terminal bytes.

use bowline_transport::wire::ExitNotice;
use bowline_transport::{ExitStatus, WindowSize};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Columns and rows that a window may have.
const SIZES: std::ops::RangeInclusive<u16> = 1..=1000;

/// What a panel says.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Heard {
    /// Start a session, or say the size of the window of one that runs.
    Start(Start),
    /// The window has another size.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Is anybody there?
    Ping {
        /// Comes back in the answer.
        #[serde(default)]
        ts: Option<Value>,
    },
    /// Yes.
    Pong {},
    /// Only so that something is said.
    Keepalive {},
}

/// What is to be started where nothing runs.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(super) struct Start {
    /// The program, looked up in PATH: `claude` when left out.
    pub(super) program: Option<String>,
    /// Its arguments.
    pub(super) args: Vec<String>,
    /// Where it runs.
    pub(super) cwd: Option<String>,
    /// Columns.
    pub(super) cols: Option<u16>,
    /// Rows.
    pub(super) rows: Option<u16>,
}

impl Start {
    /// The size of the window, if it is said and can be had.
    pub(super) fn size(&self) -> Option<WindowSize> {
        size(self.cols?, self.rows?)
    }
}

/// The size of a window, if it can be had.
pub(super) fn size(cols: u16, rows: u16) -> Option<WindowSize> {
    let can_be = SIZES.contains(&cols) && SIZES.contains(&rows);
    can_be.then(|| WindowSize::new(rows, cols))
}

/// What a panel is told.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum Said<'a> {
    /// Is anybody there? Everything counts as an answer.
    Ping,
    /// Yes.
    Pong {
        /// That of the question.
        #[serde(skip_serializing_if = "Option::is_none")]
        ts: Option<Value>,
    },
    /// The next binary frame is the replay: the panel clears its terminal before it.
    ReattachBegin {
        /// Offset of the output that goes on behind the replay.
        offset: u64,
        /// How many bytes of input have been taken in all: what a panel typed beyond is lost.
        input_next: u64,
        /// The size that the screen is for.
        cols: u16,
        /// The size that the screen is for.
        rows: u16,
    },
    /// The session has ended.
    Exit {
        /// The exit code, if it ended by itself.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
        /// For want of memory.
        oom: bool,
    },
    /// Something was not done.
    Error {
        /// What is wrong, for programs.
        code: &'a str,
        /// What is wrong, for people.
        detail: &'a str,
    },
}

impl Said<'_> {
    pub(super) fn exit(notice: &ExitNotice) -> Self {
        let (code, signal) = match notice.status {
            ExitStatus::Code(code) => (Some(code), None),
            ExitStatus::Signal(signal) => (None, Some(signal)),
            ExitStatus::Unknown => (None, None),
        };
        let oom = notice.oom;
        Self::Exit { code, signal, oom }
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("every field is JSON")
    }
}
