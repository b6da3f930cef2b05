//! Forwards requests for a session that another runner of the fleet has.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bowline_transport::wire::Lease;
use bowline_transport::{ByteStream, SessionId};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;
use tracing::debug;

use super::authenticate;
use super::problem::Problem;
use crate::app_state::AppState;
use crate::auth::{OneTimeTicket, PROTOCOL_FRAMES, Principal, TokenScope};
use crate::other_runners::OtherRunnerError;

/// Forwards a request whose path names a session that this runner does not have, if it is a gateway. The caller's
/// scope was checked here, and is checked by the session's runner again.
pub(super) async fn forward(
    State(app): State<Arc<AppState>>,
    request: Request,
    next: Next,
) -> Response {
    let Some(runners) = app.other_runners() else {
        return next.run(request).await;
    };
    let Some(id) = session_of(request.uri()) else {
        return next.run(request).await;
    };
    // A link is not forwarded again, so that requests never go in circles.
    let principal = request.extensions().get::<Principal>().cloned();
    if app.sessions.find(id).is_some() || matches!(principal, Some(Principal::Link(_))) {
        return next.run(request).await;
    }
    let scope = match scope_of(&app, &request, principal, id) {
        Ok(scope) => scope,
        Err(problem) => return problem.into_response(),
    };
    match runners.connect(id, scope).await {
        Ok(stream) => match exchange(request, stream).await {
            Ok(response) => response,
            Err(error) => {
                debug!(%error, session.id = %id, "forwarding failed");
                unreachable(&OtherRunnerError::Away).into_response()
            }
        },
        Err(OtherRunnerError::Unknown) => next.run(request).await,
        Err(error) => unreachable(&error).into_response(),
    }
}

/// Returns the session that a path names.
fn session_of(uri: &Uri) -> Option<SessionId> {
    let rest = uri.path().strip_prefix("/api/sessions/")?;
    rest.split('/').next()?.parse().ok()
}

/// Returns the scope of a caller, if the request is within it. A ticket is for an attach, and is redeemed.
fn scope_of(
    app: &AppState,
    request: &Request,
    principal: Option<Principal>,
    id: SessionId,
) -> Result<TokenScope, Problem> {
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or("", MatchedPath::as_str);
    let is_attach = path == "/api/sessions/{id}/attach";
    match principal {
        Some(Principal::Ticket(secret)) if is_attach => match app.redeem_ticket(&secret) {
            Some(OneTimeTicket::Attach(of, lease)) if of == id => Ok(match lease {
                Lease::Read => TokenScope::Look,
                Lease::Append | Lease::Write => TokenScope::Write,
            }),
            _ => Err(Problem::invalid_ticket()),
        },
        Some(Principal::Owner) => Ok(TokenScope::Own),
        Some(Principal::Named { name, scope }) => {
            let needs = authenticate::scope_of(request.method(), path);
            if is_attach || scope >= needs {
                Ok(scope)
            } else {
                Err(Problem::scope_refused(&name, scope, needs))
            }
        }
        _ => Err(Problem::invalid_ticket()),
    }
}

fn unreachable(error: &OtherRunnerError) -> Problem {
    let (code, next) = match error {
        OtherRunnerError::Failed(_) => {
            ("FLEET_FAILED", "retry later, or run `bowline fleet doctor`")
        }
        OtherRunnerError::Away
        | OtherRunnerError::Unknown
        | OtherRunnerError::Claimed { .. }
        | OtherRunnerError::Running { .. } => (
            "RUNNER_AWAY",
            "retry later; `bowline logs --fleet` reads what was copied of its output",
        ),
    };
    Problem::new(StatusCode::BAD_GATEWAY, code, error, next)
}

/// Sends a request and returns the response. After an upgrade, bytes are passed on in both directions.
async fn exchange(
    mut request: Request,
    stream: Box<dyn ByteStream>,
) -> Result<Response, hyper::Error> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(async move {
        if let Err(error) = connection.with_upgrades().await {
            debug!(%error, "a forwarded connection ended");
        }
    });
    let is_upgrade = request.headers().contains_key(UPGRADE);
    let own = is_upgrade.then(|| hyper::upgrade::on(&mut request));
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |it| it.as_str())
        .parse();
    *request.uri_mut() = path.unwrap_or_default();
    *request.version_mut() = axum::http::Version::HTTP_11;
    clean(request.headers_mut());
    let mut response = sender.send_request(request).await?;
    if response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Some(own) = own
    {
        let theirs = hyper::upgrade::on(&mut response);
        tokio::spawn(async move {
            if let Ok((own, theirs)) = tokio::try_join!(own, theirs) {
                // Either end may be cut: the host attaches again.
                let _ = copy_bidirectional(&mut TokioIo::new(own), &mut TokioIo::new(theirs)).await;
            }
        });
    }
    Ok(response.map(Body::new))
}

/// Removes what was for this runner: the host name, the origin and secrets.
fn clean(headers: &mut HeaderMap) {
    for name in [AUTHORIZATION, COOKIE, ORIGIN] {
        headers.remove(name);
    }
    headers.insert(HOST, HeaderValue::from_static("fleet"));
    let protocols: Vec<_> = headers
        .get_all(SEC_WEBSOCKET_PROTOCOL)
        .into_iter()
        .collect();
    if protocols.is_empty() {
        return;
    }
    let offers_frames = protocols.iter().filter_map(|it| it.to_str().ok());
    let mut offers_frames = offers_frames.flat_map(|it| it.split(','));
    let protocol = if offers_frames.any(|it| it.trim() == PROTOCOL_FRAMES) {
        PROTOCOL_FRAMES
    } else {
        crate::auth::PROTOCOL_WEB_TERMINAL
    };
    headers.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
}
