//! Parts of the OpenAPI document that many operations share.

use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{OpenApi, RefOr, Required};

/// Operations that make a new secret each time, and take no key.
const WITHOUT_KEY: [&str; 2] = ["issueTicket", "createLoginLink"];

/// The protocol of web terminals, which has no operations of its own.
const PANEL: &str = include_str!("../../../PANEL.md");

/// Adds the page of the panel protocol to the description of the API.
pub(super) fn add_panel(document: &mut OpenApi) {
    let description = document.info.description.get_or_insert_default();
    description.push_str("\n\n");
    description.push_str(PANEL);
}

/// Describes the header `Idempotency-Key` of all operations that change something.
pub(super) fn add_idempotency_key(document: &mut OpenApi) {
    for item in document.paths.paths.values_mut() {
        let PathItem {
            post,
            patch,
            delete,
            ..
        } = item;
        // PATCH and DELETE of a session are the same when they are repeated.
        let queue = [patch, delete].into_iter().flatten().filter(|it| {
            let id = it.operation_id.as_deref();
            id.is_some_and(|it| it.ends_with("QueuedPrompt"))
        });
        for operation in post.iter_mut().chain(queue) {
            add_key(operation);
        }
    }
}

fn add_key(operation: &mut Operation) {
    let id = operation.operation_id.as_deref().unwrap_or_default();
    if WITHOUT_KEY.contains(&id) {
        return;
    }
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(255));
    let parameter = ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(
            "A repeated request with the same key takes effect once, also after a restart of the runner, \
             and gets the same response. An `id` in the body has precedence.",
        ))
        .schema(Some(schema));
    let parameters = operation.parameters.get_or_insert_default();
    parameters.push(RefOr::T(parameter.build()));
}
