//! A client of the daemon's REST API and attach endpoints.

use std::path::PathBuf;

use axum::http::Response;
use bowline_transport::journal::{Arrival, Arrivals};
use bowline_transport::{
    Attachment, BadUrl, Identity, MessageReceiver, MessageSender, Remote, RemoteError, RemoteUrl,
    SessionId, SessionList, SessionSummary, StartPosition, TerminalEngine, TerminalSession,
    TokenFile, Trust, WindowSize,
};
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::sessions::EndedSession;
use crate::shim::StateDir;
use crate::wire::Lease;

/// File name of the daemon's socket in its state folder.
const SOCKET: &str = "runner.sock";

/// A client of a daemon. Opens a connection for each request.
#[derive(Clone, Debug)]
pub struct RunnerClient {
    remote: Remote,
}

/// A range of a session's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogRange {
    /// Offsets of the bytes before this range that are not available, if any.
    pub gap: Option<(u64, u64)>,
    /// Offset of the first byte of `bytes`.
    pub from: u64,
    /// The bytes, at most 1 MiB.
    pub bytes: Bytes,
    /// Offset of the next range; that of the request at the end of the log.
    pub next: u64,
    /// Why a part of the log cannot be read, if the read found one.
    pub damage: Option<String>,
}

/// The id of a session that was created.
#[derive(Deserialize)]
struct CreatedId {
    id: SessionId,
}

/// The id of a prompt that was sent.
#[derive(Deserialize)]
struct SentPrompt {
    id: String,
}

#[derive(Deserialize)]
struct LoginLink {
    url: String,
}

#[derive(Deserialize)]
struct PermissionList {
    permissions: Vec<serde_json::Value>,
}

/// A part of the response to a request for arrivals.
#[derive(Debug, Deserialize)]
struct ArrivalsPage {
    arrivals: Vec<ArrivalAt>,
    next: u64,
}

#[derive(Debug, Deserialize)]
struct ArrivalAt {
    offset: u64,
    at_ms: Option<u64>,
    output: Option<u64>,
}

/// Why the daemon refused a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct RunnerProblem {
    /// A stable error code in capitals.
    pub code: String,
    /// What failed, as text.
    pub detail: String,
    /// What to do next, as text.
    pub next: String,
}

impl RunnerProblem {
    const fn says_something(&self) -> bool {
        !self.detail.is_empty() && !self.next.is_empty()
    }
}

/// Why a request to a daemon failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// The URL is invalid.
    #[error(transparent)]
    Url(#[from] BadUrl),
    /// The certificate's fingerprint is invalid.
    #[error(
        "read the certificate's fingerprint: it must have 64 hexadecimal digits; copy it from the output of `bowline serve`"
    )]
    Fingerprint,
    /// The daemon is unreachable, or the attach was refused.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// The daemon refused the request.
    #[error("{}; {}", .0.detail, .0.next)]
    Refused(RunnerProblem),
    /// The response is invalid.
    #[error("read the runner's response: {0}; use a runner of the same version")]
    InvalidResponse(String),
}

impl RunnerClient {
    /// A client of the daemon of a state folder, over its Unix socket.
    #[must_use]
    pub fn local(state: &StateDir) -> Self {
        let socket = state.path().join(SOCKET);
        Self {
            remote: Remote::new(RemoteUrl::Unix(socket)),
        }
    }

    /// A client of a daemon that is reached in another way, such as through a network of its own.
    #[must_use]
    pub const fn of(remote: Remote) -> Self {
        Self { remote }
    }

