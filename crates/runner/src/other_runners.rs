//! The sessions of other runners, which this one is a gateway to.

use std::fmt;

use bowline_transport::{Boxed, ByteStream, SessionId};

use crate::auth::TokenScope;

/// A session at another runner.
#[derive(Clone, Debug)]
pub struct OtherSession {
    /// Its id.
    pub id: SessionId,
    /// What the REST API of its runner lists of it, with the member `fleet`: `runner`, `name`, `state` (`live` or
    /// `silent`), `silent_since_ms`, `copied`, `is_durable`.
    pub summary: serde_json::Value,
}

/// Why the runner of a session cannot be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OtherRunnerError {
    /// No runner has the session.
    #[error("session not found")]
    Unknown,
    /// Its runner is away.
    #[error("the runner of the session is not connected to the fleet")]
    Away,
    /// The fleet's servers fail.
    #[error("{0}")]
    Failed(String),
}

/// The sessions of other runners.
pub trait OtherRunners: fmt::Debug + Send + Sync {
    /// Returns all of them.
    fn sessions(&self) -> Boxed<'_, Result<Vec<OtherSession>, OtherRunnerError>>;

    /// Connects to the runner of a session, as a client with at most this scope. The stream is for HTTP.
    fn connect(
        &self,
        session: SessionId,
        scope: TokenScope,
    ) -> Boxed<'_, Result<Box<dyn ByteStream>, OtherRunnerError>>;
}
