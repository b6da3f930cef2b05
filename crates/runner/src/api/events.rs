//! Events of the sessions, pushed to clients.
//!
//! Each session has one fold for all readers: that of its driver, or of its log if another host drives it. A reader has
//! a position in the history of changes and reads on from there, one batch at a time and as fast as its client takes
//! it. What changed several times meanwhile is one change. Readers at the same position share the batch.
//!
//! A cursor stands for the position. It may stand for an earlier one: each change is a new state, so that a reader
//! that receives some again has the same transcript. A cursor of another fold gets a `reset`.
//!
//! | module | contents |
//! |---|---|
//! | `cursor` | positions and cursors |
//! | `item` | events as JSON |
//! | `event` | events for clients, in batches |
//! | `source` | where the changes of a session come from |
//! | `files` | changes of the files in a session's directory |
//! | `feed` | the events of one session, shared by its readers |
//! | `whole` | a whole transcript, in parts that its readers share |
//! | `table` | what was published of all sessions |
//! | `hub` | watches all sessions |
//! | `lines` | the lines of a terminal |
//! | `others` | the sessions of other runners of a fleet |
//! | `reader` | readers of one session, and of all |
//! | `since` | the changes since a cursor, in one response |
//! | `stream` | server-sent events, and WebSocket |
//! | `notify` | posts what needs attention to a webhook |
//! | `permissions` | the open permission requests of all sessions |

mod cursor;
mod event;
mod feed;
mod files;
#[cfg(feature = "fuzz")]
mod fuzz;
mod hub;
mod item;
mod lines;
mod notify;
mod others;
mod permissions;
mod reader;
mod since;
mod source;
mod stream;
mod table;
mod whole;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::header::UPGRADE;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::Response;
use bowline_transport::wire::SessionKind;
use serde::Deserialize;
use tokio::task::spawn_blocking;
use tracing::Instrument as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::attach::READ_BUFFER;
use super::extract::{QueryParams, SessionPath};
use super::problem::Problem;
use super::{rest, trace};
use crate::app_state::AppState;
use crate::auth::{ConnectionGuard, Principal};
use crate::sessions::SessionRecord;
use cursor::{HubCursor, SessionCursor};
use files::FileWatch;
#[cfg(feature = "fuzz")]
pub use fuzz::cursor as fuzz_cursor;
pub(crate) use hub::EventHub;
use item::ItemKind;
use lines::{LineCursor, LineReader};
pub(crate) use notify::start as start_notifications;
pub use notify::{NotifyConfiguration, NotifyError};
use others::OtherReader;
use reader::{HubReader, Kinds, SessionReader};
pub(in crate::api) use since::changes_since;
use stream::{EventReader, EventSource, ReadPermit};

/// The header with the cursor of a client that reconnects.
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Maximum size of a message from a client, in bytes: none is expected.
const MAX_CLIENT_MESSAGE: usize = 4096;

/// Bytes of messages that a WebSocket writes at once, so that a batch of small events is one write.
const WRITE_BUFFER: usize = 32 << 10;

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// Returns the routes. The hub watches the sessions for them.
pub(super) fn routes(hub: Arc<EventHub>) -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(session))
        .routes(routes!(all))
        .routes(routes!(permissions::list))
        .layer(Extension(hub))
}

/// Where the events of a session begin.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct SessionQuery {
    /// The `id` of the last event that was received, as the header `Last-Event-ID`.
    since: Option<String>,
    /// Whether changes of the files in the session's directory are events, too. Default: no.
    #[serde(default)]
    #[param(required = false)]
    files: bool,
}

