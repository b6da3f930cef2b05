//! The text messages of the web terminal's protocol: JSON objects with a `type`. Binary messages
//! are terminal bytes.

use bowline_transport::{SessionExit, WindowSize};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Valid numbers of columns and rows.
const VALID_SIZES: std::ops::RangeInclusive<u16> = 1..=1000;

/// A message from the web terminal.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum ClientMessage {
    /// Starts a session, or sets the window size of a running one.
    Start(StartRequest),
    /// Sets the window size.
    Resize {
        /// Columns.
        cols: u16,
        /// Rows.
        rows: u16,
    },
    /// Requests a `pong`.
    Ping {
        /// Echoed in the reply.
        #[serde(default)]
        ts: Option<Value>,
    },
    /// The reply to a `ping`.
    Pong {},
    /// Shows that the web terminal is connected.
    Keepalive {},
}

/// The session to start.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(super) struct StartRequest {
    /// The program, looked up in `PATH`. Default: `claude`.
    pub(super) program: Option<String>,
    /// Arguments of the program.
    pub(super) args: Vec<String>,
    /// Working directory.
    pub(super) cwd: Option<String>,
    /// Columns.
    pub(super) cols: Option<u16>,
    /// Rows.
    pub(super) rows: Option<u16>,
}

impl StartRequest {
    /// Returns the window size, if it is given and valid.
    pub(super) fn size(&self) -> Option<WindowSize> {
        window_size(self.cols?, self.rows?)
    }
}

/// Returns a window size, if it is valid.
pub(super) fn window_size(cols: u16, rows: u16) -> Option<WindowSize> {
    let is_valid = VALID_SIZES.contains(&cols) && VALID_SIZES.contains(&rows);
    is_valid.then(|| WindowSize::new(rows, cols))
}

/// A message to the web terminal.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(super) enum ServerMessage<'a> {
    /// Requests a reply; any message counts.
    Ping,
    /// The reply to a `ping`.
    Pong {
        /// Echoed from the `ping`.
        #[serde(skip_serializing_if = "Option::is_none")]
        ts: Option<Value>,
    },
    /// The next binary message is a replay of the screen: the web terminal clears its screen first.
    ReattachBegin {
        /// Offset of the output that follows the replay.
        offset: u64,
        /// Total bytes of input that were received; input beyond this offset was lost.
        input_next: u64,
        /// Columns of the replayed screen.
        cols: u16,
        /// Rows of the replayed screen.
        rows: u16,
        /// `at` of `GET /api/sessions/{id}/scrollback`, for lines above those of the replay.
        #[serde(skip_serializing_if = "Option::is_none")]
        scrollback_at: Option<String>,
        /// Whether input and sizes are refused.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        read_only: bool,
    },
    /// The session has ended.
    Exit(SessionExit),
    /// A request failed.
    Error {
        /// A stable error code.
        code: &'a str,
        /// What failed, as text.
        detail: &'a str,
    },
}

impl ServerMessage<'_> {
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("every field is JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::close;

    const PAGE: &str = include_str!("../../../PANEL.md");

    #[test]
    fn page_has_all_messages_and_codes() {
        let codes = [
            close::ENDED,
            close::GOING_AWAY,
            close::POLICY_VIOLATION,
            close::INTERNAL_ERROR,
            close::RESTART,
            close::NOT_FOUND,
            close::SUPERSEDED,
        ];
        for code in codes {
            assert!(PAGE.contains(&format!("| {code} |")), "{code}");
        }
        let messages = [
            "start",
            "resize",
            "ping",
            "pong",
            "keepalive",
            "reattach-begin",
            "exit",
            "error",
        ];
        for name in messages {
            assert!(PAGE.contains(&format!("| `{name}` |")), "{name}");
        }
    }
}
