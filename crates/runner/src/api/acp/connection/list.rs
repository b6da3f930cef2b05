//! The list of sessions.

use std::path::PathBuf;

use bowline_reducer::Transcript;
use bowline_transport::SessionId;

use crate::api::acp::intent::{Failure, FailureKind, ListedSession, SessionPage};
use crate::api::session_place::SessionPlace;
use crate::app_state::AppState;
use crate::conversations::is_driven;
use crate::sessions::{SessionRecord, ShimStatus};

/// Number of sessions in a part of the list.
const PAGE: usize = 50;

/// Lists the sessions that can be loaded, the newest first, from a cursor on.
pub(super) async fn list(
    app: &AppState,
    cwd: Option<PathBuf>,
    cursor: Option<String>,
) -> Result<SessionPage, Failure> {
    let after = cursor.as_deref().map(parse).transpose()?;
    let records = app.sessions.records().await;
    let records = records.map_err(|error| Failure::new(FailureKind::Failed, error.to_string()))?;
    let is_shown = |record: &&SessionRecord| {
        let is_there = cwd.is_none() || record.info.cwd == cwd;
        let is_due = after.is_none_or(|after| place(record) < after);
        is_there && is_due && is_loadable(record)
    };
    let mut shown = records.iter().rev().filter(is_shown).peekable();
    let (mut sessions, mut last) = (Vec::new(), None);
    while sessions.len() < PAGE
        && let Some(record) = shown.next()
    {
        sessions.push(row(app, record).await);
        last = Some(place(record));
    }
    let last = last.filter(|_| shown.peek().is_some());
    let next = last.map(|it| it.to_string());
    Ok(SessionPage { sessions, next })
}

const fn place(record: &SessionRecord) -> SessionPlace {
    SessionPlace {
        started_ms: record.info.started_ms,
        id: record.info.id,
    }
}

fn parse(cursor: &str) -> Result<SessionPlace, Failure> {
    cursor.parse().map_err(|_| {
        let message = "the cursor is not one of session/list; list without a cursor";
        Failure::new(FailureKind::Invalid, message)
    })
}

/// Whether the conversation of a session can be read. That of a session without a journal ends with its shim.
fn is_loadable(record: &SessionRecord) -> bool {
    let has_log = record.shim != ShimStatus::Gone || record.info.has_journal;
    has_log && is_driven(&record.info.labels)
}

async fn row(app: &AppState, record: &SessionRecord) -> ListedSession {
    let info = &record.info;
    let title = match info.name.clone() {
        None if record.shim == ShimStatus::Running => title(app, info.id).await,
        name => name,
    };
    let at = info.ended_ms.unwrap_or(info.started_ms);
    let at = i64::try_from(at).unwrap_or_default();
    let at = jiff::Timestamp::from_millisecond(at).ok();
    ListedSession {
        id: info.id.to_string(),
        cwd: info.cwd.clone().unwrap_or_default(),
        title,
        updated_at: at.map(|at| at.to_string()),
    }
}

/// The title that the agent gave a session.
async fn title(app: &AppState, id: SessionId) -> Option<String> {
    // Loading the session says why it cannot be driven.
    let conversation = app.conversations.attach(id).await.ok()?;
    let title = |transcript: &Transcript| transcript.session().title().map(str::to_owned);
    conversation.inspect(title).await
}
