//! The WebSocket upgrades. Everything is checked first, so that a refusal is an HTTP response.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Query, State};
use axum::http::header::SEC_WEBSOCKET_PROTOCOL;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bowline_lifecycle::DialectName;
use bowline_transport::SessionId;
use bowline_transport::wire::{HEADER_BYTES, Lease, MAX_PAYLOAD};
use serde::Deserialize;
use tokio::time::sleep;
use tracing::Instrument as _;
use utoipa::OpenApi;

use super::attach_permit::{AttachPermit, Endpoint};
use super::extract::SessionPath;
use super::problem::Problem;
use super::{acp, frames, trace, web_terminal};
use crate::app_state::AppState;
use crate::auth::{
    ConnectionGuard, OneTimeTicket, PROTOCOL_FRAMES, PROTOCOL_WEB_TERMINAL, Principal, TokenScope,
};
use crate::shim::SessionSpec;
use bowline_transport::UnixConnection;

/// Maximum size of a message from a client, in bytes: a few frames.
pub(super) const MAX_CLIENT_MESSAGE: usize = 4 * (MAX_PAYLOAD + HEADER_BYTES);

/// Maximum size of a message of an editor, in bytes: a prompt with images.
const MAX_EDITOR_MESSAGE: usize = 64 << 20;

/// The agent of an editor's sessions if it names none.
const DEFAULT_AGENT: &str = "claude";

/// Bytes that a WebSocket may buffer besides the message that is being sent.
const WRITE_BUFFER: usize = 1 << 20;

/// Size of the buffer that each WebSocket reads into for as long as it lasts, in bytes. Clients send keys and prompts;
/// tungstenite's default is 128 KiB.
pub(super) const READ_BUFFER: usize = 16 << 10;

/// How often it is checked whether the token of a connection is still valid.
const TOKEN_CHECK: Duration = Duration::from_secs(2);

/// The guard of a TCP connection.
type Guard = Option<Extension<ConnectionGuard>>;

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// The description of the WebSocket endpoints.
#[derive(OpenApi)]
#[openapi(paths(session, web_terminal, editor))]
pub(super) struct AttachDocument;

/// Attach to a session over WebSocket.
///
/// The subprotocol `bowline.frames.v1` has the frames of the session's process; any other one, `bowline.panel.v1` by name, is a
/// web terminal, whose protocol this document describes above. How often a session may be attached to is limited.
#[utoipa::path(get, path = "/api/sessions/{id}/attach", operation_id = "attach",
    params(("id" = String, Path, description = "Id of the session")),
    responses(
        (status = 101, description = "Attached",
            headers(
                ("RateLimit-Policy" = String, description = "How often the session may be attached to: `\"attaches\";q=20;w=2`"),
                ("RateLimit" = String, description = "How often it may be now: `\"attaches\";r=19;t=1`"))),
        (status = 429, description = "The session is attached to too often", body = Problem,
            headers(
                ("RateLimit-Policy" = String, description = "How often the session may be attached to"),
                ("RateLimit" = String, description = "How often it may be now: `r=0`, and the time until all attaches are left"),
                ("Retry-After" = u64, description = "Seconds until the next one"))),
        (status = "default", description = "Error, such as 426 for a request that is no upgrade", body = Problem,
            headers(
                ("RateLimit-Policy" = String, description = "How often the session may be attached to"),
                ("RateLimit" = String, description = "How often it may be now")))))]
