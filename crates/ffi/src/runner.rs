//! A client for the session list of a runner.

#[cfg(not(feature = "full"))]
mod absent;
#[cfg(feature = "full")]
mod convert;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::core;
use crate::error::{BowlineError, Result};
use crate::manager::SessionKind;
use crate::remote::RunnerConfiguration;
use crate::runtime::uncancelled;

/// A session at a runner.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RunnerSession {
    /// The session's id, for `Engine.attach` and `Engine.attachShell`.
    pub id: String,
    /// The session's display name.
    pub name: Option<String>,
    /// The kind of session.
    pub kind: SessionKind,
    /// The program.
    pub program: String,
    /// The working directory, if one was set.
    pub cwd: Option<String>,
    /// Labels that the host set.
    pub labels: HashMap<String, String>,
    /// The text that a host stored with the session; absent in a list.
    pub metadata: Option<String>,
    /// The session's state.
    pub state: RunnerSessionState,
    /// The process id on the runner's machine while the program runs.
    pub pid: Option<u32>,
    /// When the session was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When the session ended, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// The exit code.
    pub code: Option<i32>,
    /// The signal that ended the program.
    pub signal: Option<i32>,
    /// Whether the program was killed for lack of memory.
    pub is_out_of_memory: bool,
    /// The runner's complete description of the session, a JSON object.
    pub json: String,
}

/// A change of a session at a runner. Absent members stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RunnerSessionChange {
    /// The display name; an empty one removes it.
    #[uniffi(default = None)]
    pub name: Option<String>,
    /// Labels to set, and those to remove without a value.
    #[uniffi(default)]
    pub labels: HashMap<String, Option<String>>,
    /// Text of the host's own format, at most 64 KiB; an empty one removes it.
    #[uniffi(default = None)]
    pub metadata: Option<String>,
}

/// The state of a session at a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum RunnerSessionState {
    /// The program is running.
    Running,
    /// The program has exited.
    Exited,
    /// The session's process was killed, and its descendants with it.
    Lost,
}

/// Lists and ends the sessions of a runner. Each call uses its own connection.
#[derive(uniffi::Object)]
pub struct RunnerClient {
    remote: core::Remote,
}

impl std::fmt::Debug for RunnerClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunnerClient")
            .field("remote", &self.remote)
            .finish_non_exhaustive()
    }
}

impl RunnerClient {
    pub(crate) fn new(configuration: RunnerConfiguration) -> Result<Arc<Self>> {
        let remote = configuration.try_into()?;
        Ok(Arc::new(Self { remote }))
    }

    async fn request(&self, method: &'static str, path: String) -> Result<Bytes> {
        self.send(method, path, Bytes::new()).await
    }

    async fn send(&self, method: &'static str, path: String, body: Bytes) -> Result<Bytes> {
        let remote = self.remote.clone();
        uncancelled(async move {
            let (status, body) = remote.ask(method, &path, body).await?;
            match status {
                200..300 => Ok(body),
                _ => Err(status_error(status, &body)),
            }
        })
        .await
    }

    async fn get_json(&self, path: String) -> Result<Value> {
        let body = self.request("GET", path).await?;
        serde_json::from_slice(&body).map_err(|error| format_error(&error.to_string()))
    }
}

#[uniffi::export]
impl RunnerClient {
    /// Returns all sessions, oldest first.
    ///
    /// # Errors
    ///
    /// `Start` if the runner cannot be reached or rejects the token; `Refused` if it refuses the
    /// request.
    pub async fn sessions(&self) -> Result<Vec<RunnerSession>> {
        let mut answer = self.get_json("/api/sessions".to_owned()).await?;
        let Value::Array(sessions) = answer["sessions"].take() else {
            return Err(format_error("the session list is missing"));
        };
        sessions.into_iter().map(RunnerSession::parse).collect()
    }

    /// Returns one session.
    ///
    /// # Errors
    ///
    /// As `sessions`; `NotFound` if there is no such session; `Configuration` if the id is not valid.
    pub async fn session(&self, id: String) -> Result<RunnerSession> {
        let path = format!("/api/sessions/{}", parse_id(&id)?);
        RunnerSession::parse(self.get_json(path).await?)
    }

