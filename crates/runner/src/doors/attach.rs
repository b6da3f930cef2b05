//! The upgrade to a WebSocket: everything is checked before, so that a refusal is an answer.

use std::sync::Arc;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{Path, State};
use axum::http::header::SEC_WEBSOCKET_PROTOCOL;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bowline_transport::SessionId;
use bowline_transport::wire::{HEADER_BYTES, Lease, MAX_PAYLOAD};

use super::admission::{Admission, Door};
use super::problem::Problem;
use super::{frames, panel};
use crate::quiet::QuietStream;
use crate::serve::{Grant, Hall, PROTOCOL_FRAMES, PROTOCOL_PANEL, Pass};

/// The largest message that a client may send, in bytes: a few frames.
const MESSAGE: usize = 4 * (MAX_PAYLOAD + HEADER_BYTES);

/// Bytes that may wait in a WebSocket beside the message that is being sent.
const WAITING: usize = 1 << 20;

type Upgrade = Result<WebSocketUpgrade, WebSocketUpgradeRejection>;

/// Attaches to a session, by frames or as a panel.
pub(super) async fn session(
    State(hall): State<Arc<Hall>>,
    Path(id): Path<String>,
    Extension(pass): Extension<Pass>,
    headers: HeaderMap,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(no_upgrade)?;
    let id = super::rest::id(&id)?;
    if wants(&headers, PROTOCOL_FRAMES) {
        let admission = Admission::of(&hall, Some(pass), id, Door::Frames);
        let (shim, rights) = admission.open(&hall).await?;
        let shim = QuietStream::new(shim).map_err(Problem::internal)?;
        let upgrade = limited(upgrade, WAITING).protocols([PROTOCOL_FRAMES]);
        return Ok(upgrade.on_upgrade(move |socket| frames::serve(socket, shim, rights, hall)));
    }
    let admission = Admission::of(&hall, Some(pass), id, Door::Panel);
    let lease = admission.lease(&hall)?;
    as_panel(hall, upgrade, Some(id), lease, None)
}

/// Starts a session of a panel's own: it has no id that anybody could come back to.
pub(super) async fn panel(
    State(hall): State<Arc<Hall>>,
    Extension(pass): Extension<Pass>,
    upgrade: Upgrade,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(no_upgrade)?;
    let spec = match pass {
        Pass::Owner => None,
        Pass::Ticket(secret) => match hall.redeem(&secret) {
            Some(Grant::Create(spec)) => Some(*spec),
            _ => return Err(Problem::no_ticket()),
        },
    };
    hall.metrics.panel.attaches.add(1);
    as_panel(hall, upgrade, None, Lease::Write, spec)
}

fn as_panel(
    hall: Arc<Hall>,
    upgrade: WebSocketUpgrade,
    id: Option<SessionId>,
    lease: Lease,
    spec: Option<crate::shim::SessionSpec>,
) -> Result<Response, Problem> {
    if lease != Lease::Write {
        let next = "ask for a ticket with the lease `write`, or use the frames door";
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "LEASE_REFUSED",
            "a panel types, and the ticket is not good for that",
            next,
        ));
    }
    // A replay is one message, and may be large.
    let upgrade = limited(upgrade, panel::LARGEST_MESSAGE).protocols([PROTOCOL_PANEL]);
    let response = match id {
        Some(id) => upgrade.on_upgrade(move |socket| panel::attach(socket, id, hall)),
        None => upgrade.on_upgrade(move |socket| panel::start(socket, spec, hall)),
    };
    Ok(response.into_response())
}

fn limited(upgrade: WebSocketUpgrade, waiting: usize) -> WebSocketUpgrade {
    upgrade
        .max_message_size(MESSAGE)
        .max_frame_size(MESSAGE)
        .write_buffer_size(0)
        .max_write_buffer_size(waiting)
}

/// Whether a subprotocol is among those that the client speaks.
fn wants(headers: &HeaderMap, protocol: &str) -> bool {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let offered = offered.filter_map(|it| it.to_str().ok());
    let mut offered = offered.flat_map(|it| it.split(','));
    offered.any(|it| it.trim() == protocol)
}

fn no_upgrade(rejection: WebSocketUpgradeRejection) -> Problem {
    Problem::new(
        StatusCode::UPGRADE_REQUIRED,
        "UPGRADE_REQUIRED",
        rejection.body_text(),
        "open a WebSocket here, with the subprotocol bowline.frames.v1 or bowline.panel.v1",
    )
}
