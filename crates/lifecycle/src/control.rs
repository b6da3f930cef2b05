//! The control stream of a session that a daemon drives: what the session began with, what its hosts want, and
//! what became of it. Each is a line with an id, which the session takes once.
//!
//! # Examples
//!
//! | example | names |
//! |---|---|
//! | [A line](#a-line) | [`ControlLine`], [`ControlEntry`], [`ControlLines`], [`DamagedLine`] |
//! | [The driver of a session](#the-driver-of-a-session) | [`SessionOpening`], [`is_driven`], [`DRIVER_LABEL`], [`DAEMON_DRIVER`], [`RESUME_LABEL`], [`FORK_LABEL`], [`HISTORY_LABEL`], [`GENERATION_LABEL`], [`SESSION_POLICY`] |
//!
//! ## A line
//!
//! ```
//! use bowline_lifecycle::control::{ControlEntry, ControlLine, ControlLines, DamagedLine};
//! use bowline_lifecycle::{Intent, Piece};
//!
//! # fn main() -> Result<(), DamagedLine> {
//! let line = ControlLine { id: "1".to_owned(), client: None, entry: ControlEntry::Intent(Intent::End) };
//! let bytes = format!("{}\n", line.encode().expect("an intent")).into();
//! let mut lines = ControlLines::default();
//! for read in lines.push(&Piece::Bytes { offset: 0, bytes }) {
//!     assert_eq!(read?, line);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## The driver of a session
//!
//! ```
//! use bowline_lifecycle::BudgetRecord;
//! use bowline_lifecycle::control::{DAEMON_DRIVER, DRIVER_LABEL, SESSION_POLICY, SessionOpening, is_driven};
//!
//! let labels = [(DRIVER_LABEL.to_owned(), DAEMON_DRIVER.to_owned())].into();
//! assert!(is_driven(&labels));
//! println!("rules of a session are those of {SESSION_POLICY}");
//! let opening = SessionOpening {
//!     program: "codex".to_owned(),
//!     dialect: "codex".to_owned(),
//!     cwd: "/some/project".into(),
//!     model: None,
//!     mode: None,
//!     resume: None,
//!     fork: false,
//!     mcp_servers: Vec::new(),
//!     budget: BudgetRecord::default(),
//!     resume_at_reset: None,
//!     policy: None,
//! };
//! assert_eq!(opening.configuration().dialect.as_str(), "codex");
//! ```
//!
//! # Modules
//!
//! | module | contents |
//! |---|---|
//! | `line`, `entry` | a line, and what it says |
//! | `lines` | cuts the stream into lines |
//! | `opening` | what a session begins with |
//! | `record` | the JSON of intents |

mod entry;
mod line;
mod lines;
mod opening;
mod record;

use std::collections::BTreeMap;

pub use entry::ControlEntry;
pub use line::ControlLine;
pub use lines::{ControlLines, DamagedLine};
pub use opening::{SESSION_POLICY, SessionOpening};

/// The label of a session that names its driver.
pub const DRIVER_LABEL: &str = "bowline.driver";

/// The value of [`DRIVER_LABEL`] for a session that the daemon of its runner drives.
pub const DAEMON_DRIVER: &str = "daemon";

/// The label of a session that resumes a conversation of its agent: the agent's id of it. A runner that finds the past
/// of such a conversation, and whose agent does not repeat it, keeps it with the session that it creates.
pub const RESUME_LABEL: &str = "bowline.resume";

/// The label of a session whose transcripts begin with the past of the conversation that it resumed. Its runner has
/// that past in the agent's output format, as the stream `history` of its log.
pub const HISTORY_LABEL: &str = "bowline.history";

/// The label of a session that resumes a copy of the conversation: it writes another one.
pub const FORK_LABEL: &str = "bowline.fork";

/// The label of a session that took over a session of another runner of a fleet: the generation of its ownership.
pub const GENERATION_LABEL: &str = "bowline.generation";

/// Returns whether the labels of a session say that a daemon drives it: its hosts send intents, and write none of
/// the agent's lines.
#[must_use]
pub fn is_driven(labels: &BTreeMap<String, String>) -> bool {
    labels
        .get(DRIVER_LABEL)
        .is_some_and(|it| it == DAEMON_DRIVER)
}
