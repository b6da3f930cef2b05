//! The newest entries of a transcript, and earlier ones by pages.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use bowline_reducer::{
    BlockKind, Blocks, Entry, EntryKind, Permission, Schema, Session, Snapshot, Stats, Status,
    Task, ToolCall, Transcript, Usage,
};
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::conversation::running_conversation;
use super::transcript::HeldTranscript;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::sessions::SessionRecord;

/// Entries in a response, at most.
const MAX_LIMIT: usize = 1000;

/// Which entries to return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Window {
    limit: usize,
    /// Number of the entry before which the window ends; `None` is the end of the transcript.
    before: Option<u32>,
}

/// A part of a transcript, in schema 2.
#[derive(Serialize)]
struct WindowBody<'a> {
    schema: u32,
    #[serde(flatten)]
    session: Session<'a>,
    status: Status<'a>,
    entries: Vec<Entry<'a>>,
    /// The calls of the entries.
    tool_calls: BTreeMap<&'a str, ToolCall<'a>>,
    tasks: BTreeMap<&'a str, Task<'a>>,
    /// The open requests.
    permissions: Vec<Permission<'a>>,
    usage: Usage<'a>,
    stats: Stats<'a>,
    /// The parameter `before` of the entries before these.
    before: Option<u32>,
}

/// Returns the ids of the tool calls of a message.
fn calls_of(blocks: Blocks<'_>) -> Vec<&str> {
    let ids = blocks.iter().filter_map(|block| match block.kind() {
        BlockKind::ToolCall { id } => Some(id),
        _ => None,
    });
    ids.collect()
}

impl Window {
    /// Returns the window of the parameters.
    ///
    /// # Errors
    ///
    /// The limit is out of range.
    pub(super) fn new(limit: usize, before: Option<u32>) -> Result<Self, Problem> {
        if (1..=MAX_LIMIT).contains(&limit) {
            return Ok(Self { limit, before });
        }
        let detail = format!("`limit` must be from 1 to {MAX_LIMIT}");
        Err(Problem::bad_request(detail))
    }

    fn body(self, transcript: &Transcript) -> WindowBody<'_> {
        let before = self.before.unwrap_or(u32::MAX);
        let number = |entry: &Entry<'_>| entry.id().number();
        let mut entries = transcript
            .entries()
            .rev()
            .skip_while(|it| number(it) >= before);
        let mut window: Vec<_> = entries.by_ref().take(self.limit).collect();
        let first = window.last().map(number);
        let before = first.filter(|_| entries.next().is_some());
        window.reverse();
        let calls = window.iter().flat_map(|entry| match entry.kind() {
            EntryKind::Assistant { blocks, .. } => calls_of(blocks),
            _ => Vec::new(),
        });
        let calls = calls.filter_map(|id| Some((id, transcript.tool_call(id)?)));
        WindowBody {
            schema: Schema::Two.number(),
            session: transcript.session(),
            status: transcript.status(),
            tool_calls: calls.collect(),
            entries: window,
            tasks: transcript.tasks().map(|it| (it.id(), it)).collect(),
            permissions: transcript.pending_permissions().collect(),
            usage: transcript.usage(),
            stats: transcript.stats(),
            before,
        }
    }

    /// Responds with the window of a session's transcript.
    pub(super) async fn respond(
        self,
        app: &Arc<AppState>,
        record: SessionRecord,
    ) -> Result<Response, Problem> {
        let json = match running_conversation(app, &record).await? {
            Some(conversation) => self.json(conversation.session().snapshot().await).await?,
            None => {
                let held = HeldTranscript::read(app, record).await?;
                self.json(held.snapshot.clone()).await?
            }
        };
        let mut response = Response::new(Body::from(json));
        let kind = HeaderValue::from_static("application/json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        Ok(response)
    }

    async fn json(self, snapshot: Snapshot) -> Result<Vec<u8>, Problem> {
        let json = spawn_blocking(move || serde_json::to_vec(&self.body(&snapshot)));
        json.await
            .map_err(Problem::internal)?
            .map_err(Problem::internal)
    }
}
