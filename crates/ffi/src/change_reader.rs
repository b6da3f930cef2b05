//! The task that reads a transcript's changes for the calls of a stream.
//!
//! A host that shows a transcript calls for the next batch as soon as it has shown the last one, and each batch
//! collects the changes of one frame. The task of a call therefore stays until the frame is over and takes over
//! the next call: it needs no further thread to wake up, and neither a task nor a timer of its own.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use crate::change::{ChangeBatch, batch};
use crate::core::{self, reducer};
use crate::counters::{CountGuard, ObjectKind};
use crate::cursor::CursorSpace;
use crate::error::{BowlineError, Result};
use crate::recording_fold::RecordingFold;
use crate::runtime::serving;

/// Where a reader's changes come from.
#[derive(Clone)]
pub(crate) enum ChangeSource {
    Session(core::DialogueSession),
    Recording(Arc<RecordingFold>),
}

type Batch = Result<Option<ChangeBatch>>;

/// A call that waits for changes after a cursor.
#[derive(Clone, Copy)]
pub(crate) struct ReadRequest {
    pub(crate) cursor: u64,
    pub(crate) max_count: u32,
    pub(crate) coalesce_for: Duration,
}

/// A request and where its batch goes.
struct PendingRead {
    request: ReadRequest,
    reply: oneshot::Sender<Batch>,
    _guards: [CountGuard; 2],
}

/// Hands a call to the task of the call before.
#[derive(Default)]
pub(crate) struct Handover(Mutex<HandoverState>);

#[derive(Default)]
enum HandoverState {
    /// No task waits for a call.
    #[default]
    Closed,
    /// A task waits for the call with this cursor and frame.
    Open(u64, Duration),
    /// A task will serve this call.
    Taken(PendingRead),
}

impl Handover {
    /// Begins to take the call with this cursor and frame. Returns whether no other task does.
    fn open(&self, cursor: u64, frame: Duration) -> bool {
        let mut state = self.0.lock();
        let is_free = matches!(*state, HandoverState::Closed);
        if is_free {
            *state = HandoverState::Open(cursor, frame);
        }
        is_free
    }

    /// Returns the call that was taken, and takes no further one.
    fn close(&self) -> Option<PendingRead> {
        match std::mem::take(&mut *self.0.lock()) {
            HandoverState::Taken(read) => Some(read),
            HandoverState::Closed | HandoverState::Open(..) => None,
        }
    }

    /// Gives a call to a task that waits for it, or else returns it. A call with a shorter frame must not wait
    /// for the end of a longer one.
    fn offer(&self, read: PendingRead) -> Option<PendingRead> {
        let mut state = self.0.lock();
        let request = (read.request.cursor, read.request.coalesce_for);
        match *state {
            HandoverState::Open(cursor, frame) if (cursor, frame) == request => {
                *state = HandoverState::Taken(read);
                None
            }
            _ => Some(read),
        }
    }

    /// Drops a taken call whose caller has gone.
    fn withdraw(&self) {
        let mut state = self.0.lock();
        if let HandoverState::Taken(read) = &*state
            && read.reply.is_closed()
        {
            let open = HandoverState::Open(read.request.cursor, read.request.coalesce_for);
            let withdrawn = std::mem::replace(&mut *state, open);
            drop(state);
            drop(withdrawn);
        }
    }
}

/// Reads one transcript's changes for the calls of a stream.
#[derive(Clone)]
pub(crate) struct ChangeReader {
    pub(crate) source: ChangeSource,
    pub(crate) cursors: CursorSpace,
    pub(crate) stopped: watch::Receiver<bool>,
    pub(crate) handover: Arc<Handover>,
}

impl ChangeReader {
    /// Waits for changes. Dropping the returned future ends the read.
    pub(crate) fn next(self, request: ReadRequest) -> impl Future<Output = Batch> + Send + use<> {
        let (reply, batch) = oneshot::channel();
        let guards = [ObjectKind::Call, ObjectKind::Read].map(CountGuard::new);
        let read = PendingRead {
            request,
            reply,
            _guards: guards,
        };
        let pending = CallGuard {
            batch,
            handover: Arc::clone(&self.handover),
        };
        if let Some(read) = self.handover.offer(read) {
            serving(self.serve(read));
        }
        pending.wait()
    }

    /// Serves a call, and the next one if it comes within the frame.
    async fn serve(mut self, first: PendingRead) {
        let mut next = Some((first, false));
        while let Some((read, is_due)) = next.take() {
            let PendingRead {
                request,
                mut reply,
                _guards: guards,
            } = read;
            let batch = tokio::select! {
                biased;
                () = reply.closed() => return,
                batch = self.read(&request, is_due) => batch,
            };
            let cursor = batch.as_ref().ok().and_then(Option::as_ref);
            let cursor = cursor.map(|batch| batch.cursor);
            let stays = self.source.is_live() && !request.coalesce_for.is_zero();
            let frame = request.coalesce_for;
            let is_open = stays && cursor.is_some_and(|cursor| self.handover.open(cursor, frame));
            drop(guards);
            // The caller may have gone.
            let _ = reply.send(batch);
            if is_open {
                // Nothing follows the end, and the rest of a frame may be long.
                tokio::select! {
                    () = sleep(frame) => {}
                    () = self.source.ended() => {}
                    _ = self.stopped.wait_for(|it| *it) => {}
                }
                next = self.handover.close().map(|read| (read, true));
            }
        }
    }

