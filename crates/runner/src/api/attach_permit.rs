//! Authorization of attaches, the same for all endpoints.

use bowline_transport::wire::Lease;
use bowline_transport::{SessionId, SessionSummaryState};
use tokio::net::UnixStream;

use super::frames::FrameGuard;
use super::problem::Problem;
use crate::app_state::{AppState, EndpointMetrics};
use crate::auth::{OneTimeTicket, Principal, TokenScope};
use crate::sessions::has_no_listener;

/// The endpoint that a client attaches through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Frames,
    WebTerminal,
    Grpc,
}

/// Permissions of a client at the session that it attaches to.
#[derive(Debug)]
pub(super) struct AttachPermit {
    session: SessionId,
    lease: Option<Lease>,
    may_end: bool,
    endpoint: Endpoint,
}

impl AttachPermit {
    /// Determines the permit of a principal. Consumes its ticket, if it has one.
    pub(super) fn of(
        app: &AppState,
        principal: Option<Principal>,
        session: SessionId,
        endpoint: Endpoint,
    ) -> Self {
        let may_end = match &principal {
            Some(Principal::Named { scope, .. } | Principal::Link(scope)) => {
                *scope == TokenScope::Own
            }
            _ => true,
        };
        let lease = match principal {
            Some(Principal::Owner) => Some(Lease::Write),
            // The append lease permits prompts.
            Some(Principal::Named { scope, .. } | Principal::Link(scope))
                if scope < TokenScope::Write =>
            {
                Some(Lease::Read)
            }
            Some(Principal::Named { .. } | Principal::Link(_)) => Some(Lease::Write),
            Some(Principal::Ticket(secret)) => match app.redeem_ticket(&secret) {
                Some(OneTimeTicket::Attach(of, lease)) if of == session => Some(lease),
                _ => None,
            },
            None => None,
        };
        Self {
            session,
            lease,
            may_end,
            endpoint,
        }
    }

    /// Returns the permitted lease and counts the attach.
    ///
    /// # Errors
    ///
    /// Fails without a permit, or if the session is attached to too often.
    pub(super) fn lease(&self, app: &AppState) -> Result<Lease, Problem> {
        let lease = self.lease.ok_or_else(Problem::invalid_ticket)?;
        app.limit_attach(self.session)
            .map_err(|wait| Problem::rate_limited("too many attaches to the session", wait))?;
        self.metrics(app).attaches.add(1);
        Ok(lease)
    }

    /// Returns whether the client may end the session.
    pub(super) const fn may_end(&self) -> bool {
        self.may_end
    }

    /// Connects to the session's shim.
    pub(super) async fn connect(
        &self,
        app: &AppState,
    ) -> Result<(UnixStream, FrameGuard), Problem> {
        let lease = self.lease(app)?;
        let session = app.sessions.find(self.session);
        let session = session.ok_or_else(Problem::session_not_found)?;
        match session.connect().await {
            Ok(shim) => {
                let guard = FrameGuard::new(self.session, lease);
                let guard = if self.may_end {
                    guard
                } else {
                    guard.without_end()
                };
                Ok((shim, guard.counted(app.attached.add(self.session))))
            }
            // A killed session must not be reported as one that has ended.
            Err(error) if has_no_listener(&error) => {
                match app.sessions.record(self.session).await {
                    Ok(Some(record)) if record.state() == SessionSummaryState::Lost => {
                        Err(Problem::session_killed())
                    }
                    _ => Err(Problem::session_ended()),
                }
            }
            Err(error) => Err(Problem::internal(error)),
        }
    }

    fn metrics<'a>(&self, app: &'a AppState) -> &'a EndpointMetrics {
        match self.endpoint {
            Endpoint::Frames => &app.metrics.frames,
            Endpoint::WebTerminal => &app.metrics.web_terminal,
            Endpoint::Grpc => &app.metrics.grpc,
        }
    }
}
