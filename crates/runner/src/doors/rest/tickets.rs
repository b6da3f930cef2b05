//! Tickets: one attach for whoever must not have the token, such as a page.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bowline_transport::SessionId;
use bowline_transport::wire::Lease;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::Body;
use super::shape::NewSession;
use crate::doors::problem::Problem;
use crate::serve::{Grant, Hall, TICKET, random_secret};
use crate::shim::SessionSpec;

/// What a ticket is to be good for: to attach to a session, or to start one of a panel's own.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct NewTicket {
    /// The session to attach to.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    session: Option<SessionId>,
    /// What may be done there: `read`, `append` or `write`, which is all. `read` if left out.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "write")]
    lease: Lease,
    /// What a panel starts with GET /api/panel.
    #[serde(default)]
    #[schema(value_type = Option<NewSession>)]
    create: Option<SessionSpec>,
}

/// A secret for one attach.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ticket {
    /// Shown as a token is: as a bearer token, or by a page in the subprotocol.
    ticket: String,
    /// How long it can be used, in milliseconds. It is used up by the first attach.
    expires_in_ms: u64,
}

/// Issue a ticket for one attach.
#[utoipa::path(post, path = "/api/tickets", operation_id = "issueTicket",
    request_body = NewTicket,
    responses((status = 201, description = "Done", body = Ticket), (status = "default", description = "Not done", body = Problem)))]
pub(super) async fn issue(
    State(hall): State<Arc<Hall>>,
    Body(wanted): Body<NewTicket>,
) -> Result<(StatusCode, Json<Ticket>), Problem> {
    let grant = match (wanted.session, wanted.create) {
        (Some(id), None) => {
            hall.directory.find(id).ok_or_else(Problem::no_session)?;
            Grant::Attach(id, wanted.lease)
        }
        (None, Some(spec)) => Grant::Create(Box::new(spec)),
        _ => return Err(Problem::bad_request("give either `session` or `create`")),
    };
    let secret = random_secret().map_err(Problem::internal)?;
    let ticket = format!("{TICKET}{secret}");
    hall.issue(&ticket, grant);
    hall.metrics.tickets.add(1);
    let expires_in_ms = hall.limits.ticket_life.as_millis() as u64;
    let ticket = Ticket {
        ticket,
        expires_in_ms,
    };
    Ok((StatusCode::CREATED, Json(ticket)))
}
