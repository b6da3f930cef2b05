//! Discovery by programs that do not know Bowline: a micro-service of NATS, which answers `$SRV.PING`, `INFO` and `STATS`.

use std::sync::Arc;
use std::time::Duration;

use async_nats::service::ServiceExt as _;
use async_nats::service::error::Error;
use futures_util::StreamExt as _;
use tokio::time::sleep;

use super::connect::Connection;
use crate::directory::{RunnerId, sessions_subject};
use crate::discovery::page;
use crate::member::LocalRunner;

/// Name of the service, which all runners share.
pub(crate) const SERVICE_NAME: &str = "bowline";

/// Name of the endpoint that lists the sessions.
const SESSIONS: &str = "sessions";

/// Pause before the service is started again after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Code of an error while the sessions cannot be listed, as of HTTP.
const UNAVAILABLE: usize = 503;

/// A runner that advertises itself.
#[derive(Clone, Debug)]
pub struct Advertisement {
    /// Its id.
    pub runner: RunnerId,
    /// Its display name.
    pub name: String,
    /// Version of Bowline.
    pub version: String,
}

/// Answers the discovery of micro-services, and lists the sessions of the runner on its endpoint, until it is dropped.
/// Any client of the account that may send requests to `$SRV.>` and `bl.sessions.*` finds them.
pub async fn advertise<L: LocalRunner>(bus: Connection, advertisement: Advertisement, local: L) {
    let local = Arc::new(local);
    loop {
        if let Err(error) = serve(&bus, &advertisement, &local).await {
            tracing::warn!(%error, "the runner is not advertised");
        }
        sleep(RETRY_AFTER).await;
    }
}

async fn serve<L: LocalRunner>(
    bus: &Connection,
    advertisement: &Advertisement,
    local: &Arc<L>,
) -> Result<(), async_nats::Error> {
    let Advertisement {
        runner,
        name,
        version,
    } = advertisement;
    let metadata = [("runner", runner.to_string()), ("machine", name.clone())];
    let metadata = metadata.map(|(name, value)| (name.to_owned(), value));
    let service = bus.client.service_builder();
    let service = service
        .description("Sessions of coding agents at a Bowline runner")
        .metadata(metadata.into());
    let service = service.start(SERVICE_NAME, version).await?;
    let endpoint = service.endpoint_builder().name(SESSIONS);
    let mut endpoint = endpoint.add(sessions_subject(runner)).await?;
    while let Some(request) = endpoint.next().await {
        let listed = local.sessions().await;
        let reply = listed.map(|it| page(it, &request.message.payload).to_string().into());
        let reply = reply.ok_or_else(|| Error {
            status: "the sessions cannot be listed now; retry later".to_owned(),
            code: UNAVAILABLE,
        });
        // A request without a place for the reply has none.
        let _ = request.respond(reply).await;
    }
    service.stop().await
}
