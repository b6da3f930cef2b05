//! Opens a byte stream to a runner, and accepts one.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{DuplexStream, duplex};
use tokio::time::timeout;

use super::forward::forward;
use crate::bus::{Bus, BusError, Delivery};

/// Bytes between the local side of a stream and its messages.
const BUFFER: usize = 256 << 10;

/// Time limit of a runner's reply. A connected runner replies in milliseconds.
const OPEN_TIMEOUT: Duration = Duration::from_secs(3);

/// A host's request for a link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkOpening {
    /// Where the runner sends to.
    pub inbox: String,
    /// The host, for display.
    pub from: String,
    /// The scope that the host has at most: `look`, `answer`, `write` or `own`. The runner applies it.
    pub scope: String,
}

/// The runner's reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkGrant {
    /// Where the host sends to.
    Inbox(String),
    /// Why the runner refuses.
    Refused(String),
}

/// Why a link to a runner was not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The runner is not connected to the fleet.
    #[error(
        "the runner is not connected to the fleet; its sessions are readable as far as they were copied"
    )]
    Away,
    /// The runner refused.
    #[error("the runner refused: {0}")]
    Refused(String),
    /// The reply cannot be parsed.
    #[error("cannot parse the runner's reply; use the same version of bowline on both machines")]
    BadReply,
    /// The broker failed.
    #[error(transparent)]
    Bus(#[from] BusError),
}

/// Opens a byte stream to the runner that listens on a subject.
///
/// # Errors
///
/// The runner is away or refuses, or the broker fails.
pub async fn open_link<B: Bus>(
    bus: &B,
    subject: &str,
    from: &str,
    scope: &str,
) -> Result<DuplexStream, LinkError> {
    let inbox = bus.inbox();
    let deliveries = bus.subscribe(&inbox).await?;
    let opening = LinkOpening {
        inbox,
        from: from.to_owned(),
        scope: scope.to_owned(),
    };
    let opening = serde_json::to_vec(&opening).map_err(|_| LinkError::BadReply)?;
    let reply = timeout(OPEN_TIMEOUT, bus.request(subject, opening.into())).await;
    let reply = match reply {
        Ok(Err(BusError::NoResponders(_))) | Err(_) => return Err(LinkError::Away),
        Ok(reply) => reply?,
    };
    let peer = match serde_json::from_slice(&reply) {
        Ok(LinkGrant::Inbox(inbox)) => inbox,
        Ok(LinkGrant::Refused(reason)) => return Err(LinkError::Refused(reason)),
        Err(_) => return Err(LinkError::BadReply),
    };
    let (local, remote) = duplex(BUFFER);
    tokio::spawn(forward(bus.clone(), peer, deliveries, remote));
    Ok(local)
}

/// Accepts a byte stream that a host asks for. Returns the runner's side and what the host asked; `None` if the
/// message is not a request.
///
/// # Errors
///
/// The broker fails.
pub async fn accept_link<B: Bus>(
    bus: &B,
    request: &Delivery,
) -> Result<Option<(DuplexStream, LinkOpening)>, BusError> {
    let opening = serde_json::from_slice::<LinkOpening>(&request.payload).ok();
    let Some((opening, reply)) = opening.zip(request.reply.as_deref()) else {
        return Ok(None);
    };
    let inbox = bus.inbox();
    let deliveries = bus.subscribe(&inbox).await?;
    let grant = serde_json::to_vec(&LinkGrant::Inbox(inbox));
    let grant = grant.map_err(|error| BusError::Other(error.to_string()))?;
    bus.publish(reply, grant.into()).await?;
    let (local, remote) = duplex(BUFFER);
    tokio::spawn(forward(
        bus.clone(),
        opening.inbox.clone(),
        deliveries,
        remote,
    ));
    Ok(Some((local, opening)))
}

/// Refuses a byte stream that a host asks for.
pub async fn refuse_link<B: Bus>(bus: &B, request: &Delivery, reason: &str) {
    let grant = serde_json::to_vec(&LinkGrant::Refused(reason.to_owned()));
    if let (Some(reply), Ok(grant)) = (request.reply.as_deref(), grant) {
        // The host's request ends without a reply.
        let _ = bus.publish(reply, grant.into()).await;
    }
}

#[cfg(test)]
mod tests;
