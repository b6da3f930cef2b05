//! The page: its files, which need no token, and the login by a one-time link.
//!
//! The files are built by `web/build.js` and committed, so that a build of this crate needs no node.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use utoipa::ToSchema;

use super::extract::JsonBody;
use super::problem::Problem;
use crate::app_state::AppState;
use crate::auth::{AuthError, OneTimeTicket, Peer, TICKET_PREFIX, make_page_token, random_secret};

/// Content security policy of the page: its own script, and requests to its own origin.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     font-src 'self'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// A file of the page.
#[derive(Debug)]
struct Asset {
    path: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
}

const ASSETS: [Asset; 7] = [
    Asset {
        path: "/",
        content_type: "text/html; charset=utf-8",
        bytes: include_bytes!("../../web/dist/index.html"),
    },
    Asset {
        path: "/app.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../web/dist/app.js"),
    },
    Asset {
        path: "/chunk.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../web/dist/chunk.js"),
    },
    Asset {
        path: "/more.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../web/dist/more.js"),
    },
    Asset {
        path: "/terminal.js",
        content_type: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../web/dist/terminal.js"),
    },
    Asset {
        path: "/app.css",
        content_type: "text/css; charset=utf-8",
        bytes: include_bytes!("../../web/dist/app.css"),
    },
    Asset {
        path: "/icon.svg",
        content_type: "image/svg+xml",
        bytes: include_bytes!("../../web/dist/icon.svg"),
    },
];

/// Returns the routes that need no token. The host name is checked all the same, and the origin of a login.
pub(super) fn routes(app: &Arc<AppState>) -> Router<Arc<AppState>> {
    let mut router = Router::new().route("/api/login", post(login));
    for asset in &ASSETS {
        router = router.route(
            asset.path,
            get(async move |request: Request| respond(asset, &request)),
        );
    }
    router.layer(from_fn_with_state(Arc::clone(app), check))
}

async fn check(State(app): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let Some(peer) = request.extensions().get::<Peer>().copied() else {
        return Problem::internal("the request has no peer").into_response();
    };
    let (parts, body) = request.into_parts();
    match app.auth.authenticate_public(&parts, peer.kind) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(error) => Problem::from(error).into_response(),
    }
}

fn respond(asset: &Asset, request: &Request) -> Response {
    let tag = format!("\"{:08x}\"", crc32c::crc32c(asset.bytes));
    let known = request.headers().get(IF_NONE_MATCH);
    let is_known = known.is_some_and(|it| it.as_bytes() == tag.as_bytes());
    let body = if is_known { &[][..] } else { asset.bytes };
    let mut response = body.into_response();
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, asset.content_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (OPENER_POLICY, "same-origin"),
        (RESOURCE_POLICY, "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(ETAG, tag);
    }
    response
}

/// A link that opens the page and logs it in once.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LoginLink {
    /// The link. Its ticket is in the fragment, which browsers do not send.
    url: String,
    /// Validity of the link, in milliseconds. The first login consumes it.
    expires_in_ms: u64,
}

/// Create a link that opens the page and logs it in once. Serves the page on a loopback address from then on.
#[utoipa::path(post, path = "/api/login-links", operation_id = "createLoginLink",
    responses((status = 201, description = "Created", body = LoginLink), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn create_link(
    State(app): State<Arc<AppState>>,
) -> Result<(StatusCode, Json<LoginLink>), Problem> {
    let address = app.page.open().await.map_err(|error| {
        let next = "free a port, and try again";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let detail = format!("cannot serve the page: {error}");
        Problem::new(status, "NO_PAGE_ADDRESS", detail, next)
    })?;
    let secret = random_secret().map_err(Problem::internal)?;
    let ticket = format!("{TICKET_PREFIX}{secret}");
    app.issue_ticket(&ticket, OneTimeTicket::Login);
    let link = LoginLink {
        url: format!("http://{address}/#login={ticket}"),
        expires_in_ms: app.limits.ticket_life.as_millis() as u64,
    };
    Ok((StatusCode::CREATED, Json(link)))
}

/// The ticket of a login link.
#[derive(Debug, Deserialize)]
struct Login {
    ticket: String,
}

/// The token of a page.
#[derive(Debug, Serialize)]
struct PageToken {
    token: String,
}

/// Exchanges the ticket of a login link for a token of the page.
async fn login(
    State(app): State<Arc<AppState>>,
    peer: axum::Extension<Peer>,
    JsonBody(login): JsonBody<Login>,
) -> Result<Json<PageToken>, Problem> {
    if app.redeem_ticket(&login.ticket) != Some(OneTimeTicket::Login) {
        app.metrics.wrong_tokens.add(1);
        sleep(app.failed_login_delay(peer.address)).await;
        return Err(AuthError::WrongLink.into());
    }
    let tokens = app.auth.named.file();
    let made = spawn_blocking(move || make_page_token(&tokens, now_ms())).await;
    let token = made
        .map_err(Problem::internal)?
        .map_err(Problem::internal)?;
    Ok(Json(PageToken { token }))
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |it| it.as_millis() as u64)
}
