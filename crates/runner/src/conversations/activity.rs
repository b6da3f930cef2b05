//! What a conversation is about and does, read from its transcript.

use bowline_reducer::{EntryKind, Phase, Transcript};
use bowline_transport::SessionActivity;

/// Longest title that is made of a prompt, in characters.
const MAX_TITLE: usize = 100;

/// Reads what a conversation does.
pub(crate) fn activity_of(transcript: &Transcript) -> SessionActivity {
    let session = transcript.session();
    let status = transcript.status();
    let title = session.title().map(str::to_owned);
    let open = transcript.pending_permissions().count();
    SessionActivity {
        title: title.or_else(|| first_prompt(transcript)),
        phase: phase_name(status.phase),
        reason: Some(status.reason.to_string()),
        conversation: session.id().map(str::to_owned),
        model: session.model().map(str::to_owned),
        cost_usd: Some(transcript.usage().cost_usd()),
        context_used: session.context_used(),
        context_size: session.context_size(),
        open_permissions: Some(open as u64),
        hosts: None,
    }
}

/// Returns the name of a phase, as the transcript has it.
fn phase_name(phase: Phase) -> Option<String> {
    let name = serde_json::to_value(phase).ok()?;
    name.as_str().map(str::to_owned)
}

/// Returns the beginning of the first prompt, on one line.
fn first_prompt(transcript: &Transcript) -> Option<String> {
    let text = transcript.entries().find_map(|entry| match entry.kind() {
        EntryKind::User {
            text,
            synthetic: false,
            ..
        } => Some(text),
        _ => None,
    })?;
    let text = text.to_cow();
    let mut words = text.split_whitespace();
    let mut title = words.next()?.to_owned();
    for word in words {
        title.push(' ');
        title.push_str(word);
        if title.len() > MAX_TITLE {
            break;
        }
    }
    Some(title.chars().take(MAX_TITLE).collect())
}