    /// Changes the name, the labels or the text that a host stored with a session, whether it runs or has ended.
    /// The change is on the runner's disk when the call returns.
    ///
    /// # Errors
    ///
    /// As `session`; `Refused` if a label is reserved, or the text has more than 64 KiB.
    pub async fn update(&self, id: String, change: RunnerSessionChange) -> Result<RunnerSession> {
        let path = format!("/api/sessions/{}", parse_id(&id)?);
        let body = change.into_json()?;
        let answer = self.send("PATCH", path, body.into()).await?;
        let answer =
            serde_json::from_slice(&answer).map_err(|error| format_error(&error.to_string()))?;
        RunnerSession::parse(answer)
    }

    /// Terminates a session and its descendants.
    ///
    /// The session ends even if other clients are attached to it. With `isForced` the program is
    /// killed without being asked to exit. The session and its output stay in the list, also if it had
    /// ended before. Without `keepsLog` they move to the runner's trash, from which `restore` brings
    /// them back within an hour.
    ///
    /// # Errors
    ///
    /// As `session`.
    #[uniffi::method(default(is_forced = false, keeps_log = true))]
    pub async fn end(&self, id: String, is_forced: bool, keeps_log: bool) -> Result<()> {
        let id = parse_id(&id)?;
        let path = format!("/api/sessions/{id}?force={is_forced}&remove={}", !keeps_log);
        self.request("DELETE", path).await.map(drop)
    }

    /// Brings a session back that was removed within the last hour, as it ended.
    ///
    /// # Errors
    ///
    /// As `session`; `Refused` if the session cannot be restored.
    pub async fn restore(&self, id: String) -> Result<RunnerSession> {
        let path = format!("/api/sessions/{}/restore", parse_id(&id)?);
        let answer = self.request("POST", path).await?;
        let answer =
            serde_json::from_slice(&answer).map_err(|error| format_error(&error.to_string()))?;
        RunnerSession::parse(answer)
    }

    /// Returns up to 1 MiB of a session's output from byte offset `from` on; empty at its end.
    ///
    /// Output that is no longer kept is skipped. The session's JSON gives the range that is kept.
    ///
    /// # Errors
    ///
    /// As `session`.
    #[uniffi::method(default(from = 0))]
    pub async fn log(&self, id: String, from: u64) -> Result<Vec<u8>> {
        let path = format!("/api/sessions/{}/log?from={from}", parse_id(&id)?);
        Ok(self.request("GET", path).await?.into())
    }

    /// Returns the current transcript of a dialogue as JSON, without attaching to it.
    ///
    /// # Errors
    ///
    /// As `session`.
    pub async fn transcript(&self, id: String) -> Result<String> {
        let path = format!("/api/sessions/{}/transcript", parse_id(&id)?);
        let body = self.request("GET", path).await?;
        String::from_utf8(body.into()).map_err(|error| format_error(&error.to_string()))
    }
}

pub(crate) fn parse_id(id: &str) -> Result<core::SessionId> {
    id.parse().map_err(|_| BowlineError::Configuration {
        reason: format!("find session {id:?}: not a session id; take one from sessions()"),
    })
}

/// Converts an answer with an error status. Its body is a problem document (RFC 9457) with a remedy.
fn status_error(status: u16, body: &[u8]) -> BowlineError {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let member = |name: &str| problem[name].as_str();
    let reason = match (member("detail"), member("next")) {
        (Some(detail), Some(next)) => format!("query the runner: {detail}; {next}"),
        _ => format!(
            "query the runner: it answered with status {status}; check that it has this version"
        ),
    };
    match status {
        401 | 403 => BowlineError::Start { reason },
        404 | 410 => BowlineError::NotFound { reason },
        _ => BowlineError::Refused { reason },
    }
}

fn format_error(detail: &str) -> BowlineError {
    BowlineError::Refused {
        reason: format!("parse the runner's answer: {detail}; check that it has this version"),
    }
}
