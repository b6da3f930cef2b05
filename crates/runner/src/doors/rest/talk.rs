//! A short word with a session, as a client that may append.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::StatusCode;
use bowline_transport::SessionId;
use bowline_transport::wire::{
    Attach, AttachMode, Attached, Lease, Message, Prompt, PromptMode, PromptStatus, StreamId,
};
use bytes::Bytes;
use tokio::time::timeout;

use crate::doors::admission::is_gone;
use crate::doors::problem::Problem;
use crate::serve::{Hall, Link, LinkError};
use crate::shim::SessionDir;

/// How long the agent may take to take a prompt before it is told that it waits.
const PATIENCE: Duration = Duration::from_secs(10);

/// A session that somebody talks to.
pub(super) struct Talk {
    pub(super) link: Link,
    pub(super) attached: Attached,
}

impl Talk {
    /// Joins a session.
    pub(super) async fn join(
        hall: &Hall,
        id: SessionId,
        lease: Lease,
        cursors: BTreeMap<StreamId, u64>,
        credit: u64,
    ) -> Result<Self, Problem> {
        let session = hall.directory.find(id).ok_or_else(Problem::no_session)?;
        let mut link = Link::open(&session)
            .await
            .map_err(|it| lost(&session, it))?;
        let attach = Attach {
            session: id,
            epoch: None,
            cursors,
            mode: AttachMode::Resume,
            lease,
            resume_generation: None,
            size: None,
            credit,
            client: "runner: REST".to_owned(),
        };
        let attached = link.attach(attach).await.map_err(|it| lost(&session, it))?;
        Ok(Self { link, attached })
    }

    /// Joins a session that still runs, to say something.
    pub(super) async fn speak(hall: &Hall, id: SessionId) -> Result<Self, Problem> {
        let talk = Self::join(hall, id, Lease::Append, BTreeMap::new(), 0).await?;
        match talk.attached.exit {
            None => Ok(talk),
            Some(_) => Err(Problem::ended()),
        }
    }

    /// Has something written, once, and waits for what becomes of it.
    pub(super) async fn prompt(
        mut self,
        id: &str,
        bytes: Bytes,
        mode: PromptMode,
    ) -> Result<&'static str, Problem> {
        self.link.queue(Message::Prompt(Prompt {
            id: id.to_owned(),
            bytes,
            mode,
        }));
        let mut last = "queued";
        let settled = timeout(PATIENCE, async {
            loop {
                match self.link.next().await? {
                    Message::PromptState { id: of, state } if of == id => match named(state)? {
                        "queued" => last = "queued",
                        state => return Ok(state),
                    },
                    Message::Error { code, detail, .. } => {
                        return Err(LinkError::Refused { code, detail }.into());
                    }
                    Message::Exit(_) => return Err(Problem::ended()),
                    _ => {}
                }
            }
        });
        match settled.await {
            Ok(state) => state,
            Err(_) => Ok(last),
        }
    }
}

/// What it means that a shim cannot be talked to: it may have gone because its child has ended.
fn lost(session: &SessionDir, error: LinkError) -> Problem {
    let has_ended = || {
        session
            .info()
            .is_ok_and(|it| it.is_some_and(|it| it.exit.is_some()))
    };
    match error {
        LinkError::Gone(error) if is_gone(&error) => Problem::ended(),
        LinkError::Gone(_) if has_ended() => Problem::ended(),
        error => error.into(),
    }
}

fn named(status: PromptStatus) -> Result<&'static str, Problem> {
    match status {
        PromptStatus::Queued => Ok("queued"),
        PromptStatus::Written => Ok("written"),
        PromptStatus::Submitted => Ok("submitted"),
        PromptStatus::Unverified => Ok("unverified"),
        PromptStatus::Refused { reason } => {
            let next = "change the prompt and send it with another id";
            Err(Problem::new(
                StatusCode::CONFLICT,
                "PROMPT_REFUSED",
                reason,
                next,
            ))
        }
    }
}
