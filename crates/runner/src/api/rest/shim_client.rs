//! Access to one session on behalf of a REST request: its record, and a client of its shim.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::StatusCode;
use bowline_transport::SessionId;
use bowline_transport::wire::{
    Attach, AttachMode, Attached, Lease, Message, Prompt, PromptMode, PromptStatus, StreamId,
};
use bytes::Bytes;
use tokio::time::timeout;

use crate::api::problem::Problem;
use crate::app_state::AppState;
use crate::current_request::{client_name, current_request_id};
use crate::session_machine::REUSED_ID;
use crate::sessions::{SessionRecord, ShimLink, ShimLinkError, has_no_listener};
use crate::shim::SessionDir;

/// How long to wait for a prompt to be written before it is reported as queued.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads a session's record.
pub(in crate::api) async fn read_record(
    app: &AppState,
    id: SessionId,
) -> Result<SessionRecord, Problem> {
    let record = app.sessions.record(id).await.map_err(Problem::internal)?;
    record.ok_or_else(Problem::session_not_found)
}

/// A connection to a session's shim.
pub(super) struct ShimClient {
    pub(super) link: ShimLink,
    pub(super) attached: Attached,
}

impl ShimClient {
    /// Attaches to a session.
    pub(super) async fn attach(
        app: &AppState,
        id: SessionId,
        lease: Lease,
        cursors: BTreeMap<StreamId, u64>,
        credit: u64,
    ) -> Result<Self, Problem> {
        let session = app.sessions.find(id);
        let session = session.ok_or_else(Problem::session_not_found)?;
        let link = ShimLink::open(&session).await;
        let mut link = link.map_err(|error| link_problem(&session, error))?;
        let attach = Attach {
            session: id,
            epoch: None,
            cursors,
            mode: AttachMode::Resume,
            lease,
            resume_generation: None,
            size: None,
            credit,
            client: client_name("REST"),
        };
        let attached = link.attach(attach).await;
        let attached = attached.map_err(|error| link_problem(&session, error))?;
        Ok(Self { link, attached })
    }

    /// Attaches to a running session with the append lease.
    pub(super) async fn attach_to_append(app: &AppState, id: SessionId) -> Result<Self, Problem> {
        let client = Self::attach(app, id, Lease::Append, BTreeMap::new(), 0).await?;
        match client.attached.exit {
            None => Ok(client),
            Some(_) => Err(Problem::session_ended()),
        }
    }

    /// Sends a prompt and waits until it is written. Returns its state. A repeated prompt is not
    /// written again.
    pub(super) async fn prompt(
        mut self,
        id: &str,
        bytes: Bytes,
        mode: PromptMode,
    ) -> Result<&'static str, Problem> {
        send_prompt(&mut self.link, id, bytes, mode).await
    }
}

async fn send_prompt(
    link: &mut ShimLink,
    id: &str,
    bytes: Bytes,
    mode: PromptMode,
) -> Result<&'static str, Problem> {
    link.queue(Message::Prompt(Prompt {
        id: id.to_owned(),
        bytes,
        mode,
        request_id: current_request_id(),
    }));
    let mut is_queued = false;
    let settled = timeout(PROMPT_TIMEOUT, async {
        loop {
            match link.next().await? {
                Message::PromptState { id: of, state } if of == id => match state {
                    PromptStatus::Queued => is_queued = true,
                    state => return state_name(state),
                },
                Message::Error { code, detail, .. } => {
                    return Err(ShimLinkError::Refused { code, detail }.into());
                }
                Message::Exit(_) => return Err(Problem::session_ended()),
                _ => {}
            }
        }
    });
    match settled.await {
        Ok(state) => state,
        Err(_) if is_queued => Ok("queued"),
        Err(_) => Err(Problem::session_not_responding()),
    }
}

/// A shim that is gone may have ended with its child.
fn link_problem(session: &SessionDir, error: ShimLinkError) -> Problem {
    let has_exit = || {
        session
            .info()
            .is_ok_and(|it| it.is_some_and(|it| it.exit.is_some()))
    };
    match error {
        ShimLinkError::Disconnected(error) if has_no_listener(&error) || has_exit() => {
            Problem::session_ended()
        }
        error => error.into(),
    }
}

fn state_name(status: PromptStatus) -> Result<&'static str, Problem> {
    match status {
        PromptStatus::Queued => Ok("queued"),
        PromptStatus::Written => Ok("written"),
        PromptStatus::Submitted => Ok("submitted"),
        PromptStatus::Unverified => Ok("unverified"),
        PromptStatus::Refused { reason } if reason == REUSED_ID => {
            let next = "use an id of its own for each request";
            let status = StatusCode::CONFLICT;
            Err(Problem::new(status, "ID_REUSED", reason, next))
        }
        PromptStatus::Refused { reason } => {
            let next = "change the prompt and send it with another id";
            let status = StatusCode::CONFLICT;
            Err(Problem::new(status, "PROMPT_REFUSED", reason, next))
        }
    }
}

#[cfg(test)]
mod tests {
    use bowline_transport::wire::{Decoder, Frame, VERSION, Welcome, WireLimits, encode};
    use bytes::BytesMut;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::UnixListener;

    use super::*;
    use crate::shim::StateDir;

    /// Stands in for a shim that answers a prompt with these states, and then nothing.
    async fn answer(listener: UnixListener, states: Vec<PromptStatus>) {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut decoder = Decoder::new();
        loop {
            let mut bytes = BytesMut::with_capacity(4096);
            stream.read_buf(&mut bytes).await.unwrap();
            decoder.push(bytes.freeze());
            while let Some(frame) = decoder.next().unwrap() {
                let answers = match frame.message {
                    Message::Hello(_) => vec![Message::Welcome(Welcome {
                        version: VERSION,
                        features: Vec::new(),
                        limits: WireLimits::default(),
                    })],
                    Message::Ping { nonce } => vec![Message::Pong { nonce }],
                    Message::Prompt(Prompt { id, .. }) => states
                        .iter()
                        .cloned()
                        .map(|state| Message::PromptState {
                            id: id.clone(),
                            state,
                        })
                        .collect(),
                    _ => Vec::new(),
                };
                let mut out = BytesMut::new();
                for answer in answers {
                    encode(&Frame::new(0, answer), &mut out);
                }
                stream.write_all(&out).await.unwrap();
            }
        }
    }

    /// Sends a prompt to a shim that answers with these states.
    async fn prompt(states: Vec<PromptStatus>) -> Result<&'static str, Problem> {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let state = StateDir::at(folder.path().join("s")).unwrap();
        let session = state.session(SessionId::random());
        std::fs::create_dir(session.path()).unwrap();
        let listener = UnixListener::bind(session.socket()).unwrap();
        let shim = tokio::spawn(answer(listener, states));
        let mut link = ShimLink::open(&session).await.unwrap();
        let sent = send_prompt(&mut link, "p", Bytes::new(), PromptMode::Line).await;
        shim.abort();
        sent
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_shim_queues_a_prompt() {
        let silent = prompt(Vec::new()).await.unwrap_err();
        assert_eq!(silent.code, Problem::session_not_responding().code);
        assert_eq!(prompt(vec![PromptStatus::Queued]).await, Ok("queued"));
        let both = vec![PromptStatus::Queued, PromptStatus::Written];
        assert_eq!(prompt(both).await, Ok("written"));
    }
}
