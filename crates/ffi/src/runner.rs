//! What a runner has, beside the sessions that a host is attached to.

use std::collections::HashMap;
use std::sync::Arc;

use crate::core;
use bytes::Bytes;
use serde_json::Value;

use crate::error::{BowlineError, Outcome};
use crate::manager::SessionKind;
use crate::remote::RunnerConfiguration;
use crate::runtime::finish;

/// A session that a runner keeps.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RunnerSession {
    /// Its name for programs: what [`Engine::attach`](crate::Engine::attach) and
    /// [`Engine::attach_shell`](crate::Engine::attach_shell) ask for.
    pub id: String,
    /// Its name for people.
    pub name: Option<String>,
    /// What kind it is.
    pub kind: SessionKind,
    /// What was started.
    pub program: String,
    /// Where, if somebody said.
    pub cwd: Option<String>,
    /// Whatever a host wants to find it by.
    pub labels: HashMap<String, String>,
    /// How far it has come.
    pub state: RunnerSessionState,
    /// The child's process on the runner's machine, while it runs.
    pub pid: Option<u32>,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether it was killed because memory had run out.
    pub is_out_of_memory: bool,
    /// All that the runner says of it, a JSON object.
    pub json: String,
}

/// How far a session at a runner has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum RunnerSessionState {
    /// It runs.
    Running,
    /// It has ended.
    Exited,
    /// What kept it was killed, and everything of it with it.
    Lost,
}

/// A runner: what it has, and what it is to end. Holds no connection.
#[derive(uniffi::Object)]
pub struct RunnerClient {
    remote: core::Remote,
}

impl std::fmt::Debug for RunnerClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunnerClient")
            .field("url", &self.remote.url)
            .finish_non_exhaustive()
    }
}

impl RunnerClient {
    pub(crate) fn new(configuration: RunnerConfiguration) -> Outcome<Arc<Self>> {
        let remote = configuration.try_into()?;
        Ok(Arc::new(Self { remote }))
    }

    async fn ask(&self, method: &'static str, path: String) -> Outcome<Bytes> {
        let remote = self.remote.clone();
        finish(async move {
            let (status, body) = remote.ask(method, &path, Bytes::new()).await?;
            match status {
                200..300 => Ok(body),
                _ => Err(refused(status, &body)),
            }
        })
        .await
    }

    async fn ask_json(&self, method: &'static str, path: String) -> Outcome<Value> {
        let body = self.ask(method, path).await?;
        serde_json::from_slice(&body).map_err(|error| unfit(&error.to_string()))
    }
}

#[uniffi::export]
impl RunnerClient {
    /// All sessions, the oldest first.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Start`] when the runner cannot be reached or does not let this host in,
    /// [`BowlineError::Refused`].
    pub async fn sessions(&self) -> Outcome<Vec<RunnerSession>> {
        let mut answer = self.ask_json("GET", "/api/sessions".to_owned()).await?;
        let Value::Array(sessions) = answer["sessions"].take() else {
            return Err(unfit("there is no list in it"));
        };
        sessions.iter().map(RunnerSession::of).collect()
    }

    /// One session.
    ///
    /// # Errors
    ///
    /// As [`sessions`](Self::sessions), and [`BowlineError::NotFound`].
    pub async fn session(&self, id: String) -> Outcome<RunnerSession> {
        let path = format!("/api/sessions/{}", plain(&id)?);
        RunnerSession::of(&self.ask_json("GET", path).await?)
    }

    /// Ends a session and everything that came of it, whoever is attached, and takes it off the
    /// list.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    ///
    /// `is_forced` does not ask it first; `keeps_log` leaves it in the list, with all that it said.
    #[uniffi::method(default(is_forced = false, keeps_log = false))]
    pub async fn end(&self, id: String, is_forced: bool, keeps_log: bool) -> Outcome<()> {
        let id = plain(&id)?;
        let path = format!("/api/sessions/{id}?force={is_forced}&keep={keeps_log}");
        self.ask("DELETE", path).await.map(drop)
    }

    /// What a session has written, from an offset on: 1 MiB at the most, and nothing when there is no
    /// more. What is missing for good is passed over; [`session`](Self::session) tells in its JSON
    /// what there is.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    #[uniffi::method(default(from = 0))]
    pub async fn log(&self, id: String, from: u64) -> Outcome<Vec<u8>> {
        let path = format!("/api/sessions/{}/log?from={from}", plain(&id)?);
        Ok(self.ask("GET", path).await?.into())
    }

    /// The transcript of a dialogue as far as it has come, as JSON, without attaching to it.
    ///
    /// # Errors
    ///
    /// As [`session`](Self::session).
    pub async fn transcript(&self, id: String) -> Outcome<String> {
        let path = format!("/api/sessions/{}/transcript", plain(&id)?);
        let body = self.ask("GET", path).await?;
        String::from_utf8(body.into()).map_err(|error| unfit(&error.to_string()))
    }
}

impl RunnerSession {
    fn of(it: &Value) -> Outcome<Self> {
        let text = |name: &str| it[name].as_str().map(str::to_owned);
        let number = |name: &str| it["exit"][name].as_i64().and_then(|it| it.try_into().ok());
        let labels = it["labels"].as_object().into_iter().flatten();
        Ok(Self {
            id: text("id").ok_or_else(|| unfit("a session has no id"))?,
            name: text("name"),
            kind: match it["kind"].as_str() {
                Some("dialogue") => SessionKind::Dialogue,
                _ => SessionKind::Shell,
            },
            program: text("program").unwrap_or_default(),
            cwd: text("cwd"),
            labels: labels
                .filter_map(|(name, it)| Some((name.clone(), it.as_str()?.to_owned())))
                .collect(),
            state: match it["state"].as_str() {
                Some("running") => RunnerSessionState::Running,
                Some("lost") => RunnerSessionState::Lost,
                _ => RunnerSessionState::Exited,
            },
            pid: it["pid"].as_u64().and_then(|it| it.try_into().ok()),
            started_ms: it["started_ms"].as_u64().unwrap_or_default(),
            ended_ms: it["ended_ms"].as_u64(),
            code: number("code"),
            signal: number("signal"),
            is_out_of_memory: it["exit"]["oom"].as_bool().unwrap_or_default(),
            json: it.to_string(),
        })
    }
}

/// An id that can stand in an address.
fn plain(id: &str) -> Outcome<core::SessionId> {
    id.parse().map_err(|_| BowlineError::Configuration {
        reason: format!("name the session {id:?}: it is no session id, give the one of the list"),
    })
}

fn refused(status: u16, body: &[u8]) -> BowlineError {
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let said = |name: &str| problem[name].as_str();
    let reason = match (said("detail"), said("next")) {
        (Some(detail), Some(next)) => format!("ask the runner: {detail}, {next}"),
        _ => format!("ask the runner: its status is {status}, use one of this version"),
    };
    match status {
        401 | 403 => BowlineError::Start { reason },
        404 | 410 => BowlineError::NotFound { reason },
        _ => BowlineError::Refused { reason },
    }
}

fn unfit(what: &str) -> BowlineError {
    BowlineError::Refused {
        reason: format!("understand the runner: {what}, use one of this version"),
    }
}