    /// A client of the daemon at a URL: `unix:/path`, `http://host:port` or `https://host:port`.
    ///
    /// # Errors
    ///
    /// Fails if the URL or the fingerprint is invalid.
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
            let hash = parse_fingerprint(fingerprint).ok_or(RunnerError::Fingerprint)?;
            remote.trust = Trust::Certificates(vec![hash]);
        }
        Ok(Self { remote })
    }

    /// Sets the client certificate, for a daemon that requires one.
    #[must_use]
    pub fn with_identity(mut self, identity: Option<Identity>) -> Self {
        self.remote.identity = identity;
        self
    }

    /// Returns the address and credentials of the daemon.
    #[must_use]
    pub fn into_remote(self) -> Remote {
        self.remote
    }

    /// Lists all sessions, oldest first, including those that have ended.
    ///
    /// # Errors
    ///
    /// Fails if the daemon is unreachable or refuses the request.
    pub async fn sessions(&self) -> Result<Vec<SessionSummary>, RunnerError> {
        let list: SessionList = self.request("GET", "/api/sessions").await?;
        Ok(list.sessions)
    }

    /// Creates a session, as the OpenAPI document describes the request. Returns its id; an agent has then opened
    /// its session.
    ///
    /// # Errors
    ///
    /// Fails if the daemon is unreachable or refuses the request.
    pub async fn create(&self, session: &serde_json::Value) -> Result<SessionId, RunnerError> {
        let body = Bytes::from(session.to_string());
        let created: CreatedId = self.send("POST", "/api/sessions", body).await?;
        Ok(created.id)
    }

    /// Sends a prompt to a session. Returns the prompt's id.
    ///
    /// # Errors
    ///
    /// As [`end`](Self::end), or if the session does not take prompts.
    pub async fn prompt(&self, id: SessionId, text: &str) -> Result<String, RunnerError> {
        let body = serde_json::json!({ "text": text }).to_string();
        let path = format!("/api/sessions/{id}/prompt");
        let sent: SentPrompt = self.send("POST", &path, body.into()).await?;
        Ok(sent.id)
    }

    /// Returns the permission requests of a session, as the OpenAPI document describes them.
    ///
    /// # Errors
    ///
    /// As [`end`](Self::end).
    pub async fn permissions(&self, id: SessionId) -> Result<Vec<serde_json::Value>, RunnerError> {
        let path = format!("/api/sessions/{id}/permissions");
        let list: PermissionList = self.request("GET", &path).await?;
        Ok(list.permissions)
    }

    /// Answers a permission request of a session, as the OpenAPI document describes the answer.
    ///
    /// # Errors
    ///
    /// As [`end`](Self::end), or if the request is closed.
    pub async fn answer(
        &self,
        id: SessionId,
        answer: &serde_json::Value,
    ) -> Result<(), RunnerError> {
        let path = format!("/api/sessions/{id}/permissions");
        let body = Bytes::from(answer.to_string());
        self.response("POST", &path, body).await.map(drop)
    }

    /// Creates a link that opens the page of the daemon's machine, and logs it in once.
    ///
    /// # Errors
    ///
    /// As [`sessions`](Self::sessions), or if the daemon finds no port to serve the page on.
    pub async fn login_link(&self) -> Result<String, RunnerError> {
        let link: LoginLink = self.request("POST", "/api/login-links").await?;
        Ok(link.url)
    }

    /// Ends a session and all its descendants. `force` sends SIGKILL at once; `remove` moves the
    /// session's log and metadata to the trash, which is kept for an hour.
    ///
    /// # Errors
    ///
    /// As [`sessions`](Self::sessions), or if there is no such session.
    pub async fn end(
        &self,
        id: SessionId,
        force: bool,
        remove: bool,
    ) -> Result<EndedSession, RunnerError> {
        let path = format!("/api/sessions/{id}?force={force}&remove={remove}");
        self.request("DELETE", &path).await
    }

    /// Reads a session's log from an offset.
    ///
    /// # Errors
    ///
    /// As [`end`](Self::end), or if the log was written in another version of its format.
    pub async fn log(&self, id: SessionId, from: u64) -> Result<LogRange, RunnerError> {
        let path = format!("/api/sessions/{id}/log?from={from}");
        self.read_log(&path, from).await
    }

    /// Reads one of a session's streams from an offset: `tty`, `stdout`, `stderr`, `input`, `control` or
    /// `lifecycle`.
    ///
    /// # Errors
    ///
    /// As [`log`](Self::log), or if the session has no such stream.
    pub async fn stream(
        &self,
        id: SessionId,
        stream: &str,
        from: u64,
    ) -> Result<LogRange, RunnerError> {
        let path = format!("/api/sessions/{id}/log?stream={stream}&from={from}");
        self.read_log(&path, from).await
    }

    /// Reads the past of the conversation that a session resumed; `None` if the runner keeps none.
    ///
    /// # Errors
    ///
    /// As [`end`](Self::end).
    pub async fn history(&self, id: SessionId) -> Result<Option<Bytes>, RunnerError> {
        Ok(self.remote.history(id).await?)
    }

    /// Reads when and where all bytes of a stream arrived.
    ///
    /// # Errors
    ///
    /// As [`stream`](Self::stream).
    pub async fn arrivals(&self, id: SessionId, stream: &str) -> Result<Arrivals, RunnerError> {
        let (mut arrivals, mut from) = (Arrivals::default(), 0);
        loop {
            let path = format!("/api/sessions/{id}/arrivals?stream={stream}&from={from}");
            let page: ArrivalsPage = self.request("GET", &path).await?;
            for ArrivalAt {
                offset,
                at_ms,
                output,
            } in page.arrivals
            {
                arrivals.push(offset, Arrival { at_ms, output });
            }
            if page.next <= from {
                return Ok(arrivals);
            }
            from = page.next;
        }
    }

    async fn read_log(&self, path: &str, from: u64) -> Result<LogRange, RunnerError> {
        let response = self.response("GET", path, Bytes::new()).await?;
        let header = |name| response.headers().get(name)?.to_str().ok();
        let offset = |name| header(name)?.parse::<u64>().ok();
        let start = offset("bowline-from").unwrap_or(from);
        let end = start.saturating_add(response.body().len() as u64);
        let gap = header("bowline-gap").and_then(|gap| {
            let (from, to) = gap.split_once('-')?;
            Some((from.parse().ok()?, to.parse().ok()?))
        });
        let next = offset("bowline-next").unwrap_or(end);
        if next < start {
            let detail = format!("the log continues at {next}, before its part from {start}");
            return Err(RunnerError::InvalidResponse(detail));
        }
        Ok(LogRange {
            gap,
            from: start,
            next,
            damage: header("bowline-damage").map(str::to_owned),
            bytes: response.into_body(),
        })
    }

    /// Attaches to a terminal session with the write lease, starting with its current screen.
    ///
    /// # Errors
    ///
    /// Fails if the attach does.
    pub async fn attach_terminal(
        &self,
        id: SessionId,
        size: Option<WindowSize>,
    ) -> Result<TerminalSession, RunnerError> {
        self.attach(id, Lease::Write, StartPosition::Screen, size)
            .await
    }

    /// Attaches to a terminal session with the read lease, starting with its current screen. The host shows the
    /// session and changes nothing of it.
    ///
    /// # Errors
    ///
    /// Fails if the attach does.
    pub async fn watch_terminal(&self, id: SessionId) -> Result<TerminalSession, RunnerError> {
        self.attach(id, Lease::Read, StartPosition::Screen, None)
            .await
    }

    /// Attaches to a session with the read lease, starting with its oldest output.
    ///
    /// # Errors
    ///
    /// Fails if the attach does.
    pub async fn attach_reader(&self, id: SessionId) -> Result<TerminalSession, RunnerError> {
        self.attach(id, Lease::Read, StartPosition::Start, None)
            .await
    }

    async fn attach(
        &self,
        id: SessionId,
        lease: Lease,
        start: StartPosition,
        size: Option<WindowSize>,
    ) -> Result<TerminalSession, RunnerError> {
        let attachment = Attachment {
            lease,
            start,
            size,
            ..Attachment::default()
        };
        let session = TerminalEngine.attach_remote(&self.remote, id, attachment);
        Ok(session.await?)
    }

    /// Connects as an editor, which speaks ACP: each message is one of JSON-RPC. `query` is that of the URL,
    /// without the question mark, or empty.
    ///
    /// # Errors
    ///
    /// Fails if the daemon is unreachable or refuses the connection.
    pub async fn editor(
        &self,
        query: &str,
    ) -> Result<(MessageSender, MessageReceiver), RunnerError> {
        Ok(self.remote.messages(&format!("/acp?{query}")).await?)
    }

    async fn request<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
    ) -> Result<T, RunnerError> {
        self.send(method, path, Bytes::new()).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: Bytes,
    ) -> Result<T, RunnerError> {
        let response = self.response(method, path, body).await?;
        serde_json::from_slice(response.body())
            .map_err(|error| RunnerError::InvalidResponse(error.to_string()))
    }

    async fn response(
        &self,
        method: &str,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Bytes>, RunnerError> {
        let response = self.remote.request(method, path, body).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        // What is no runner may answer with JSON that says nothing.
        let problem = serde_json::from_slice(response.body()).ok();
        let problem = problem.filter(RunnerProblem::says_something);
        Err(problem.map_or_else(
            || RunnerError::InvalidResponse(format!("status {status}")),
            RunnerError::Refused,
        ))
    }
}

/// Parses a SHA-256 in hexadecimal, with or without colons.
fn parse_fingerprint(text: &str) -> Option<[u8; 32]> {
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
    fn fingerprint_has_64_digits() {
        let plain = "0a".repeat(32);
        assert_eq!(parse_fingerprint(&plain), Some([10; 32]));
        assert_eq!(parse_fingerprint(&["0A"; 32].join(":")), Some([10; 32]));
        for wrong in ["", "0a", &"0".repeat(63), &"zz".repeat(32), &"é".repeat(32)] {
            assert_eq!(parse_fingerprint(wrong), None, "{wrong}");
        }
    }
}
