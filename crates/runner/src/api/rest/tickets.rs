//! Tickets: one attach for a client that must not have the token, such as a web page.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bowline_transport::SessionId;
use bowline_transport::wire::Lease;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::session_dto::NewSession;
use crate::api::extract::JsonBody;
use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::auth::{OneTimeTicket, TICKET_PREFIX, random_secret};
use crate::shim::SessionSpec;

/// What a ticket permits: either attaching to a session or creating one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTicket {
    /// The session to attach to.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    session: Option<SessionId>,
    /// The highest lease: `read`, `append` or `write`. Default: `read`.
    #[serde(default)]
    #[schema(value_type = Option<String>, example = "write")]
    lease: Lease,
    /// The session that a web terminal starts with GET /api/panel.
    #[serde(default)]
    #[schema(value_type = Option<NewSession>)]
    create: Option<SessionSpec>,
}

/// A ticket for one attach.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Ticket {
    /// The secret, used in place of the token.
    ticket: String,
    /// Validity of the ticket, in milliseconds. The first attach consumes it.
    expires_in_ms: u64,
}

/// Issue a ticket for one attach.
#[utoipa::path(post, path = "/api/tickets", operation_id = "issueTicket",
    request_body = NewTicket,
    responses((status = 201, description = "Created", body = Ticket), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn issue(
    State(app): State<Arc<AppState>>,
    JsonBody(request): JsonBody<NewTicket>,
) -> Result<(StatusCode, Json<Ticket>), Problem> {
    let permits = match (request.session, request.create) {
        (Some(id), None) => {
            app.sessions
                .find(id)
                .ok_or_else(Problem::session_not_found)?;
            OneTimeTicket::Attach(id, request.lease)
        }
        (None, Some(spec)) => OneTimeTicket::Create(Box::new(spec)),
        _ => return Err(Problem::bad_request("give either `session` or `create`")),
    };
    let secret = random_secret().map_err(Problem::internal)?;
    let ticket = format!("{TICKET_PREFIX}{secret}");
    app.issue_ticket(&ticket, permits);
    app.metrics.tickets.add(1);
    let expires_in_ms = app.limits.ticket_life.as_millis() as u64;
    let ticket = Ticket {
        ticket,
        expires_in_ms,
    };
    Ok((StatusCode::CREATED, Json(ticket)))
}