/// Follow the transcript of a dialogue, or the lines of a terminal, as server-sent events or over WebSocket.
///
/// Of a dialogue, each `data` is a change of the transcript (schema 2, as `bowline run --output changes` prints them); the first one is a
/// `reset`. Each `id` is a cursor for `Last-Event-ID`, or for `since`: the stream continues after that event. A cursor of
/// another run of the runner is answered with a `reset` and everything. Over WebSocket, each change is a message, and a
/// message with an `id` alone is the cursor after those before it. The stream ends with the session; a client that has
/// read all of an ended session gets the status 204.
///
/// Of a terminal, each `data` is an object with `type`: `line` (`text` with SGR sequences, the offsets `from` and `to` of its
/// bytes, and `cut`, how many characters of a very long line are missing), `gap` (output that is not available any more) or
/// `ended` (with `exit`). Edits within a line are applied; what a full-screen program draws has no meaningful lines.
///
/// With `files`, an object with the `type` `files` has the `paths` of files that have changed, relative to the session's
/// directory, at most four times a second and without a cursor of its own. What `.gitignore`, `.ignore` and
/// `.git/info/exclude` name is left out. `more` says that others have changed too: at most 256 paths are named, and at most
/// 4,096 directories watched.
#[utoipa::path(get, path = "/api/sessions/{id}/events", operation_id = "sessionEvents",
    params(("id" = String, Path, description = "Id of the session"), SessionQuery),
    responses((status = 200, description = "Success", content_type = "text/event-stream", body = String),
        (status = 204, description = "The session has ended, and the client has read everything"),
        (status = "default", description = "Error", body = Problem)))]
#[expect(clippy::too_many_arguments, reason = "each is an extractor")]
async fn session(
    State(app): State<Arc<AppState>>,
    Extension(hub): Extension<Arc<EventHub>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<SessionQuery>,
    Extension(principal): Extension<Principal>,
    guard: Option<Extension<ConnectionGuard>>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let record = rest::read_record(&app, id).await?;
    let cursor = last_event_id(&headers, query.since);
    let files = match query.files {
        true => Some(watch_files(&record).await?),
        false => None,
    };
    if record.info.kind == SessionKind::Terminal {
        let cursor = cursor.map(|it| LineCursor::parse(&it)).unwrap_or_default();
        if record.has_ended() && cursor.is_end {
            return Ok(stream::nothing_more());
        }
        let reader = LineReader::new(Arc::clone(&app), record, cursor)?;
        let reader = EventReader::new(EventSource::Lines(Box::new(reader)), files);
        let permit = ReadPermit::new(app, principal);
        return respond(permit, reader, guard, &headers, upgrade);
    }
    let cursor = cursor.and_then(|it| it.parse::<SessionCursor>().ok());
    if record.has_ended() && cursor.is_some_and(|it| it.is_end) {
        return Ok(stream::nothing_more());
    }
    let feed = hub.feed(&record).await?;
    let from = cursor.map(|it| it.position).unwrap_or_default();
    let source = EventSource::Session(SessionReader::new(hub, feed, from));
    let reader = EventReader::new(source, files);
    respond(
        ReadPermit::new(app, principal),
        reader,
        guard,
        &headers,
        upgrade,
    )
}

/// Which events of all sessions to send, and where they begin.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct AllQuery {
    /// The `id` of the last event that was received, as the header `Last-Event-ID`.
    since: Option<String>,
    /// The types of events to send, separated by commas. Default: all.
    types: Option<String>,
    /// Whether to follow the sessions of all runners of the fleet. Of those of other runners, there are `created`, `phase`
    /// (also when their runner falls silent or another one takes them over: member `fleet`), `ended` and `removed`, without
    /// cursors of their own: they begin with `created` on each connection. Only at a runner that is in a fleet.
    #[serde(default)]
    #[param(required = false, default = false)]
    fleet: bool,
}

/// Follow all sessions, as server-sent events or over WebSocket.
///
/// Each `data` is an object with `session` and `type`: `created` (a session, new or found at the beginning), `change` (of
/// its transcript, as `/api/sessions/{id}/events` sends them), `phase` (its phase, the reason, and what needs attention),
/// `permission` (a request that is new or was closed), `ended`, `removed`. Without a cursor, the stream begins with the
/// sessions that run, and their transcripts. Each `id` is a cursor for `Last-Event-ID`, or for `since`; events after it may
/// be repeated, and none is missing. With a cursor of another run of the runner, the stream begins anew, and has the
/// sessions that ended meanwhile too.
#[utoipa::path(get, path = "/api/events", operation_id = "events",
    params(AllQuery),
    responses((status = 200, description = "Success", content_type = "text/event-stream", body = String),
        (status = "default", description = "Error", body = Problem)))]
