//! The screen of a terminal as it was.

use std::io;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bowline_transport::journal::Folder;
use bowline_transport::wire::StdioKind;
use serde::Deserialize;
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use super::shim_client::read_record;
use super::stream_slice::{no_log, offset_past_end, unreadable_journal};
use crate::api::extract::{QueryParams, SessionPath};
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::scrollback::{JournalSource, PastScreen, screen_at};

/// The moment of a screen.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct ScreenQuery {
    /// Offset in the output: the screen after what came before it. Default: the end.
    #[serde(default)]
    at: Option<u64>,
}

/// Read the screen of a terminal as it was.
///
/// The bytes bring any terminal that has the size of `Bowline-Size` to the screen at an offset of the output. The
/// screen is rebuilt from the session's journal, also after the session has ended.
#[utoipa::path(get, path = "/api/sessions/{id}/screen", operation_id = "screen",
    params(("id" = String, Path, description = "Id of the session"), ScreenQuery),
    responses(
        (status = 200, description = "Success", content_type = "application/octet-stream", body = String,
            headers(
                ("Bowline-At" = u64, description = "Offset in the output"),
                ("Bowline-End" = u64, description = "End offset of the output"),
                ("Bowline-Size" = String, description = "Size of the screen, as `COLSxROWS`"))),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn screen(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<ScreenQuery>,
) -> Result<Response, Problem> {
    let record = read_record(&app, id).await?;
    if record.info.stdio != StdioKind::Pty {
        let detail = "the session has no terminal";
        let next = "read its transcript instead";
        let status = StatusCode::CONFLICT;
        return Err(Problem::new(status, "NOT_A_TERMINAL", detail, next));
    }
    if !record.info.has_journal {
        return Err(no_log());
    }
    let folder = Folder::at(record.session.journal());
    // Rebuilding a screen takes a processor, as folding a transcript does.
    let permit = app.transcripts.permit().await;
    let found = spawn_blocking(move || read_screen(folder, query.at)).await;
    drop(permit);
    let found = found.map_err(Problem::internal)?;
    let (end, found) = found.map_err(|error| unreadable_journal(&error))?;
    if query.at.is_some_and(|at| at > end) {
        return Err(offset_past_end());
    }
    let found = found.ok_or_else(no_screen)?;
    let size = format!("{}x{}", found.size.cols, found.size.rows);
    let headers = [
        ("bowline-at", HeaderValue::from(found.at)),
        ("bowline-end", HeaderValue::from(end)),
        (
            "bowline-size",
            HeaderValue::try_from(size).map_err(Problem::internal)?,
        ),
        (
            CONTENT_TYPE.as_str(),
            HeaderValue::from_static("application/octet-stream"),
        ),
    ];
    Ok((headers, found.bytes).into_response())
}

/// Returns the end of the output, and the screen at an offset.
fn read_screen(folder: Folder, at: Option<u64>) -> io::Result<(u64, Option<PastScreen>)> {
    let mut source = JournalSource::open(folder)?;
    let newest = source.newest()?;
    let end = newest.map_or(0, |it| it.offset);
    let at = at.unwrap_or(end);
    if at > end {
        return Ok((end, None));
    }
    Ok((end, screen_at(&mut source, at)?))
}

fn no_screen() -> Problem {
    let detail = "the screen at that offset is not recorded";
    let next = "use a later offset, or read the session's log";
    Problem::new(StatusCode::GONE, "NO_SCREEN", detail, next)
}
