//! The control stream of a session that a daemon drives: what the session began with, what its hosts want, and
//! what became of it. Each is a line with an id, which the session takes once.
//!
//! | module | contents |
//! |---|---|
//! | `line`, `entry` | a line, and what it says |
//! | `lines` | cuts the stream into lines |
//! | `opening` | what a session begins with |
//! | `record` | the JSON of intents |
//! | `outcome` | the JSON of outcomes |

mod entry;
mod line;
mod lines;
mod opening;
mod outcome;
mod record;

use std::collections::BTreeMap;

pub use entry::ControlEntry;
pub use line::ControlLine;
pub use lines::{ControlLines, DamagedLine};
pub use opening::SessionOpening;

/// The label of a session that names its driver.
pub const DRIVER_LABEL: &str = "bowline.driver";

/// The value of [`DRIVER_LABEL`] for a session that the daemon of its runner drives.
pub const DAEMON_DRIVER: &str = "daemon";

/// Returns whether the labels of a session say that a daemon drives it: its hosts send intents, and write none of
/// the agent's lines.
#[must_use]
pub fn is_driven(labels: &BTreeMap<String, String>) -> bool {
    labels
        .get(DRIVER_LABEL)
        .is_some_and(|it| it == DAEMON_DRIVER)
}
