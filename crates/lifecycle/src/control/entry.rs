//! What a line of a control stream says.

use super::opening::SessionOpening;
use crate::error::DialogueError;
use crate::intent::Intent;

/// What a line of a control stream says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ControlEntry {
    /// What the session began with: the first line.
    Open(SessionOpening),
    /// What a host wants. It takes effect when the driver reads it.
    Intent(Intent),
    /// What became of an intent.
    Outcome {
        /// Id of the line with the intent.
        of: String,
        /// The agent's response, a JSON value, if it gave one; or why it was not carried out.
        result: Result<Option<String>, DialogueError>,
    },
    /// A line of a newer version.
    Other,
}
