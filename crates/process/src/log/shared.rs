// The log with a lock around it, a bell that rings when it grew, and the one who fills it.
//
// The lock is held for a look-up or an append, never across an `await` or a system call.
//
// Included once more by `schedules`, with another lock.

use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use tokio::sync::Notify;

use super::lock::{Mutex, MutexGuard};
use super::{Cursor, Log, Overflow, Piece, Taken};

/// A log that several tasks append to, read from and wait on.
#[derive(Debug)]
pub struct SharedLog {
    state: Mutex<State>,
    grown: Notify,
}

#[derive(Debug)]
struct State {
    log: Log,
    filler: Filler,
}

/// Who reads from the child, and what he waits for.
#[derive(Debug, Default)]
struct Filler {
    waker: Option<Waker>,
    /// How much room he waits for; 0 while he waits for the child.
    needs: usize,
}

impl SharedLog {
    /// Returns a log that keeps `capacity` bytes, and `history` bytes more of what was read.
    #[must_use]
    pub fn with_limits(capacity: usize, overflow: Overflow, history: usize) -> Arc<Self> {
        Self::new(Log::new(capacity, overflow).with_history(history))
    }

    pub(crate) fn new(log: Log) -> Arc<Self> {
        let filler = Filler::default();
        Arc::new(Self {
            state: Mutex::new(State { log, filler }),
            grown: Notify::new(),
        })
    }

    /// How many bytes may be read from the child, at least one; `None` when the log was closed. The
    /// task that asks is woken when there is room, and when the log is closed.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<Option<usize>> {
        self.poll_room_of(cx, 1)
    }

    /// As [`poll_room`](Self::poll_room), for who wants so many bytes at least.
    pub fn poll_room_of(&self, cx: &mut Context<'_>, needs: usize) -> Poll<Option<usize>> {
        let mut state = self.lock();
        if state.log.is_closed() {
            return Poll::Ready(None);
        }
        match &mut state.filler.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            none => *none = Some(cx.waker().clone()),
        }
        let room = state.log.room();
        if room < needs {
            state.filler.needs = needs;
            return Poll::Pending;
        }
        state.filler.needs = 0;
        Poll::Ready(Some(room))
    }

    /// How many bytes there is place for now.
    pub fn room(&self) -> usize {
        self.lock().log.room()
    }

    /// Goes on at a later offset: what lies between never came.
    pub fn skip_to(&self, offset: u64) {
        self.lock().log.skip_to(offset);
        self.grown.notify_waiters();
    }

    /// Begins at an offset, while nothing has come and nobody reads.
    pub fn begin_at(&self, offset: u64) {
        self.lock().log.begin_at(offset);
    }

    /// Appends bytes that were just received.
    pub fn push(&self, bytes: Bytes) {
        self.push_as(bytes, false);
    }

    /// The same, of bytes that had been there before this host came, or had not.
    pub fn push_as(&self, bytes: Bytes, is_replay: bool) {
        self.lock().log.push_as(bytes, is_replay);
        self.grown.notify_waiters();
    }

    /// Appends bytes that the filler takes too. Answers their offset; `None` when the log was
    /// closed, and they are nobody's.
    pub fn pass(&self, bytes: &Bytes) -> Option<u64> {
        let mut state = self.lock();
        let offset = state.log.pass(bytes);
        if state.log.has_readers() {
            drop(state);
            self.grown.notify_waiters();
        }
        offset
    }

    /// Marks the end of the stream and wakes all waiters.
    pub fn close(&self) {
        let mut state = self.lock();
        state.log.close();
        let filler = state.filler.waker.take();
        drop(state);
        self.grown.notify_waiters();
        if let Some(filler) = filler {
            filler.wake();
        }
    }

    /// Waits until no byte comes any more.
    pub async fn closed(&self) {
        loop {
            // Made before the look, so that a ring in between is not lost.
            let grown = self.grown.notified();
            if self.is_closed() {
                return;
            }
            grown.await;
        }
    }

    /// Returns whether the stream has ended.
    pub fn is_closed(&self) -> bool {
        self.lock().log.is_closed()
    }

    /// Raises the capacity by a number of bytes.
    pub fn lift(&self, bytes: usize) {
        self.with(|log| log.lift(bytes));
    }

    /// Nobody is held back any more, whatever is lost.
    pub fn drop_oldest(&self) {
        self.with(Log::drop_oldest);
    }

    /// Returns the offset past the last byte.
    pub fn end(&self) -> u64 {
        self.lock().log.end()
    }

    /// Returns a reader at the oldest byte kept.
    pub fn reader(self: &Arc<Self>) -> LogReader {
        let cursor = self.lock().log.attach_oldest();
        LogReader {
            log: Arc::clone(self),
            cursor,
            was_replay: false,
        }
    }

    /// Returns a reader at an offset; bytes that are no longer kept come as a gap.
    pub fn reader_at(self: &Arc<Self>, offset: u64) -> LogReader {
        let cursor = self.lock().log.attach(offset);
        LogReader {
            log: Arc::clone(self),
            cursor,
            was_replay: false,
        }
    }

    /// Does something that may make room, and lets a filler that waits for it go on.
    fn with<T>(&self, act: impl FnOnce(&mut Log) -> T) -> T {
        let mut state = self.lock();
        let done = act(&mut state.log);
        let needs = state.filler.needs;
        let held = if needs > 0 && state.log.room() >= needs {
            state.filler.needs = 0;
            state.filler.waker.take()
        } else {
            None
        };
        drop(state);
        if let Some(filler) = held {
            filler.wake();
        }
        done
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reader of one stream. Independent of the session: it reads on to the end of what is kept
/// when the session is gone. While it lives it holds back an [`Overflow::Block`](crate::Overflow) log; dropped, it
/// holds nothing.
#[derive(Debug)]
pub struct LogReader {
    log: Arc<SharedLog>,
    cursor: Cursor,
    was_replay: bool,
}

impl LogReader {
    /// The next piece, or `None` after the end of the stream. Waits while the stream is alive and
    /// has nothing new. Cancel safe: a dropped call takes nothing.
    pub async fn next(&mut self) -> Option<Piece> {
        loop {
            let grown = self.log.grown.notified();
            let (taken, is_replay) = self.take();
            match taken {
                Taken::Piece(piece) => {
                    self.was_replay = is_replay;
                    return Some(piece);
                }
                Taken::Ended => return None,
                Taken::Pending => grown.await,
            }
        }
    }

    /// The next piece if one is there now, without waiting. `None` also after the end.
    pub fn try_next(&mut self) -> Option<Piece> {
        let (taken, is_replay) = self.take();
        match taken {
            Taken::Piece(piece) => {
                self.was_replay = is_replay;
                Some(piece)
            }
            Taken::Ended | Taken::Pending => None,
        }
    }

    /// Whether the piece that was given last is not for this host to answer: it had been written before
    /// the host came, or while nobody held the lease. A terminal that is fed with it must set no
    /// clipboard and answer no question of it. Never of a session on this machine.
    pub fn is_replay(&self) -> bool {
        self.was_replay
    }

    /// Offset of the next byte that this reader has not been given.
    pub fn offset(&self) -> u64 {
        self.log.lock().log.position(self.cursor)
    }

    /// What comes next, and whether it had been there before this host came.
    fn take(&self) -> (Taken, bool) {
        self.log.with(|log| {
            let is_replay = log.is_replay(self.cursor);
            (log.take(self.cursor), is_replay)
        })
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        self.log.with(|log| log.detach(self.cursor));
    }
}
