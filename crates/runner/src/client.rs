//! A client of the daemon: what the command line needs of it.

use std::path::PathBuf;

use bowline_transport::{
    Attachment, BadUrl, Beginning, Identity, Remote, RemoteError, RemoteUrl, SessionId,
    TerminalEngine, TerminalSession, TokenFile, Trust, WindowSize,
};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use crate::shim::StateDir;
use crate::wire::Lease;

/// The daemon's socket in its state folder.
pub(crate) const SOCKET: &str = "runner.sock";

/// A daemon, and how to get to it. Holds no connection.
#[derive(Clone, Debug)]
pub struct RunnerClient {
    remote: Remote,
}

/// What the daemon says when it does not do something.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RunnerProblem {
    /// What is wrong, for programs: stable, in capitals.
    pub code: String,
    /// What is wrong, for people.
    pub detail: String,
    /// What to do next, for people.
    pub next: String,
}

/// Why the daemon did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// The text is no URL of a runner.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// The fingerprint is none.
    #[error(
        "read the certificate's fingerprint: it is not 64 hexadecimal digits, copy it from the runner's first lines"
    )]
    Fingerprint,
    /// It cannot be reached, or the session cannot be joined.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// It says why.
    #[error("{}, {}", .0.detail, .0.next)]
    Refused(RunnerProblem),
    /// What it says is no answer.
    #[error("understand the runner: {0}, use one of this version")]
    Answer(String),
}

impl RunnerClient {
    /// The daemon of this state folder, over its Unix socket.
    #[must_use]
    pub fn local(state: &StateDir) -> Self {
        let socket = state.path().join(SOCKET);
        Self {
            remote: Remote::new(RemoteUrl::Unix(socket)),
        }
    }

    /// A daemon at a URL: `unix:/path`, `http://host:port` or `https://host:port`.
    ///
    /// # Errors
    ///
    /// The URL or the fingerprint cannot be read.
    pub fn at(
        url: &str,
        token_file: Option<PathBuf>,
        fingerprint: Option<&str>,
    ) -> Result<Self, RunnerError> {
        let mut remote = Remote::new(url.parse()?);
        if let Some(file) = token_file {
            remote = remote.with_credentials(TokenFile(file));
        }
        if let Some(fingerprint) = fingerprint {
            let hash = hash(fingerprint).ok_or(RunnerError::Fingerprint)?;
            remote.trust = Trust::Certificates(vec![hash]);
        }
        Ok(Self { remote })
    }

    /// The same, for a daemon that lets nobody in without a certificate.
    #[must_use]
    pub fn with_identity(mut self, identity: Option<Identity>) -> Self {
        self.remote.identity = identity;
        self
    }

    /// The daemon as the lower layers know it.
    #[must_use]
    pub fn into_remote(self) -> Remote {
        self.remote
    }

    /// All sessions, as `GET /api/sessions` gives them.
    ///
    /// # Errors
    ///
    /// The daemon cannot be reached, or refuses.
    pub async fn sessions(&self) -> Result<Vec<Value>, RunnerError> {
        match self.ask("GET", "/api/sessions").await?["sessions"].take() {
            Value::Array(sessions) => Ok(sessions),
            _ => Err(RunnerError::Answer("there is no list in it".to_owned())),
        }
    }

    /// One session, as `GET /api/sessions/{id}` gives it.
    ///
    /// # Errors
    ///
    /// There is none, or as [`sessions`](Self::sessions).
    pub async fn session(&self, id: SessionId) -> Result<Value, RunnerError> {
        self.ask("GET", &format!("/api/sessions/{id}")).await
    }

    /// Ends a session and everything that came of it, as `DELETE /api/sessions/{id}` does. `force`
    /// does not ask it first; `keep` leaves its log.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub async fn end(&self, id: SessionId, force: bool, keep: bool) -> Result<Value, RunnerError> {
        let path = format!("/api/sessions/{id}?force={force}&keep={keep}");
        self.ask("DELETE", &path).await
    }

    /// The log of a session that has ended, from an offset on; the bytes, and nothing behind the
    /// end.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub async fn log(&self, id: SessionId, from: u64) -> Result<Bytes, RunnerError> {
        self.raw("GET", &format!("/api/sessions/{id}/log?from={from}"))
            .await
    }

    /// Joins a session on a terminal as the one who types, with the screen as it is.
    ///
    /// # Errors
    ///
    /// The session cannot be joined.
    pub async fn type_in(
        &self,
        id: SessionId,
        size: Option<WindowSize>,
    ) -> Result<TerminalSession, RunnerError> {
        self.join(id, Lease::Write, Beginning::Screen, size).await
    }

    /// Joins a session to read all that it says.
    ///
    /// # Errors
    ///
    /// The session cannot be joined.
    pub async fn watch(&self, id: SessionId) -> Result<TerminalSession, RunnerError> {
        self.join(id, Lease::Read, Beginning::Start, None).await
    }

    async fn join(
        &self,
        id: SessionId,
        lease: Lease,
        beginning: Beginning,
        size: Option<WindowSize>,
    ) -> Result<TerminalSession, RunnerError> {
        let attachment = Attachment {
            lease,
            beginning,
            size,
            ..Attachment::default()
        };
        let joined = TerminalEngine.attach_remote(&self.remote, id, attachment);
        Ok(joined.await?)
    }

    async fn ask(&self, method: &str, path: &str) -> Result<Value, RunnerError> {
        let body = self.raw(method, path).await?;
        serde_json::from_slice(&body).map_err(|error| RunnerError::Answer(error.to_string()))
    }

    async fn raw(&self, method: &str, path: &str) -> Result<Bytes, RunnerError> {
        let (status, body) = self.remote.ask(method, path, Bytes::new()).await?;
        if (200..300).contains(&status) {
            return Ok(body);
        }
        match serde_json::from_slice(&body) {
            Ok(problem) => Err(RunnerError::Refused(problem)),
            Err(_) => Err(RunnerError::Answer(format!("its status is {status}"))),
        }
    }
}

/// A fingerprint as 32 bytes; colons between the digits are passed over.
fn hash(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text.bytes().filter(|it| *it != b':').collect();
    if digits.len() != 64 {
        return None;
    }
    let mut hash = [0; 32];
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_has_32_bytes() {
        let plain = "0a".repeat(32);
        assert_eq!(hash(&plain), Some([10; 32]));
        assert_eq!(hash(&["0A"; 32].join(":")), Some([10; 32]));
        for wrong in ["", "0a", &"0".repeat(63), &"zz".repeat(32), &"é".repeat(32)] {
            assert_eq!(hash(wrong), None, "{wrong}");
        }
    }
}
