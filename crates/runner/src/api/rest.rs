//! The REST API: sessions, prompts and permissions, logs, past conversations, tickets, and the daemon's health.

mod agent;
mod attachments;
mod byte_range;
mod claim;
mod completion;
mod conversation;
mod create_key;
mod describe;
mod dialogue;
mod dialogue_dto;
mod ended_activity;
mod examples;
mod history;
mod index;
mod inspect;
mod log;
mod machine;
mod past;
mod past_screen;
mod queue;
mod restart;
mod scrollback;
mod session_dto;
mod session_list;
mod sessions;
mod shim_client;
mod stream_slice;
mod system;
mod take_over;
mod tickets;
mod transcript;
mod transcript_schema;
mod window;

pub(super) use dialogue::permission_request;
pub(super) use dialogue_dto::PermissionRequest;
pub(crate) use ended_activity::keep_missing_activities;
pub(super) use shim_client::read_record;
pub(super) use stream_slice::{SliceRequest, StreamSlice};
pub(super) use transcript::{HeldFold, HeldTranscript, use_fold};

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app_state::AppState;

/// Maximum size of a request body, in bytes: that of a prompt (10 MiB) with room for JSON escapes.
const MAX_BODY: usize = 16 << 20;

/// The head of the OpenAPI document.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Bowline runner",
        description = "Sessions that outlive their hosts. Over the network, every request needs the \
                       runner's token as `Authorization: Bearer TOKEN`; over the Unix socket, \
                       processes of the runner's own user need none.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    modifiers(&TokenSecurity)
)]
struct Document;

/// Declares that every operation needs the token.
struct TokenSecurity;

impl utoipa::Modify for TokenSecurity {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
        let requirement = utoipa::openapi::SecurityRequirement::new("token", Vec::<String>::new());
        document.security = Some(vec![requirement]);
    }
}

/// Returns the routes, beside `more`, and the document that describes them and those of `others`.
pub(super) fn routes(
    more: OpenApiRouter<Arc<AppState>>,
    others: utoipa::openapi::OpenApi,
) -> (Router<Arc<AppState>>, utoipa::openapi::OpenApi) {
    let (router, mut document) = OpenApiRouter::with_openapi(Document::openapi())
        .merge(more)
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::get, sessions::delete, sessions::update))
        .routes(routes!(restart::restart))
        .routes(routes!(sessions::restore))
        .routes(routes!(dialogue::prompt))
        .routes(routes!(
            dialogue::list_permissions,
            dialogue::answer_permission
        ))
        .routes(routes!(queue::list))
        .routes(routes!(queue::change, queue::cancel))
        .routes(routes!(dialogue::interrupt))
        .routes(routes!(dialogue::set_option))
        .routes(routes!(log::log))
        .routes(routes!(log::arrivals))
        .routes(routes!(log::transcript))
        .routes(routes!(scrollback::scrollback))
        .routes(routes!(past_screen::screen))
        .routes(routes!(past::changes))
        .routes(routes!(inspect::lines))
        .routes(routes!(inspect::unknown_members))
        .routes(routes!(inspect::timeline))
        .routes(routes!(inspect::search))
        .routes(routes!(history::list))
        .routes(routes!(history::get))
        .routes(routes!(history::transcript))
        .routes(routes!(machine::agents))
        .routes(routes!(machine::folders))
        .routes(routes!(tickets::issue))
        .routes(routes!(super::page::create_link))
        .routes(routes!(system::healthz))
        .routes(routes!(system::readyz))
        .routes(routes!(system::metrics))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .split_for_parts();
    document.merge(others);
    describe::add_idempotency_key(&mut document);
    describe::add_panel(&mut document);
    examples::add(&mut document);
    (router, document)
}
