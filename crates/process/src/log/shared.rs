// A log with a lock, and wakeups for its readers and for the task that fills it.
//
// The lock is held for a lookup or an append, never across an `await` or a system call.
//
// `schedules` includes this file again with another lock.

use std::sync::Arc;
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

/// The task that fills the log, while it waits for room.
#[derive(Debug, Default)]
struct Filler {
    waker: Option<Waker>,
    /// Number of bytes it needs; 0 while it does not wait for room.
    needs: usize,
}

impl SharedLog {
    /// Returns a log that keeps `capacity` bytes, of which at most `history` were read by every
    /// reader.
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

    /// Polls for room to read from the child. Returns the number of bytes, at least one; `None` if
    /// the log is closed. The task is woken when there is room and when the log is closed.
    pub fn poll_room(&self, cx: &mut Context<'_>) -> Poll<Option<usize>> {
        self.poll_room_of(cx, 1)
    }

    /// Polls for room as [`poll_room`](Self::poll_room) does, for at least `needs` bytes.
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

    /// Returns how many bytes fit now.
    pub fn room(&self) -> usize {
        self.lock().log.room()
    }

    /// Continues at a later offset; the bytes in between become a gap.
    pub fn skip_to(&self, offset: u64) {
        self.lock().log.skip_to(offset);
        self.grown.notify_waiters();
    }

    /// Sets the offset of the first byte. Has no effect once bytes or a reader exist.
    pub fn begin_at(&self, offset: u64) {
        self.lock().log.begin_at(offset);
    }

    /// Appends bytes that were just received.
    pub fn push(&self, bytes: Bytes) {
        self.lock().log.push(bytes);
        self.grown.notify_waiters();
    }

    /// Appends bytes that a connection received; `is_replay` marks those that were written before this host
    /// attached. Small ones are copied, so that they do not keep the connection's read buffer.
    pub fn push_received(&self, bytes: &Bytes, is_replay: bool) {
        self.lock().log.push_received(bytes, is_replay);
        self.grown.notify_waiters();
    }

    /// Appends bytes that the caller consumes itself. Returns their offset; `None` if the log is
    /// closed, and then the bytes must not be used.
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

    /// Waits until the log is closed. Cancel safe.
    pub async fn closed(&self) {
        loop {
            // Created before the check, so that a notification in between is not lost.
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

    /// Drops the oldest bytes from now on instead of blocking.
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
        self.reader_of(Position::Attached(cursor))
    }

    /// Returns a reader at an offset; bytes that are no longer kept are reported as a gap.
    pub fn reader_at(self: &Arc<Self>, offset: u64) -> LogReader {
        let cursor = self.lock().log.attach(offset);
        self.reader_of(Position::Attached(cursor))
    }

    /// Returns a reader at an offset that retains nothing: it never holds the child back, and what is
    /// dropped before it was read is reported as a gap.
    pub fn observer_at(self: &Arc<Self>, offset: u64) -> LogReader {
        let offset = self.lock().log.observe(offset);
        self.reader_of(Position::Observing(offset))
    }

    fn reader_of(self: &Arc<Self>, position: Position) -> LogReader {
        LogReader {
            log: Arc::clone(self),
            position,
            was_replay: false,
        }
    }

    /// Runs an operation that may make room, and wakes the task that waits for it.
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
        self.state.lock()
    }
}

/// A reader of one stream. Independent of the session: it reads to the end of the kept bytes after
/// the session has ended. An attached reader applies backpressure to an
/// [`Overflow::Block`](crate::Overflow) log, and dropping it releases its bytes; one that observes does not.
#[derive(Debug)]
pub struct LogReader {
    log: Arc<SharedLog>,
    position: Position,
    was_replay: bool,
}

#[derive(Clone, Copy, Debug)]
enum Position {
    /// The log has the offset, and retains the bytes from there on.
    Attached(Cursor),
    /// The offset of a reader that retains nothing.
    Observing(u64),
}

impl LogReader {
    /// Returns the next piece, or `None` after the end of the stream. Waits for new bytes while the
    /// stream is open. Cancel safe: a dropped call consumes nothing.
    pub async fn next(&mut self) -> Option<Piece> {
        loop {
            let log = Arc::clone(&self.log);
            let grown = log.grown.notified();
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

    /// Returns the next piece if one is available, without waiting; also `None` after the end.
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

    /// Returns whether the last piece must not be answered by this host: it was written before the
    /// host attached, or while no host held the lease. A terminal emulator must not set the
    /// clipboard or reply to queries for such a piece. Always false for a session on this machine.
    pub fn is_replay(&self) -> bool {
        self.was_replay
    }

    /// Returns a reader of the same stream at an offset that retains nothing, as
    /// [`SharedLog::observer_at`] does.
    #[must_use]
    pub fn observer_at(&self, offset: u64) -> Self {
        self.log.observer_at(offset)
    }

    /// Returns the offset of the next byte that this reader has not returned.
    pub fn offset(&self) -> u64 {
        match self.position {
            Position::Attached(cursor) => self.log.lock().log.position(cursor),
            Position::Observing(offset) => offset,
        }
    }

    /// Takes the next piece, and whether it was written before this host attached.
    fn take(&mut self) -> (Taken, bool) {
        match &mut self.position {
            Position::Attached(cursor) => self.log.with(|log| {
                let is_replay = log.is_replay(log.position(*cursor));
                (log.take(*cursor), is_replay)
            }),
            Position::Observing(offset) => {
                let state = self.log.lock();
                let (taken, is_replay) =
                    (state.log.piece_at(*offset), state.log.is_replay(*offset));
                if let Taken::Piece(piece) = &taken {
                    *offset = piece.end();
                }
                (taken, is_replay)
            }
        }
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        match self.position {
            Position::Attached(cursor) => self.log.with(|log| log.detach(cursor)),
            Position::Observing(_) => self.log.lock().log.unobserve(),
        }
    }
}
