//! Asks a runner for a new session.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

use bytes::Bytes;
use hyper::{Method, Response, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::ask::{Unanswered, ask};
use super::attach::Attachment;
use super::error::RemoteError;
use super::machine::{Backoff, Breakage};
use super::open::failure;
use super::target::Remote;
use super::url::RemoteUrl;
use crate::connection::ReconnectFailure;
use bowline_process::Environment;
use bowline_process::SessionId;
use bowline_process::{Configuration, PtyMode, Stdio};
use bowline_wire::{Epoch, SessionKind};

/// How long a session that was just made is tried to be reached.
const JOIN: Duration = Duration::from_secs(30);

/// What a runner answers that has a session of that name.
const EXISTS: &str = "SESSION_EXISTS";

/// A session that a runner is asked to make.
#[derive(Clone, Debug)]
pub struct RemoteOrder {
    /// Its name for programs; `None` is a fresh one. A runner makes one session of a name, so that
    /// an order whose answer was lost can be given again.
    pub id: Option<SessionId>,
    /// What it is for.
    pub kind: SessionKind,
    /// What it is made from. Of its limits, those of the logs are this host's, and the number of
    /// bytes of output is the runner's, too.
    pub configuration: Configuration,
    /// A name for people.
    pub name: Option<String>,
    /// What it can be found by.
    pub labels: BTreeMap<String, String>,
    /// Whether the runner keeps the streams on disk. Without it, a host that comes later hears only
    /// the newest part.
    pub journal: bool,
}

/// A session that was made.
#[derive(Debug, Deserialize)]
pub(super) struct Made {
    pub(super) id: SessionId,
    #[serde(default)]
    pub(super) epoch: Option<Epoch>,
}

/// What a runner says when it does not do something.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Problem {
    code: String,
    detail: String,
    next: String,
}

impl RemoteOrder {
    /// A session with a journal.
    #[must_use]
    pub const fn new(kind: SessionKind, configuration: Configuration) -> Self {
        Self {
            id: None,
            kind,
            configuration,
            name: None,
            labels: BTreeMap::new(),
            journal: true,
        }
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
            patience: JOIN,
            ..Attachment::default()
        }
    }

    /// What the runner is told.
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

/// Asks for a session. A token that is refused is replaced once. An answer that was lost is asked
/// for again, by the session's name, so that it is made once.
pub(super) async fn create(remote: &Remote, order: &RemoteOrder) -> Result<Made, RemoteError> {
    if matches!(remote.url, RemoteUrl::Shim(_)) {
        let url = remote.url.to_string();
        return Err(RemoteError::NotARunner { url });
    }
    let id = order.id.unwrap_or_else(SessionId::random);
    let body = Bytes::from(order.body(id)?.to_string());
    let order = || ask(remote, Method::POST, "/api/sessions", body.clone());
    match order().await {
        Ok(answer) => read(&answer),
        Err(lost) if lost.may_be_done && lost.why.failure == ReconnectFailure::Lost => {
            again(id, lost.why, order).await
        }
        Err(unanswered) => Err(unanswered.why.into()),
    }
}

/// Gives an order again that may have been carried out, until somebody answers.
async fn again<F>(id: SessionId, why: Breakage, order: impl Fn() -> F) -> Result<Made, RemoteError>
where
    F: Future<Output = Result<Response<Bytes>, Unanswered>>,
{
    let until = Instant::now() + JOIN;
    let (seed, _) = Uuid::new_v4().as_u64_pair();
    let mut backoff = Backoff::new(seed);
    let mut why = why;
    while Instant::now() < until {
        sleep(backoff.next()).await;
        match order().await {
            Ok(answer) => {
                return match read(&answer) {
                    Err(RemoteError::Refused { code, .. }) if code == EXISTS => {
                        Ok(Made { id, epoch: None })
                    }
                    made => made,
                };
            }
            Err(lost) if lost.why.failure == ReconnectFailure::Lost => why = lost.why,
            Err(unanswered) => return Err(unanswered.why.into()),
        }
    }
    Err(why.into())
}

fn read(answer: &Response<Bytes>) -> Result<Made, RemoteError> {
    let status = answer.status();
    if status.is_success() {
        let made = serde_json::from_slice(answer.body());
        return made.map_err(|error| {
            let detail = format!("its answer is none: {error}");
            let next = "use a runner of this version".to_owned();
            let code = String::new();
            refused(status, Problem { code, detail, next })
        });
    }
    if failure(status) == ReconnectFailure::Auth {
        return Err(RemoteError::Link {
            failure: ReconnectFailure::Auth,
            detail: format!("the runner answers {status}, check the token"),
        });
    }
    let problem = serde_json::from_slice(answer.body());
    Err(refused(status, problem.unwrap_or_default()))
}

fn refused(status: StatusCode, problem: Problem) -> RemoteError {
    RemoteError::Refused {
        status: status.as_u16(),
        code: problem.code,
        detail: format!("{}, {}", problem.detail, problem.next),
    }
}

impl From<Breakage> for RemoteError {
    fn from(why: Breakage) -> Self {
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

    #[test]
    fn a_runner_is_told_everything_that_it_can_be_told() {
        let mut what = Configuration::new("claude");
        what.args = vec!["--print".into()];
        what.env.set("A", "b").remove("PATH");
        what.cwd = Some("/srv".into());
        what.stdio = Stdio::Pty {
            size: WindowSize::new(50, 132),
            mode: PtyMode::Raw,
        };
        let mut order = RemoteOrder::new(SessionKind::Dialogue, what);
        order.journal = false;
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
        assert_eq!(order.body(id).unwrap(), expected);
    }

    #[test]
    fn a_refusal_says_why_and_what_to_do() {
        let answer = |status, body: &'static str| {
            let mut answer = Response::new(Bytes::from(body));
            *answer.status_mut() = status;
            read(&answer).unwrap_err().to_string()
        };
        let full = r#"{"code":"MAX_SESSIONS","detail":"it is full","next":"end some"}"#;
        assert_eq!(
            answer(StatusCode::TOO_MANY_REQUESTS, full),
            "make a session: the runner answers 429 MAX_SESSIONS, it is full, end some"
        );
        assert!(answer(StatusCode::BAD_GATEWAY, "<html>").contains("502"));
        assert!(answer(StatusCode::UNAUTHORIZED, "{}").contains("token"));
        assert!(answer(StatusCode::OK, "{}").contains("missing field `id`"));
    }
}
