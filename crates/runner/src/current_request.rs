//! The id of the HTTP request that a task serves, for the logs of what the request leads to.

tokio::task_local! {
    static CURRENT: String;
}

/// Returns the id of the request that the current task serves.
pub(crate) fn current_request_id() -> Option<String> {
    CURRENT.try_with(String::clone).ok()
}

/// Runs work with a request id as the current one.
pub(crate) async fn with_request_id<T>(id: Option<String>, work: impl Future<Output = T>) -> T {
    match id {
        Some(id) => CURRENT.scope(id, work).await,
        None => work.await,
    }
}

/// Returns the name under which the daemon attaches to a session. It has the id of the current request, so that the
/// log of the session has it too.
pub(crate) fn client_name(name: &str) -> String {
    match current_request_id() {
        Some(id) => format!("runner: {name}, request {id}"),
        None => format!("runner: {name}"),
    }
}