pub(super) async fn session(
    State(app): State<Arc<AppState>>,
    SessionPath(id): SessionPath,
    Extension(principal): Extension<Principal>,
    guard: Guard,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(upgrade_required)?;
    let held = Held::new(guard, &app, &principal);
    if offers(&headers, PROTOCOL_FRAMES) {
        let permit = AttachPermit::of(&app, Some(principal), id, Endpoint::Frames);
        let (shim, checks) = permit.connect(&app).await?;
        let shim = UnixConnection::new(shim).map_err(Problem::internal)?;
        let upgrade = with_limits(upgrade, WRITE_BUFFER).protocols([PROTOCOL_FRAMES]);
        let span = trace::attach_span("frames", Some(id));
        return Ok(upgrade.on_upgrade(move |socket| {
            held.serve(frames::serve(socket, shim, checks, app))
                .instrument(span)
        }));
    }
    let permit = AttachPermit::of(&app, Some(principal), id, Endpoint::WebTerminal);
    // The append lease exists for dialogues only.
    let lease = match permit.lease(&app)? {
        Lease::Write => Lease::Write,
        Lease::Append | Lease::Read => Lease::Read,
    };
    let target = WebTerminalTarget::Session {
        id,
        lease,
        may_end: permit.may_end(),
    };
    Ok(serve_web_terminal(app, upgrade, held, target))
}

/// Start a session that ends with its web terminal, over WebSocket.
///
/// The protocol of web terminals, which this document describes above. No client knows the id of the session.
#[utoipa::path(get, path = "/api/panel", operation_id = "panel",
    responses((status = 101, description = "The protocol begins"),
        (status = "default", description = "Error, such as 426 for a request that is no upgrade", body = Problem)))]
pub(super) async fn web_terminal(
    State(app): State<Arc<AppState>>,
    Extension(principal): Extension<Principal>,
    guard: Guard,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let refused = |name: &str, scope: TokenScope| {
        (scope < TokenScope::Own).then(|| Problem::scope_refused(name, scope, TokenScope::Own))
    };
    let refusal = match &principal {
        Principal::Named { name, scope } => refused(name, *scope),
        Principal::Link(scope) => refused("of the fleet", *scope),
        Principal::Owner | Principal::Ticket(_) => None,
    };
    if let Some(problem) = refusal {
        return Err(problem);
    }
    // A ticket is not used up by a request that is no upgrade.
    let upgrade = upgrade.map_err(upgrade_required)?;
    let held = Held::new(guard, &app, &principal);
    let spec = match principal {
        Principal::Owner | Principal::Named { .. } | Principal::Link(_) => None,
        Principal::Ticket(secret) => match app.redeem_ticket(&secret) {
            Some(OneTimeTicket::Create(spec)) => Some(spec),
            _ => return Err(Problem::invalid_ticket()),
        },
    };
    app.metrics.web_terminal.attaches.add(1);
    let target = WebTerminalTarget::New(spec);
    Ok(serve_web_terminal(app, upgrade, held, target))
}

/// Query parameters of an editor's connection.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct EditorQuery {
    /// The agent of new sessions: a known name, or the path of a program.
    agent: Option<String>,
    /// Its protocol.
    dialect: Option<String>,
    /// Its arguments, a JSON array of strings.
    args: Option<String>,
    /// The highest version of ACP to offer: 1, or 2, which is a draft.
    protocol: Option<u8>,
}

/// Connect an editor, which speaks ACP over WebSocket.
///
/// Each message is one of the Agent Client Protocol.
#[utoipa::path(get, path = "/acp", operation_id = "editor",
    params(EditorQuery),
    responses((status = 101, description = "The protocol begins"),
        (status = "default", description = "Error, such as 426 for a request that is no upgrade", body = Problem)))]
pub(super) async fn editor(
    State(app): State<Arc<AppState>>,
    Extension(principal): Extension<Principal>,
    guard: Guard,
    query: Result<Query<EditorQuery>, QueryRejection>,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let Query(query) = query.map_err(|error| Problem::bad_request(error.body_text()))?;
    let dialect = query.dialect.map(|name| name.parse::<DialectName>());
    let dialect = dialect.transpose();
    let dialect = dialect.map_err(|error| Problem::bad_request(error.to_string()))?;
    let args = query.args.as_deref().unwrap_or("[]");
    let args = serde_json::from_str(args);
    let args = args.map_err(|_| Problem::bad_request("`args` must be a JSON array of strings"))?;
    let has_draft = match query.protocol {
        None | Some(1) => false,
        Some(2) => true,
        Some(_) => return Err(Problem::bad_request("`protocol` must be 1 or 2")),
    };
    let agent = acp::AgentChoice {
        agent: query.agent.unwrap_or_else(|| DEFAULT_AGENT.to_owned()),
        dialect,
        args,
        has_draft,
    };
    let upgrade = upgrade.map_err(editor_upgrade_required)?;
    let upgrade = with_limits(upgrade, usize::MAX)
        .max_message_size(MAX_EDITOR_MESSAGE)
        .max_frame_size(MAX_EDITOR_MESSAGE);
    let span = trace::attach_span("acp", None);
    let held = Held::new(guard, &app, &principal);
    Ok(upgrade
        .on_upgrade(move |socket| held.serve(acp::serve(socket, app, agent)).instrument(span)))
}

