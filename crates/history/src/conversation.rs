//! A conversation as it is listed.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// A conversation on disk. As JSON, the members have these names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Conversation {
    /// The agent's id of the conversation, which `--resume` takes.
    pub id: String,
    /// The agent that keeps it.
    pub agent: Agent,
    /// The title that the user or the agent gave it, else the beginning of the first prompt.
    pub title: Option<String>,
    /// The working directory that it began in.
    pub cwd: Option<PathBuf>,
    /// The branch of the repository, as of the last line.
    pub branch: Option<String>,
    /// The model of the last answer.
    pub model: Option<String>,
    /// Number of prompts in the file, those of abandoned branches included.
    pub turns: u32,
    /// Cost in US dollars, if the agent recorded it.
    pub cost_usd: Option<f64>,
    /// Time of the last line, or of the last write if no line has one, in milliseconds since 1970.
    pub last_activity_ms: u64,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// The file.
    pub path: PathBuf,
}

/// What the contents of a file say about its conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub(crate) title: Option<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) branch: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) turns: u32,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) last_activity_ms: Option<u64>,
    /// Whether the file is listed: the files of sub-agents, and those without a message, are not.
    pub(crate) is_listed: bool,
}

/// Longest title in characters; longer ones end with an ellipsis.
const MAX_TITLE: usize = 120;

/// Returns the first line of a text that is not blank, shortened, without control characters.
pub(crate) fn title_of(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let mut title: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(MAX_TITLE + 1)
        .collect();
    if let Some((at, _)) = title.char_indices().nth(MAX_TITLE) {
        title.truncate(at);
        title.push('…');
    }
    Some(title)
}

/// Returns the milliseconds since 1970 of a time in RFC 3339.
pub(crate) fn unix_ms(time: &str) -> Option<u64> {
    let time: jiff::Timestamp = time.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_is_one_short_line() {
        assert_eq!(
            title_of("\n  \u{7}Mend it \nand more").as_deref(),
            Some("Mend it")
        );
        assert_eq!(title_of(" \n"), None);
        let long = title_of(&"ü".repeat(500)).unwrap();
        assert_eq!(long.chars().count(), MAX_TITLE + 1);
        assert!(long.ends_with('…'));
    }
}
