//! Ending a session, as a client of its shim.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bowline_transport::wire::{Attach, AttachMode, ExitNotice, KillReport, Lease, Message};
use bowline_transport::{Ladder, SessionId};
use tokio::time::{sleep, timeout};
use tracing::warn;
use uuid::Uuid;

use super::{Directory, Record, Standing};
use crate::serve::{Link, LinkError};
use crate::shim::SessionDir;

/// How long an end may take beside what its ladder takes: reading what is left of the output.
const SLACK: Duration = Duration::from_secs(10);

/// How often it is looked whether a shim is gone.
const LOOK: Duration = Duration::from_millis(20);

/// How a session ended.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// What came of killing it, if it ran.
    pub(crate) report: Option<KillReport>,
    /// How its child ended.
    pub(crate) exit: Option<ExitNotice>,
}

/// Why a session was not ended.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndError {
    /// There is none of that name.
    #[error("there is no session of this id")]
    Unknown,
    /// What is known of it cannot be read.
    #[error("what is known of it cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// Its shim cannot be talked to.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// What it left cannot be removed.
    #[error("its folder cannot be removed: {0}")]
    Remove(#[source] io::Error),
}

impl Directory {
    /// Ends a session and waits until its shim is gone. What is known of it is kept.
    pub(crate) async fn end(&self, id: SessionId, ladder: Ladder) -> Result<Ending, EndError> {
        let record = self.record(id).await.map_err(EndError::Unreadable)?;
        let record = record.ok_or(EndError::Unknown)?;
        let ended = |record: Record| Ending {
            report: None,
            exit: record.info.exit,
        };
        if record.standing == Standing::Gone {
            return Ok(ended(record));
        }
        match end(&record.session, id, ladder).await {
            Ok(ending) => {
                buried(&record.session).await;
                Ok(ending)
            }
            // It may have gone by itself in the meantime.
            Err(LinkError::Gone(error)) => match self.record(id).await {
                Ok(Some(record)) if record.standing == Standing::Gone => Ok(ended(record)),
                _ => Err(LinkError::Gone(error).into()),
            },
            Err(error) => Err(error.into()),
        }
    }
}

async fn end(session: &SessionDir, id: SessionId, ladder: Ladder) -> Result<Ending, LinkError> {
    let mut link = Link::open(session).await?;
    link.attach(Attach {
        session: id,
        epoch: None,
        cursors: BTreeMap::new(),
        mode: AttachMode::Tail,
        lease: Lease::Append,
        resume_generation: None,
        size: None,
        credit: 0,
        client: "runner: end".to_owned(),
    })
    .await?;
    link.queue(kill(ladder));
    watch(&mut link, ladder).await
}

/// Waits until a shim that has been told that its exit is known is gone. It stays for a moment, for
/// others who want to know, and then writes its last word.
async fn buried(session: &SessionDir) {
    let gone = async {
        while session.connect().await.is_ok() {
            sleep(LOOK).await;
        }
    };
    if timeout(SLACK, gone).await.is_err() {
        warn!(session = %session.id(), "the shim of a session that has ended is still there");
    }
}

/// The request that ends a session.
pub(crate) fn kill(ladder: Ladder) -> Message {
    let id = Uuid::new_v4().to_string();
    Message::Kill { id, ladder }
}

/// Waits until a session that is being killed has ended, and its shim is gone.
pub(crate) async fn watch(link: &mut Link, ladder: Ladder) -> Result<Ending, LinkError> {
    let steps = ladder.eof_grace + ladder.interrupt.unwrap_or_default() + ladder.term_grace;
    let patience = steps + ladder.kill + SLACK;
    let mut ending = Ending::default();
    match timeout(patience, last_words(link, &mut ending)).await {
        Err(_) => Err(LinkError::Silent),
        // A shim that is gone after it has told the exit has done all it had to.
        Ok(LinkError::Gone(_)) if ending.exit.is_some() => Ok(ending),
        Ok(error) => Err(error),
    }
}

/// Reads until the shim says no more.
async fn last_words(link: &mut Link, ending: &mut Ending) -> LinkError {
    loop {
        match link.next().await {
            Ok(Message::Killed { report, .. }) => ending.report = Some(report),
            Ok(Message::Exit(exit)) => {
                ending.exit = Some(exit);
                link.queue(Message::ExitAck);
            }
            Ok(Message::Fenced { .. }) => return LinkError::Unexpected("another attach"),
            Ok(Message::GoAway { .. }) | Ok(_) => {}
            Err(error) => return error,
        }
    }
}