    /// Waits for changes, and for those of the rest of the frame unless it is over. Returns none once the stream
    /// was stopped or dropped.
    pub(crate) async fn read(&mut self, request: &ReadRequest, is_due: bool) -> Batch {
        let batch = tokio::select! {
            biased;
            // An error means that the stream was dropped, which stops it as well.
            _ = self.stopped.wait_for(|it| *it) => return Ok(None),
            batch = changes(&self.source, self.cursors, request, is_due) => batch?,
        };
        let cursor = |position| self.cursors.cursor(position);
        Ok(batch.map(|batch| ChangeBatch {
            cursor: cursor(batch.cursor),
            ..batch
        }))
    }
}

async fn changes(
    source: &ChangeSource,
    cursors: CursorSpace,
    request: &ReadRequest,
    is_due: bool,
) -> Batch {
    let position = cursors.position(request.cursor).unwrap_or(0);
    match source {
        ChangeSource::Session(session) => {
            Ok(next_of_session(session, position, request, is_due).await)
        }
        ChangeSource::Recording(fold) => Arc::clone(fold).next(position, request.max_count).await,
    }
}

/// A call that waits for its batch.
struct CallGuard {
    batch: oneshot::Receiver<Batch>,
    handover: Arc<Handover>,
}

impl CallGuard {
    async fn wait(mut self) -> Batch {
        let batch = (&mut self.batch).await;
        batch.unwrap_or_else(|_| {
            Err(BowlineError::Internal {
                reason: "read changes: the library panicked; please report this".to_owned(),
            })
        })
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        self.batch.close();
        self.handover.withdraw();
    }
}

async fn next_of_session(
    session: &core::DialogueSession,
    position: u64,
    request: &ReadRequest,
    mut is_due: bool,
) -> Option<ChangeBatch> {
    let (max_count, coalesce_for) = (request.max_count as usize, request.coalesce_for);
    let from = reducer::Cursor::from_number(position);
    loop {
        is_due &= session.revision() > from.revision();
        session.changed_since(from.revision()).await;
        let has_ended = session.has_ended();
        if !has_ended && !is_due && !coalesce_for.is_zero() {
            // Nothing follows the end, so it cuts the wait short.
            tokio::select! {
                () = sleep(coalesce_for) => {}
                _ = session.ended() => {}
            }
        }
        is_due = false;
        let read = move |changes: &reducer::Changes<'_>| batch(changes, position);
        let (_, batch) = session.changes_up_to(from, max_count, read).await;
        if batch.is_some() || has_ended {
            return batch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Duration = Duration::from_millis(16);

    fn read(cursor: u64) -> (PendingRead, oneshot::Receiver<Batch>) {
        read_within(cursor, FRAME)
    }

    fn read_within(cursor: u64, frame: Duration) -> (PendingRead, oneshot::Receiver<Batch>) {
        let (reply, batch) = oneshot::channel();
        let read = PendingRead {
            request: ReadRequest {
                cursor,
                max_count: 1,
                coalesce_for: frame,
            },
            reply,
            _guards: [ObjectKind::Call, ObjectKind::Read].map(CountGuard::new),
        };
        (read, batch)
    }

    #[test]
    fn waiting_task_takes_call_with_its_cursor() {
        let handover = Handover::default();
        let (first, _first) = read(7);
        assert!(handover.offer(first).is_some(), "no task waits");
        assert!(handover.open(7, FRAME));
        assert!(!handover.open(8, FRAME), "another task waits");
        let (other, _other) = read(8);
        assert!(handover.offer(other).is_some(), "another cursor");
        let (urgent, _urgent) = read_within(7, Duration::ZERO);
        assert!(handover.offer(urgent).is_some(), "it waits for no frame");
        let (next, _next) = read(7);
        assert!(handover.offer(next).is_none());
        let (second, _second) = read(7);
        assert!(handover.offer(second).is_some(), "one call is taken");
        let taken = handover.close().expect("the call");
        assert_eq!(taken.request.cursor, 7);
        assert!(handover.close().is_none());
        assert!(handover.open(8, FRAME));
    }

    #[test]
    fn call_whose_caller_has_gone_is_dropped_at_once() {
        let handover = Arc::new(Handover::default());
        assert!(handover.open(7, FRAME));
        let (gone, batch) = read(7);
        assert!(handover.offer(gone).is_none());
        let handover_of_call = Arc::clone(&handover);
        drop(CallGuard {
            batch,
            handover: handover_of_call,
        });
        let (next, _next) = read(7);
        assert!(handover.offer(next).is_none(), "the place is free again");
        assert!(handover.close().is_some());
    }
}
