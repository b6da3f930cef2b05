//! The past of the conversation that a session resumes.

use bowline_history::History;
use bowline_lifecycle::control::{HISTORY_LABEL, RESUME_LABEL};
use bowline_lifecycle::{DialectName, KnownAgent};
use bowline_transport::wire::SessionKind;
use bytes::Bytes;
use tokio::task::spawn_blocking;

use crate::shim::SessionSpec;

/// Adds the past of the conversation that a session resumes, as it is now: a session that is restarted begins with what
/// its predecessor added. A conversation that is not found is reported by the agent.
pub(super) async fn with_past(mut spec: SessionSpec) -> SessionSpec {
    spec.history = match read_past(&spec) {
        Some(read) => spawn_blocking(read).await.ok().flatten(),
        None => None,
    };
    match &spec.history {
        Some(_) => spec
            .labels
            .insert(HISTORY_LABEL.to_owned(), "true".to_owned()),
        None => spec.labels.remove(HISTORY_LABEL),
    };
    spec
}

/// Returns the function that reads the past, if the agent is Claude Code: the other agents repeat it. The function blocks.
fn read_past(spec: &SessionSpec) -> Option<impl FnOnce() -> Option<Bytes> + use<>> {
    let id = spec.labels.get(RESUME_LABEL)?.clone();
    let is_claude = spec.kind == SessionKind::Dialogue
        && DialectName::of_labels(&spec.labels) == DialectName::Claude;
    KnownAgent::find(spec.program.as_ref()).filter(|it| is_claude && it.name == "claude")?;
    let environment = spec.env.resolve();
    Some(move || {
        let history = History::of_user(|name| environment.value(name));
        let past = history.open(&id).ok()?;
        (past.conversation.id == id).then_some(past.stream)
    })
}
