//! The stream of a transcript's changes, pulled by a cursor.

use std::sync::Arc;
use std::time::Duration;

use crate::core::{self, reducer};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::change::{ChangeBatch, batch};
use crate::counters::{Kind, Live};
use crate::error::{BowlineError, Outcome};
use crate::recording::Tape;
use crate::runtime::{Held, block, wait};

/// The changes of one transcript. Reading takes nothing away: the cursor of a batch acknowledges
/// it, and any number of streams read the same transcript.
#[derive(uniffi::Object)]
pub struct ChangeStream {
    source: Held<Source>,
    stopped: watch::Sender<bool>,
}

#[derive(Clone)]
pub(crate) enum Source {
    Session(core::DialogueSession),
    Recording(Arc<Tape>),
}

impl std::fmt::Debug for ChangeStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChangeStream").finish_non_exhaustive()
    }
}

impl ChangeStream {
    pub(crate) fn new(source: Source) -> Arc<Self> {
        Arc::new(Self {
            source: Held::new(Kind::Stream, source),
            stopped: watch::Sender::new(false),
        })
    }
}

#[uniffi::export]
impl ChangeStream {
    /// Waits for changes behind `cursor`, 0 for the beginning, then for `linger_ms` more so that
    /// what comes in quick succession comes as one; gives at most `most` changes, but a reset whole.
    /// `None` when the stream was stopped, or is over and everything was read.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`] for a `most` of 0, [`BowlineError::Io`] when a recording cannot be
    /// read on.
    pub async fn next(
        &self,
        cursor: u64,
        most: u32,
        linger_ms: u32,
    ) -> Outcome<Option<ChangeBatch>> {
        wait(self.pull(cursor, most, linger_ms)?).await
    }

    /// As [`next`](Self::next), on a thread of the host's own, which costs a JVM the least.
    ///
    /// # Errors
    ///
    /// As [`next`](Self::next), [`BowlineError::NoAnswer`] when nothing came within `timeout_ms`,
    /// and [`BowlineError::Invalid`] in a callback.
    pub fn next_blocking(
        &self,
        cursor: u64,
        most: u32,
        linger_ms: u32,
        timeout_ms: u32,
    ) -> Outcome<Option<ChangeBatch>> {
        let pull = self.pull(cursor, most, linger_ms)?;
        let limit = Duration::from_millis(timeout_ms.into());
        block(async move {
            timeout(limit, pull).await.unwrap_or_else(|_| {
                Err(BowlineError::NoAnswer {
                    reason: format!("read changes: nothing came within {timeout_ms} ms, ask again"),
                })
            })
        })
    }

    /// Ends the stream: whoever waits gets `None` at once, and so does whoever asks again.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }
}

impl ChangeStream {
    fn pull(
        &self,
        cursor: u64,
        most: u32,
        linger_ms: u32,
    ) -> Outcome<impl Future<Output = Outcome<Option<ChangeBatch>>> + Send + use<>> {
        if most == 0 {
            return Err(BowlineError::invalid(
                "read 0 changes: ask for one at least",
            ));
        }
        let (source, mut stopped) = (Source::clone(&self.source), self.stopped.subscribe());
        let live = Live::new(Kind::Pull);
        Ok(async move {
            let _live = live;
            tokio::select! {
                biased;
                // Without a sender the stream is gone, which is the same.
                _ = stopped.wait_for(|it| *it) => Ok(None),
                batch = source.next(cursor, most, linger_ms) => batch,
            }
        })
    }
}

impl Source {
    async fn next(&self, cursor: u64, most: u32, linger_ms: u32) -> Outcome<Option<ChangeBatch>> {
        match self {
            Self::Session(session) => Ok(of_session(session, cursor, most, linger_ms).await),
            Self::Recording(tape) => Arc::clone(tape).next(cursor, most).await,
        }
    }
}

async fn of_session(
    session: &core::DialogueSession,
    cursor: u64,
    most: u32,
    linger_ms: u32,
) -> Option<ChangeBatch> {
    let revision = reducer::Cursor::from_number(cursor).revision();
    loop {
        session.newer_than(revision).await;
        let is_over = session.has_ended();
        if !is_over && linger_ms > 0 {
            // What ends meanwhile need not be waited for.
            let linger = sleep(Duration::from_millis(linger_ms.into()));
            tokio::select! {
                () = linger => {}
                _ = session.ended() => {}
            }
        }
        let read = move |transcript: &mut reducer::Transcript| batch(transcript, cursor, most);
        let batch = session.inspect(read).await;
        if batch.is_some() || is_over {
            return batch;
        }
    }
}
