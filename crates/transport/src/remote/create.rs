//! Creates sessions at a runner (`POST /api/sessions`).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, Response};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::ask::{RequestError, ask};
use super::attach::Attachment;
use super::error::RemoteError;
use super::machine::{Backoff, LinkError};
use super::pending::PendingSession;
use super::refusal::{Problem, failure, refused};
use super::target::Remote;
use super::url::RemoteUrl;
use crate::connection::ReconnectFailure;
use bowline_process::Environment;
use bowline_process::SessionId;
use bowline_process::{Configuration, PtyMode, Stdio};
use bowline_wire::{Epoch, SessionKind};

/// How long to retry creating a session, and attaching to a new one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Prefix of the labels that Bowline sets itself.
pub const RESERVED_LABELS: &str = "bowline.";

/// The argument that a session replaces by the path of a file with the settings of its hooks.
pub const HOOK_SETTINGS: &str = "bowline:hooks";

/// The error code of a runner that already has a session with the requested id.
const SESSION_EXISTS: &str = "SESSION_EXISTS";

/// The error code of a runner at which an earlier request for the session has not ended.
const REQUEST_IN_PROGRESS: &str = "REQUEST_IN_PROGRESS";

/// The description of a session to create at a runner.
#[derive(Clone, Debug)]
pub struct SessionRequest {
    /// The id of the session; `None` generates one. A runner creates at most one session per id, so
    /// a request whose response was lost can be repeated.
    pub id: Option<SessionId>,
    /// The kind of session.
    pub kind: SessionKind,
    /// The process to run. Its log limits apply to this host; the size of the output log applies to
    /// the runner as well.
    pub configuration: Configuration,
    /// A display name.
    pub name: Option<String>,
    /// Labels for finding the session.
    pub labels: BTreeMap<String, String>,
    /// The hooks of the agent that the session serves, as `bowline_hooks::HookSpec` in JSON. The argument
    /// [`HOOK_SETTINGS`] is the place of the path of their settings.
    pub hooks: Option<Value>,
    /// Whether the runner keeps the streams on disk. Without a journal, a host that attaches later
    /// receives only the newest part.
    pub journal: bool,
}

/// The response for a created session.
#[derive(Debug, Deserialize)]
pub(super) struct CreatedSession {
    pub(super) id: SessionId,
    #[serde(default)]
    pub(super) epoch: Option<Epoch>,
}

impl SessionRequest {
    /// Returns a request for a session with a journal.
    #[must_use]
    pub const fn new(kind: SessionKind, configuration: Configuration) -> Self {
        Self {
            id: None,
            kind,
            configuration,
            name: None,
            labels: BTreeMap::new(),
            hooks: None,
            journal: true,
        }
    }

    /// Sets the display name and the labels, as a host chose them.
    ///
    /// # Errors
    ///
    /// Returns [`RemoteError::ReservedLabel`] for a label that begins with `bowline.`.
    pub fn set_name(
        &mut self,
        name: Option<&str>,
        labels: &BTreeMap<String, String>,
    ) -> Result<(), RemoteError> {
        if let Some(label) = labels.keys().find(|it| it.starts_with(RESERVED_LABELS)) {
            let label = label.clone();
            return Err(RemoteError::ReservedLabel { label });
        }
        self.name = name.map(str::to_owned);
        self.labels.extend(labels.clone());
        Ok(())
    }

    pub(super) fn attachment(&self, epoch: Option<Epoch>) -> Attachment {
        Attachment {
            epoch,
            size: match self.configuration.stdio {
                Stdio::Pipes => None,
                Stdio::Pty { size, .. } => Some(size),
            },
            limits: self.configuration.limits,
            input: self.configuration.input,
            connect_timeout: CONNECT_TIMEOUT,
            ..Attachment::default()
        }
    }

    /// Returns the body of the request.
    fn body(&self, id: SessionId) -> Result<Value, RemoteError> {
        let what = &self.configuration;
        let args = what.args.iter().map(|arg| text(arg, "an argument"));
        let cwd = what.cwd.as_ref();
        let cwd = cwd.map(|cwd| text(cwd.as_os_str(), "the working directory"));
        let stdio = match what.stdio {
            Stdio::Pipes => json!({"type": "pipes"}),
            Stdio::Pty { size, mode } => {
                let mode = match mode {
                    PtyMode::Raw => "raw",
                    PtyMode::Cooked => "cooked",
                };
                json!({"type": "pty", "size": size, "mode": mode})
            }
        };
        let mut body = json!({
            "id": id,
            "kind": self.kind,
            "name": self.name,
            "program": text(&what.program, "the program")?,
            "args": args.collect::<Result<Vec<_>, _>>()?,
            "env": environment(&what.env)?,
            "cwd": cwd.transpose()?,
            "stdio": stdio,
            "ring_bytes": what.limits.output_bytes,
            "labels": self.labels,
        });
        if let Some(hooks) = &self.hooks {
            body["hooks"] = hooks.clone();
        }
        if !self.journal {
            body["journal"] = json!({"on": false});
        }
        Ok(body)
    }
}

fn environment(env: &Environment) -> Result<Value, RemoteError> {
    let (inherit, changes) = env.parts();
    let (mut set, mut remove) = (Map::new(), Vec::new());
    for (name, value) in changes {
        let name = text(name, "the name of a variable")?;
        match value {
            Some(value) => {
                set.insert(name.to_owned(), text(value, "a variable")?.into());
            }
            None => remove.push(name),
        }
    }
    Ok(json!({"inherit": inherit, "set": set, "remove": remove}))
}

