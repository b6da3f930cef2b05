//! Work that outlives the connection of its client.

use tracing::Instrument as _;

use crate::api::problem::Problem;
use crate::current_request::{current_request_id, with_request_id};

/// Runs work to its end even if the client disconnects.
pub(super) async fn run_to_completion<T: Send + 'static>(
    work: impl Future<Output = Result<T, Problem>> + Send + 'static,
) -> Result<T, Problem> {
    let work = with_request_id(current_request_id(), work);
    let done = tokio::spawn(work.in_current_span()).await;
    done.unwrap_or_else(|error| Err(Problem::internal(error)))
}
