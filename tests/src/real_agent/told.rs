//! Transcripts of the real agent without what is different in each run.

use std::path::Path;

use serde_json::Value;

use crate::faceless::faceless;

/// A transcript without names, times and the paths of a run's home.
///
/// # Panics
///
/// The path is no text.
#[must_use]
pub fn homeless(transcript: &Value, root: &Path) -> Value {
    let root = root.to_str().expect("text");
    let text = transcript.to_string().replace(root, "/root");
    // The agent names its folders after the path of the project.
    let named = root.replace(['/', '.', '_'], "-");
    let text = without_names_of_agents(&text.replace(&named, "-root"));
    faceless(serde_json::from_str(&text).expect("a transcript is JSON"))
}

/// What a sub-agent hands back ends with its name and the time that it took, as text.
fn without_names_of_agents(text: &str) -> String {
    let mut parts = text.split("agentId: ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, behind) = part.split_once("</usage>").unwrap_or(("", part));
        rest.push_str(behind);
    }
    rest
}