fn text<'a>(it: &'a OsStr, what: &'static str) -> Result<&'a str, RemoteError> {
    it.to_str().ok_or(RemoteError::NotText { what })
}

/// Creates a session. If the response is lost, repeats the request with the same id, so that only
/// one session is created. `pending` knows afterwards whether the session may exist.
pub(super) async fn create(
    remote: &Remote,
    request: &SessionRequest,
    pending: &mut PendingSession,
) -> Result<CreatedSession, RemoteError> {
    if matches!(remote.url, RemoteUrl::Shim(_)) {
        let url = remote.url.to_string();
        return Err(RemoteError::NotARunner { url });
    }
    let id = pending.id();
    let body = Bytes::from(request.body(id)?.to_string());
    let send = || ask(remote, Method::POST, "/api/sessions", body.clone());
    pending.may_exist(remote);
    let (made, may_exist) = match send().await {
        Ok(answer) => (read(remote, &answer), false),
        Err(lost) if lost.may_be_done && lost.why.failure == ReconnectFailure::Lost => {
            (again(remote, id, lost.why, send).await, true)
        }
        Err(unanswered) => (Err(unanswered.why.into()), unanswered.may_be_done),
    };
    if made.is_err() && !may_exist {
        pending.settle();
    }
    made
}

/// Repeats a request that may have been executed until the runner responds, for at most 30 s.
async fn again<F>(
    remote: &Remote,
    id: SessionId,
    why: LinkError,
    send: impl Fn() -> F,
) -> Result<CreatedSession, RemoteError>
where
    F: Future<Output = Result<Response<Bytes>, RequestError>>,
{
    let until = Instant::now() + CONNECT_TIMEOUT;
    let (random, _) = Uuid::new_v4().as_u64_pair();
    let mut backoff = Backoff::new(random);
    let mut why = why;
    while Instant::now() < until {
        sleep(backoff.next()).await;
        match send().await {
            Ok(answer) => match read(remote, &answer) {
                Err(RemoteError::Refused { code, .. }) if code == SESSION_EXISTS => {
                    return Ok(CreatedSession { id, epoch: None });
                }
                // The first request may yet fail, and then this one creates the session.
                Err(RemoteError::Refused { code, .. }) if code == REQUEST_IN_PROGRESS => {}
                made => return made,
            },
            Err(lost) if lost.why.failure == ReconnectFailure::Lost => why = lost.why,
            Err(unanswered) => return Err(unanswered.why.into()),
        }
    }
    Err(why.into())
}

fn read(remote: &Remote, answer: &Response<Bytes>) -> Result<CreatedSession, RemoteError> {
    let status = answer.status();
    if status.is_success() {
        let made = serde_json::from_slice(answer.body());
        return made.map_err(|error| RemoteError::Refused {
            status: status.as_u16(),
            code: String::new(),
            detail: format!("invalid response: {error}; use a runner of this version"),
        });
    }
    let problem = Problem::parse(answer.body());
    if problem.is_empty() || status.is_redirection() || failure(status) == ReconnectFailure::Auth {
        return Err(refused(&remote.url, answer).into());
    }
    Err(RemoteError::Refused {
        status: status.as_u16(),
        detail: problem.text(),
        code: problem.code,
    })
}

impl From<LinkError> for RemoteError {
    fn from(why: LinkError) -> Self {
        Self::Link {
            failure: why.failure,
            detail: why.detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_process::WindowSize;
    use hyper::StatusCode;

    #[test]
    fn request_body_has_all_fields() {
        let mut what = Configuration::new("claude");
        what.args = vec!["--print".into()];
        what.env.set("A", "b").remove("PATH");
        what.cwd = Some("/srv".into());
        what.stdio = Stdio::Pty {
            size: WindowSize::new(50, 132),
            mode: PtyMode::Raw,
        };
        let mut request = SessionRequest::new(SessionKind::Dialogue, what);
        request.journal = false;
        let id = SessionId::random();
        let expected = json!({
            "id": id, "kind": "dialogue", "name": null, "program": "claude", "args": ["--print"],
            "env": {"inherit": true, "set": {"A": "b"}, "remove": ["PATH"]},
            "cwd": "/srv",
            "stdio": {
                "type": "pty", "mode": "raw",
                "size": {"rows": 50, "cols": 132, "width": 0, "height": 0},
            },
            "ring_bytes": 1 << 20, "labels": {}, "journal": {"on": false},
        });
        assert_eq!(request.body(id).unwrap(), expected);
    }

    #[test]
    fn refusal_has_reason_and_remedy() {
        let answer = |status, body: &'static str| {
            let mut answer = Response::new(Bytes::from(body));
            *answer.status_mut() = status;
            let remote = Remote::new("http://127.0.0.1:8080".parse().unwrap());
            read(&remote, &answer).unwrap_err().to_string()
        };
        let full = r#"{"code":"MAX_SESSIONS","detail":"it is full","next":"end some"}"#;
        assert_eq!(
            answer(StatusCode::TOO_MANY_REQUESTS, full),
            "make a session: the runner answered 429 MAX_SESSIONS: it is full; end some"
        );
        assert!(answer(StatusCode::BAD_GATEWAY, "<html>").contains("502"));
        assert!(answer(StatusCode::UNAUTHORIZED, "{}").contains("token"));
        let host = answer(StatusCode::FORBIDDEN, r#"{"code":"HOST_REFUSED"}"#);
        assert!(host.contains("--host 127.0.0.1:8080"), "{host}");
        assert!(!host.contains("token"), "{host}");
        assert!(answer(StatusCode::OK, "{}").contains("missing field `id`"));
    }
}
