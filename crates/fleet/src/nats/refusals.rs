//! Refusals for lack of rights. The server reports them apart from the request, which is not answered.

use async_nats::{ClientError, Event, ServerError};
use tokio::sync::{broadcast, watch};

use crate::bus::BusError;

/// Maximum number of refusals that a request has not read.
const QUEUE: usize = 64;

/// What servers say of credentials that they do not accept any more, when they close a connection and when it is made
/// again; in lower case.
const REVOKED: [&str; 4] = [
    "authorization violation",
    "user authentication revoked",
    "user authentication expired",
    "account authentication expired",
];

/// What the connection reports apart from replies.
#[derive(Clone, Debug)]
pub(super) struct Reports {
    refusals: broadcast::Sender<String>,
    /// Whether the credentials are refused.
    is_revoked: watch::Sender<bool>,
    connects: watch::Sender<u64>,
}

impl Default for Reports {
    fn default() -> Self {
        Self {
            refusals: broadcast::channel(QUEUE).0,
            is_revoked: watch::Sender::new(false),
            connects: watch::Sender::new(0),
        }
    }
}

impl Reports {
    /// Handles an event of the client.
    pub(super) fn on_event(&self, event: Event) {
        match event {
            Event::Connected => {
                self.is_revoked.send_replace(false);
                self.connects.send_modify(|it| *it += 1);
            }
            Event::ServerError(ServerError::AuthorizationViolation) => self.revoke(),
            Event::ServerError(ServerError::Other(text))
            | Event::ClientError(ClientError::Other(text))
                if is_revocation(&text) =>
            {
                self.revoke();
            }
            Event::ServerError(ServerError::Other(text)) => {
                tracing::warn!(%text, "the NATS server refused a request");
                // An error means that no request waits.
                let _ = self.refusals.send(text);
            }
            event => tracing::debug!(%event, "NATS connection"),
        }
    }

    fn revoke(&self) {
        if !self.is_revoked.send_replace(true) {
            tracing::warn!("the NATS servers refuse the credentials");
        }
    }

    /// Returns how often the connection was made.
    pub(super) fn connects(&self) -> watch::Receiver<u64> {
        self.connects.subscribe()
    }

    /// Returns the refusals from now on.
    pub(super) fn refusals(&self) -> Refusals {
        Refusals {
            texts: self.refusals.subscribe(),
            is_revoked: self.is_revoked.subscribe(),
        }
    }
}

fn is_revocation(text: &str) -> bool {
    let text = text.to_lowercase();
    REVOKED.iter().any(|it| text.contains(it))
}

/// The refusals since a request was prepared.
#[derive(Debug)]
pub(super) struct Refusals {
    texts: broadcast::Receiver<String>,
    is_revoked: watch::Receiver<bool>,
}

impl Refusals {
    /// Waits for a refusal to publish to a subject or to receive its messages, or of the credentials altogether.
    pub(super) async fn of(&mut self, subject: &str) -> BusError {
        tokio::select! {
            () = text_with(&mut self.texts, subject) => BusError::Denied(format!("publish to {subject}")),
            _ = self.is_revoked.wait_for(|it| *it) => BusError::Refused,
        }
    }
}

/// Waits for a text that names a subject.
async fn text_with(texts: &mut broadcast::Receiver<String>, subject: &str) {
    let name = format!("\"{subject}\"");
    loop {
        match texts.recv().await {
            Ok(text) if text.contains(&name) => return,
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revocation_is_known_by_its_text() {
        for text in [
            "User Authentication Revoked",
            "nats: authorization violation",
        ] {
            assert!(is_revocation(text), "{text}");
        }
        let other = "Permissions Violation for Publish to \"bl.log.x\"";
        assert!(!is_revocation(other));
    }

    #[tokio::test]
    async fn refusals_name_what_is_refused() {
        let reports = Reports::default();
        let mut refusals = reports.refusals();
        let text = "Permissions Violation for Publish to \"a\"".to_owned();
        reports.on_event(Event::ServerError(ServerError::Other(text)));
        let denied = BusError::Denied("publish to a".to_owned());
        assert_eq!(refusals.of("a").await, denied);
        reports.on_event(Event::ServerError(ServerError::AuthorizationViolation));
        assert_eq!(refusals.of("a").await, BusError::Refused);
        assert_eq!(reports.refusals().of("b").await, BusError::Refused);
    }
}
