//! The lines above a terminal's screen, by page.

use std::io;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bowline_transport::journal::Folder;
use bowline_transport::wire::StdioKind;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use super::shim_client::read_record;
use super::stream_slice::{no_log, unreadable_journal};
use crate::api::extract::{QueryParams, SessionPath};
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::scrollback::{
    DEFAULT_SCROLLBACK_LINES, JournalSource, Older, ScreenPlace, Scrollback, ScrollbackRequest,
    read,
};

/// Lines per page by default.
const PAGE_LINES: u64 = 1_000;

/// Maximal lines that may be skipped: what a terminal may hold.
const MAX_SKIP: u64 = 1_000_000;

/// The page to read.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct ScrollbackQuery {
    /// The screen above which the lines are: `scrollback_at` of a web terminal's `reattach-begin`, or `older.at` of
    /// another page. Default: the newest screen.
    #[serde(default)]
    #[param(example = "5321-80x24")]
    at: Option<String>,
    /// Number of lines above that screen that the client has. Lines count where they begin; one that the terminal
    /// has wrapped is one line. Default: 0.
    #[serde(default)]
    #[param(required = false, maximum = 1_000_000)]
    skip: u64,
    /// Maximal number of lines, at most 10,000. Default: 1,000.
    #[serde(default)]
    #[param(minimum = 1, maximum = 10_000)]
    lines: Option<u64>,
}

/// Lines above a terminal's screen.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Scrollback, example = json!({
    "lines": ["$ make", "\u{1b}[32mok\u{1b}[m"],
    "older": {"at": "5321-80x24", "skip": 2},
    "lost": false
}))]
pub(super) struct ScrollbackBody {
    /// The lines, oldest first: text with SGR sequences and links (OSC 8). Each begins and ends without either,
    /// and is as long as it was written: the client wraps it.
    lines: Vec<String>,
    /// The parameters of the page before; `null` if there is none.
    older: Option<OlderLines>,
    /// Whether older lines are not recorded any more.
    lost: bool,
}

/// Where older lines are.
#[derive(Debug, Serialize, ToSchema)]
struct OlderLines {
    /// The screen above which they are.
    at: String,
    /// Number of lines above that screen that are newer.
    skip: u64,
}

impl From<Scrollback> for ScrollbackBody {
    fn from(found: Scrollback) -> Self {
        let text = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
        let older = match found.older {
            Older::At { place, skip } => Some(OlderLines {
                at: place.to_string(),
                skip,
            }),
            Older::Nothing | Older::Lost => None,
        };
        Self {
            lines: found.lines.iter().map(text).collect(),
            older,
            lost: found.older == Older::Lost,
        }
    }
}

/// Read lines above a terminal's screen.
///
/// A web terminal receives the newest 10,000 lines when it attaches. This reads older ones from the session's
/// journal, also after the session has ended.
#[utoipa::path(get, path = "/api/sessions/{id}/scrollback", operation_id = "scrollback",
    params(("id" = String, Path, description = "Id of the session"), ScrollbackQuery),
    responses(
        (status = 200, description = "Success", body = ScrollbackBody),
        (status = "default", description = "Error", body = Problem)))]
pub(super) async fn scrollback(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    QueryParams(query): QueryParams<ScrollbackQuery>,
) -> Result<Json<ScrollbackBody>, Problem> {
    let record = read_record(&app, id).await?;
    let place = query.at.as_deref().map(str::parse::<ScreenPlace>);
    let place = place.transpose().map_err(Problem::bad_request)?;
    let lines = query.lines.unwrap_or(PAGE_LINES);
    if lines == 0 || lines > DEFAULT_SCROLLBACK_LINES.into() || query.skip > MAX_SKIP {
        let detail = "`lines` must be 1 to 10000 and `skip` at most 1000000";
        return Err(Problem::bad_request(detail));
    }
    if record.info.stdio != StdioKind::Pty {
        let detail = "the session has no terminal";
        let next = "read its transcript instead";
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "NOT_A_TERMINAL",
            detail,
            next,
        ));
    }
    if !record.info.has_journal {
        return Err(no_log());
    }
    let folder = Folder::at(record.session.journal());
    let skip = query.skip;
    // Rebuilding a screen takes a processor, as folding a transcript does.
    let permit = app.transcripts.permit().await;
    let found = spawn_blocking(move || read_page(folder, place, skip, lines)).await;
    drop(permit);
    let found = found.map_err(Problem::internal)?;
    let found = found.map_err(|error| unreadable_journal(&error))?;
    Ok(Json(found.into()))
}

fn read_page(
    folder: Folder,
    place: Option<ScreenPlace>,
    skip: u64,
    lines: u64,
) -> io::Result<Scrollback> {
    let mut source = JournalSource::open(folder)?;
    let newest = source.newest()?;
    let Some(newest) = newest else {
        return Ok(Scrollback::default());
    };
    let place = place.unwrap_or(newest);
    if place.offset > newest.offset {
        return Ok(Scrollback::default());
    }
    read(&mut source, ScrollbackRequest { place, skip, lines })
}
