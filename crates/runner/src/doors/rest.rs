//! The REST door: sessions, their prompts and permissions, their logs, and the runner itself.

mod dialogue;
mod extract;
mod history;
mod log;
mod sessions;
mod shape;
mod system;
mod talk;
mod tickets;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use bowline_transport::SessionId;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::problem::Problem;
use crate::serve::Hall;

/// The longest body that is taken, in bytes: the longest prompt (10 MiB), however it is escaped.
const BODY: usize = 16 << 20;

/// What is said of the document as a whole.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bowline runner",
        description = "Terminal sessions that outlive their hosts. Over the network every request \
                       shows the runner's token as `Authorization: Bearer TOKEN`; over the Unix \
                       socket the runner's own user needs none.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    modifiers(&Secured)
)]
struct Document;

/// Every operation needs the token.
struct Secured;

impl utoipa::Modify for Secured {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
        let need = utoipa::openapi::SecurityRequirement::new("token", Vec::<String>::new());
        document.security = Some(vec![need]);
    }
}

/// The routes, and the document that describes them.
pub(super) fn routes() -> (Router<Arc<Hall>>, utoipa::openapi::OpenApi) {
    OpenApiRouter::with_openapi(Document::openapi())
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::one, sessions::end))
        .routes(routes!(sessions::restart))
        .routes(routes!(dialogue::prompt))
        .routes(routes!(dialogue::permissions, dialogue::answer))
        .routes(routes!(dialogue::interrupt))
        .routes(routes!(log::range))
        .routes(routes!(log::transcript))
        .routes(routes!(tickets::issue))
        .routes(routes!(system::healthz))
        .routes(routes!(system::readyz))
        .routes(routes!(system::metrics))
        .layer(DefaultBodyLimit::max(BODY))
        .split_for_parts()
}

/// A session's id from an address. What is none names no session.
pub(super) fn id(text: &str) -> Result<SessionId, Problem> {
    text.parse().map_err(|_| Problem::no_session())
}
