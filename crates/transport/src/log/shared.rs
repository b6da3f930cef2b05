//! The log with a lock and two bells around it: one rings when it grew, one when it has room.
//!
//! The lock is held for a look-up or an append, never across an `await` or a system call.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

use super::{Cursor, Log, Overflow, Piece, Taken};

#[derive(Debug)]
pub(crate) struct SharedLog {
    log: Mutex<Log>,
    grown: Notify,
    freed: Notify,
}

impl SharedLog {
    pub(crate) fn new(capacity: usize, overflow: Overflow) -> Arc<Self> {
        let log = Mutex::new(Log::new(capacity, overflow));
        Arc::new(Self {
            log,
            grown: Notify::new(),
            freed: Notify::new(),
        })
    }

    /// Waits until at least one byte may be read from the child; answers how many.
    pub(crate) async fn room(&self) -> usize {
        loop {
            // Made before the look, so that a ring in between is not lost.
            let freed = self.freed.notified();
            let room = self.lock().room();
            if room > 0 {
                return room;
            }
            freed.await;
        }
    }

    pub(crate) fn push(&self, bytes: Bytes) {
        self.lock().push(bytes);
        self.grown.notify_waiters();
    }

    pub(crate) fn close(&self) {
        self.lock().close();
        self.grown.notify_waiters();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    pub(crate) fn lift(&self, bytes: usize) {
        self.lock().lift(bytes);
        self.freed.notify_waiters();
    }

    pub(crate) fn end(&self) -> u64 {
        self.lock().end()
    }

    pub(crate) fn reader(self: &Arc<Self>) -> LogReader {
        let cursor = self.lock().attach_oldest();
        LogReader {
            log: Arc::clone(self),
            cursor,
        }
    }

    pub(crate) fn reader_at(self: &Arc<Self>, offset: u64) -> LogReader {
        let cursor = self.lock().attach(offset);
        LogReader {
            log: Arc::clone(self),
            cursor,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One reader of one stream. Independent of the session: it reads on to the end of what is kept
/// when the session is gone. While it lives it holds back an [`Overflow::Block`] log; dropped, it
/// holds nothing.
#[derive(Debug)]
pub struct LogReader {
    log: Arc<SharedLog>,
    cursor: Cursor,
}

impl LogReader {
    /// The next piece, or `None` after the end of the stream. Waits while the stream is alive and
    /// has nothing new. Cancel safe: a dropped call takes nothing.
    pub async fn next(&mut self) -> Option<Piece> {
        loop {
            let grown = self.log.grown.notified();
            match self.take() {
                Taken::Piece(piece) => return Some(piece),
                Taken::Ended => return None,
                Taken::Pending => grown.await,
            }
        }
    }

    /// The next piece if one is there now, without waiting. `None` also after the end.
    pub fn try_next(&mut self) -> Option<Piece> {
        match self.take() {
            Taken::Piece(piece) => Some(piece),
            Taken::Ended | Taken::Pending => None,
        }
    }

    /// Offset of the next byte that this reader has not been given.
    pub fn offset(&self) -> u64 {
        self.log.lock().position(self.cursor)
    }

    fn take(&self) -> Taken {
        let taken = self.log.lock().take(self.cursor);
        if matches!(taken, Taken::Piece(_)) {
            self.log.freed.notify_waiters();
        }
        taken
    }
}

impl Drop for LogReader {
    fn drop(&mut self) {
        self.log.lock().detach(self.cursor);
        self.log.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_waiting_reader_wakes_on_bytes_and_on_the_end() {
        let log = SharedLog::new(16, Overflow::Block);
        let mut reader = log.reader();
        let waiting = tokio::spawn(async move { (reader.next().await, reader.next().await) });
        tokio::task::yield_now().await;
        log.push(Bytes::from_static(b"x"));
        log.close();
        let piece = Piece::Bytes {
            offset: 0,
            bytes: Bytes::from_static(b"x"),
        };
        assert_eq!(waiting.await.unwrap(), (Some(piece), None));
    }

    #[tokio::test]
    async fn a_dropped_reader_lets_the_child_go_on() {
        let log = SharedLog::new(4, Overflow::Block);
        let (mut fast, slow) = (log.reader(), log.reader());
        log.push(Bytes::from_static(b"full"));
        assert!(fast.next().await.is_some());
        let waiting = tokio::spawn({
            let log = Arc::clone(&log);
            async move { log.room().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(slow);
        assert_eq!(waiting.await.unwrap(), 4);
    }
}
