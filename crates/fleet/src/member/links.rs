//! Accepts the links of hosts.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::{LocalRunner, MemberConfiguration};
use crate::bus::Bus;
use crate::carrier::{accept_link, refuse_link};
use crate::directory::link_subject;

/// Maximum number of links at the same time.
const MAX_LINKS: usize = 1024;

/// Pause before the runner listens again after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(2);

/// Accepts links; never returns.
pub(super) async fn accept<B: Bus, L: LocalRunner>(
    bus: B,
    configuration: Arc<MemberConfiguration>,
    local: Arc<L>,
) {
    let subject = link_subject(&configuration.runner);
    let slots = Arc::new(Semaphore::new(MAX_LINKS));
    let mut links = JoinSet::new();
    loop {
        if let Ok(mut requests) = bus.subscribe(&subject).await {
            while let Some(request) = requests.recv().await {
                while links.try_join_next().is_some() {}
                let Ok(slot) = Arc::clone(&slots).try_acquire_owned() else {
                    refuse_link(&bus, &request, "too many links; retry later").await;
                    continue;
                };
                let (bus, local) = (bus.clone(), Arc::clone(&local));
                links.spawn(async move {
                    // The host repeats a request that failed.
                    if let Ok(Some((stream, opening))) = accept_link(&bus, &request).await {
                        local.serve(stream, opening).await;
                    }
                    drop(slot);
                });
            }
        }
        sleep(RETRY_AFTER).await;
    }
}