async fn all(
    State(app): State<Arc<AppState>>,
    Extension(hub): Extension<Arc<EventHub>>,
    QueryParams(query): QueryParams<AllQuery>,
    Extension(principal): Extension<Principal>,
    guard: Option<Extension<ConnectionGuard>>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let kinds = match &query.types {
        Some(types) => parse_kinds(types)?,
        None => ItemKind::ALL.into(),
    };
    let cursor = last_event_id(&headers, query.since);
    // One that cannot be read is of another version.
    let cursor = cursor.map(|it| it.parse::<HubCursor>().unwrap_or_default());
    hub.start().await;
    let others = match query.fleet {
        true => Some(follow_others(&app, kinds.clone()).await?),
        false => None,
    };
    let source = EventSource::All(HubReader::new(hub, kinds, cursor));
    let reader = EventReader::new(source, None).with_others(others);
    respond(
        ReadPermit::new(app, principal),
        reader,
        guard,
        &headers,
        upgrade,
    )
}

/// Follows the sessions of other runners.
async fn follow_others(app: &AppState, kinds: Kinds) -> Result<OtherReader, Problem> {
    let runners = app.other_runners().ok_or_else(Problem::no_fleet)?;
    let lists = runners.watch().await;
    let lists = lists.map_err(|error| Problem::fleet_failed(&error))?;
    Ok(OtherReader::new(lists, kinds))
}

/// Watches the directory of a session.
async fn watch_files(record: &SessionRecord) -> Result<Box<FileWatch>, Problem> {
    let refused = |detail: String| {
        let next = "follow the session without `files`";
        Problem::new(StatusCode::CONFLICT, "CANNOT_WATCH", detail, next)
    };
    let Some(cwd) = record.info.cwd.clone() else {
        return Err(refused(
            "the session has no directory of its own".to_owned(),
        ));
    };
    let watch = spawn_blocking(move || FileWatch::new(&cwd)).await;
    let watch = watch.map_err(Problem::internal)?;
    watch
        .map(Box::new)
        .map_err(|error| refused(format!("cannot watch the session's directory: {error}")))
}

fn parse_kinds(types: &str) -> Result<Kinds, Problem> {
    let names = types.split(',').map(str::trim);
    let kinds = names.map(|name| ItemKind::of_name(name).ok_or(name));
    kinds.collect::<Result<_, _>>().map_err(|name| {
        let known = ItemKind::ALL.map(ItemKind::name).join(", ");
        Problem::bad_request(format!(
            "unknown type of event `{name}`; the types are {known}"
        ))
    })
}

fn last_event_id(headers: &HeaderMap, since: Option<String>) -> Option<String> {
    let header = headers.get(LAST_EVENT_ID);
    let header = header.and_then(|it| it.to_str().ok()).map(str::to_owned);
    header.or(since)
}

fn respond(
    permit: ReadPermit,
    reader: EventReader,
    guard: Option<Extension<ConnectionGuard>>,
    headers: &HeaderMap,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    if !headers.contains_key(UPGRADE) {
        return Ok(stream::respond(reader, permit));
    }
    let upgrade = upgrade.map_err(|it| Problem::bad_request(it.body_text()))?;
    let upgrade = upgrade
        .max_message_size(MAX_CLIENT_MESSAGE)
        .max_frame_size(MAX_CLIENT_MESSAGE)
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER);
    let span = trace::attach_span("events", None);
    Ok(upgrade.on_upgrade(move |socket| {
        let serve = async move {
            stream::serve(socket, reader, permit).await;
            // The reader is counted until its connection has ended.
            drop(guard);
        };
        serve.instrument(span)
    }))
}
