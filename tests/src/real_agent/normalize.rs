//! Normalization of transcripts of the real agent.

use std::path::Path;

use serde_json::Value;

use crate::normalize::normalized;

/// Normalizes a transcript and replaces the paths of the run's home.
///
/// # Panics
///
/// The path is not UTF-8.
#[must_use]
pub fn normalized_agent(transcript: &Value, root: &Path) -> Value {
    let root = root.to_str().expect("text");
    let text = transcript.to_string().replace(root, "/root");
    // The agent names its folders after the path of the project.
    let named = root.replace(['/', '.', '_'], "-");
    let text = without_names_of_agents(&text.replace(&named, "-root"));
    normalized(serde_json::from_str(&text).expect("a transcript is JSON"))
}

/// The result of a sub-agent ends with its name and duration, as text.
fn without_names_of_agents(text: &str) -> String {
    let mut parts = text.split("agentId: ");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, after) = part.split_once("</usage>").unwrap_or(("", part));
        rest.push_str(after);
    }
    rest
}