/// Target of a web terminal.
enum WebTerminalTarget {
    /// A session, with a lease to read or to write.
    Session {
        id: SessionId,
        lease: Lease,
        may_end: bool,
    },
    /// A session that begins and ends with it.
    New(Option<Box<SessionSpec>>),
}

fn serve_web_terminal(
    app: Arc<AppState>,
    upgrade: WebSocketUpgrade,
    held: Held,
    target: WebTerminalTarget,
) -> Response {
    // A replay is one message, and may be large.
    let upgrade =
        with_limits(upgrade, web_terminal::MAX_SERVER_MESSAGE).protocols([PROTOCOL_WEB_TERMINAL]);
    let id = match &target {
        WebTerminalTarget::Session { id, .. } => Some(*id),
        WebTerminalTarget::New(_) => None,
    };
    let span = trace::attach_span("web_terminal", id);
    let serve = move |socket| async move {
        match target {
            WebTerminalTarget::Session { id, lease, may_end } => {
                web_terminal::attach(socket, id, lease, may_end, app).await;
            }
            WebTerminalTarget::New(spec) => {
                web_terminal::start(socket, spec.map(|it| *it), app).await
            }
        }
    };
    upgrade.on_upgrade(move |socket| held.serve(serve(socket)).instrument(span))
}

/// What a connection is served for: its guard, and the client's token.
struct Held {
    guard: Guard,
    app: Arc<AppState>,
    principal: Principal,
}

impl Held {
    fn new(guard: Guard, app: &Arc<AppState>, principal: &Principal) -> Self {
        Self {
            guard,
            app: Arc::clone(app),
            principal: principal.clone(),
        }
    }

    /// Serves the connection until its end, or until the client's token is removed.
    async fn serve(self, serving: impl Future<Output = ()>) {
        tokio::select! {
            () = serving => {}
            () = self.removed() => {}
        }
        drop(self.guard);
    }

    async fn removed(&self) {
        while self.app.auth.is_valid(&self.principal) {
            sleep(TOKEN_CHECK).await;
        }
    }
}

fn with_limits(upgrade: WebSocketUpgrade, write_buffer: usize) -> WebSocketUpgrade {
    upgrade
        .max_message_size(MAX_CLIENT_MESSAGE)
        .max_frame_size(MAX_CLIENT_MESSAGE)
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(0)
        .max_write_buffer_size(write_buffer)
}

/// Returns whether the client offers a subprotocol.
fn offers(headers: &HeaderMap, protocol: &str) -> bool {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let offered = offered.filter_map(|it| it.to_str().ok());
    let mut offered = offered.flat_map(|it| it.split(','));
    offered.any(|it| it.trim() == protocol)
}

fn editor_upgrade_required(rejection: WebSocketUpgradeRejection) -> Problem {
    Problem::new(
        StatusCode::UPGRADE_REQUIRED,
        "UPGRADE_REQUIRED",
        rejection.body_text(),
        "open a WebSocket, or run `bowline acp`",
    )
}

fn upgrade_required(rejection: WebSocketUpgradeRejection) -> Problem {
    Problem::new(
        StatusCode::UPGRADE_REQUIRED,
        "UPGRADE_REQUIRED",
        rejection.body_text(),
        "open a WebSocket with the subprotocol bowline.frames.v1 or bowline.panel.v1",
    )
}
