//! The event log of a session.
//!
//! Subscribers are positions in one log, not queues: the session never waits for them, and each costs a
//! few words. A slow one learns how many lines it missed; it never misses the latest state and the end.

use std::collections::VecDeque;
use std::sync::Arc;

use bowline_transport::ExitStatus;
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::sync::Notify;

use super::SessionState;
use crate::ManagedId;
use crate::line_buffer::Line;

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionEvent {
    /// A line of a shell session.
    Output {
        /// The session.
        session: ManagedId,
        /// Always `stdout`: a terminal has one stream.
        stream: &'static str,
        /// The line without its end, with its colours.
        line: String,
    },
    /// Output was overwritten before it was read.
    Gap {
        /// The session.
        session: ManagedId,
        /// Number of missing bytes.
        bytes: u64,
    },
    /// This subscriber fell behind.
    Lagged {
        /// The session.
        session: ManagedId,
        /// Number of missed lines and gaps.
        lines: u64,
    },
    /// Sessions started and ended before this subscriber of a manager could follow them.
    Missed {
        /// Number of sessions.
        sessions: u64,
    },
    /// The state has changed. Only the latest of several changes is reported.
    State {
        /// The session.
        session: ManagedId,
        /// The new state.
        state: SessionState,
    },
    /// The session has ended. The last event.
    Exit {
        /// The session.
        session: ManagedId,
        /// The exit.
        #[serde(flatten)]
        exit: SessionExit,
    },
}

/// How a session's program ended. Both are `None` if it is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct SessionExit {
    /// The exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it, by the platform's number.
    pub signal: Option<i32>,
}

impl From<ExitStatus> for SessionExit {
    fn from(status: ExitStatus) -> Self {
        let (code, signal) = match status {
            ExitStatus::Code(code) => (Some(code), None),
            ExitStatus::Signal(signal) => (None, Some(signal)),
            ExitStatus::Unknown => (None, None),
        };
        Self { code, signal }
    }
}

#[derive(Debug)]
enum Entry {
    Line(String),
    Gap {
        bytes: u64,
        /// Bytes of all gaps up to this one.
        lost: u64,
    },
}

impl Entry {
    fn bytes(&self) -> usize {
        match self {
            Self::Line(line) => line.len(),
            Self::Gap { .. } => 0,
        }
    }
}

#[derive(Debug, Default)]
struct History {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Number of the first entry that is kept.
    first: u64,
    /// Bytes of all gaps so far, and of those no longer kept.
    lost: u64,
    forgotten: u64,
    state: SessionState,
    exit: Option<SessionExit>,
}

impl History {
    fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }
}

/// The event log of one session: its newest lines and gaps, its state and its end.
///
/// The session appends; any number of [`SessionEvents`] read. Memory is bounded by entries and bytes.
#[derive(Debug)]
pub struct SessionLog {
    session: ManagedId,
    max_entries: usize,
    max_bytes: usize,
    history: Mutex<History>,
    grown: Notify,
    end_notify: Notify,
    /// Shared by all logs of a manager.
    change_notify: Arc<Notify>,
}

impl SessionLog {
    /// Creates the log of a running session. It keeps at most `max_entries` lines of `max_bytes` in
    /// all; `change_notify` is notified with every change, so that one task can watch many logs.
    pub fn new(
        session: ManagedId,
        max_entries: usize,
        max_bytes: usize,
        change_notify: Arc<Notify>,
    ) -> Arc<Self> {
        Arc::new(Self {
            session,
            max_entries: max_entries.max(1),
            max_bytes,
            history: Mutex::default(),
            grown: Notify::new(),
            end_notify: Notify::new(),
            change_notify,
        })
    }

    /// Appends a line. Readers are woken by [`notify`](Self::notify).
    pub fn push_line(&self, line: Line) {
        self.push(self.lock(), Entry::Line(line.text));
    }

    /// Appends a gap of this number of bytes. Readers are woken by [`notify`](Self::notify).
    pub fn push_gap(&self, bytes: u64) {
        let mut history = self.lock();
        history.lost += bytes;
        let lost = history.lost;
        self.push(history, Entry::Gap { bytes, lost });
    }

    fn push(&self, mut history: MutexGuard<'_, History>, entry: Entry) {
        history.bytes += entry.bytes();
        history.entries.push_back(entry);
        while history.entries.len() > self.max_entries
            || (history.bytes > self.max_bytes && history.entries.len() > 1)
        {
            let dropped = history.entries.pop_front();
            history.bytes -= dropped.as_ref().map_or(0, Entry::bytes);
            history.first += 1;
            if let Some(Entry::Gap { lost, .. }) = dropped {
                history.forgotten = lost;
            }
        }
    }

    /// Wakes the readers. Apart from appending, so that a burst of lines wakes them once.
    pub fn notify(&self) {
        self.grown.notify_waiters();
        self.change_notify.notify_waiters();
    }

    /// Returns the current state.
    pub fn state(&self) -> SessionState {
        self.lock().state
    }

    /// Returns how the session ended, or `None` while it runs.
    pub fn exit(&self) -> Option<SessionExit> {
        self.lock().exit
    }

    /// Waits for the end. Cancel safe.
    pub async fn ended(&self) {
        loop {
            let ended = self.end_notify.notified();
            if self.exit().is_some() {
                return;
            }
            ended.await;
        }
    }

    /// Sets the state, and wakes the readers if it is another one.
    pub fn set_state(&self, state: SessionState) {
        let before = std::mem::replace(&mut self.lock().state, state);
        if before != state {
            self.notify();
        }
    }

    /// Records the end. The first call counts; no event follows the end.
    pub fn end(&self, exit: SessionExit) {
        let mut history = self.lock();
        history.state = SessionState::Terminated;
        history.exit.get_or_insert(exit);
        drop(history);
        self.notify();
        self.end_notify.notify_waiters();
    }

    /// Returns a reader of the events from now on.
    pub fn subscribe(self: &Arc<Self>) -> SessionEvents {
        let history = self.lock();
        SessionEvents {
            next: history.end(),
            lost: history.lost,
            reported: Some(history.state),
            is_over: false,
            log: Arc::clone(self),
        }
    }

    /// Returns a reader that begins with the oldest line kept.
    pub fn subscribe_from_start(self: &Arc<Self>) -> SessionEvents {
        SessionEvents {
            next: 0,
            lost: 0,
            reported: None,
            is_over: false,
            log: Arc::clone(self),
        }
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock()
    }
}

/// A reader of one session's events. It neither keeps the session alive nor delays it.
#[derive(Debug)]
pub struct SessionEvents {
    log: Arc<SessionLog>,
    next: u64,
    /// Bytes of the gaps reported so far.
    lost: u64,
    reported: Option<SessionState>,
    is_over: bool,
}

impl SessionEvents {
    /// Returns the next event, or `None` after the end. Cancel safe.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        let log = Arc::clone(&self.log);
        loop {
            // Created before the check, so that a notification in between is not lost.
            let grown = log.grown.notified();
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            grown.await;
        }
    }

    /// Returns the next event if there is one now.
    pub fn try_next(&mut self) -> Option<SessionEvent> {
        let history = self.log.lock();
        let session = self.log.session;
        // Gaps among the missed entries are reported as gaps.
        if self.lost < history.forgotten {
            let bytes = history.forgotten - self.lost;
            self.lost = history.forgotten;
            return Some(SessionEvent::Gap { session, bytes });
        }
        if self.next < history.first {
            let lines = history.first - self.next;
            self.next = history.first;
            return Some(SessionEvent::Lagged { session, lines });
        }
        let at = usize::try_from(self.next - history.first).unwrap_or(usize::MAX);
        if let Some(entry) = history.entries.get(at) {
            self.next += 1;
            return Some(match entry {
                Entry::Line(line) => SessionEvent::Output {
                    session,
                    stream: "stdout",
                    line: line.clone(),
                },
                Entry::Gap { bytes, lost } => {
                    self.lost = *lost;
                    SessionEvent::Gap {
                        session,
                        bytes: *bytes,
                    }
                }
            });
        }
        if self.reported != Some(history.state) {
            self.reported = Some(history.state);
            return Some(SessionEvent::State {
                session,
                state: history.state,
            });
        }
        let exit = history.exit.filter(|_| !self.is_over)?;
        self.is_over = true;
        Some(SessionEvent::Exit { session, exit })
    }

    /// Whether the end was returned.
    pub fn is_over(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(max_entries: usize, max_bytes: usize) -> Arc<SessionLog> {
        SessionLog::new(ManagedId::random(), max_entries, max_bytes, Arc::default())
    }

    fn append(log: &SessionLog, text: &str) {
        let mut buffer = crate::LineBuffer::default();
        buffer.push(format!("{text}\n").as_bytes(), |line| log.push_line(line));
        log.notify();
    }

    fn line(event: Option<SessionEvent>) -> String {
        match event {
            Some(SessionEvent::Output { line, .. }) => line,
            other => panic!("{other:?} is no line"),
        }
    }

    #[test]
    fn slow_subscriber_learns_what_it_missed_and_sees_the_end() {
        let log = log(2, 1 << 20);
        let mut slow = log.subscribe();
        for text in ["a", "b", "c", "d"] {
            append(&log, text);
        }
        log.end(SessionExit {
            code: Some(3),
            signal: None,
        });
        let session = log.session;
        assert_eq!(
            slow.try_next(),
            Some(SessionEvent::Lagged { session, lines: 2 })
        );
        assert_eq!(
            (line(slow.try_next()), line(slow.try_next())),
            ("c".into(), "d".into())
        );
        let state = SessionState::Terminated;
        assert_eq!(
            slow.try_next(),
            Some(SessionEvent::State { session, state })
        );
        let exit = SessionExit {
            code: Some(3),
            signal: None,
        };
        assert_eq!(slow.try_next(), Some(SessionEvent::Exit { session, exit }));
        assert_eq!(slow.try_next(), None);
    }

    #[test]
    fn log_is_bounded_by_bytes() {
        let log = log(1_000, 10);
        for _ in 0..100 {
            append(&log, "12345678");
        }
        let history = log.lock();
        assert_eq!(
            (history.entries.len(), history.bytes, history.first),
            (1, 8, 99)
        );
    }

    #[test]
    fn events_serialize_to_json() {
        let log = log(9, 999);
        let mut events = log.subscribe_from_start();
        append(&log, "hi");
        log.end(SessionExit {
            code: Some(0),
            signal: None,
        });
        let mut returned = std::iter::from_fn(|| events.try_next());
        let mut json = || serde_json::to_value(returned.next().unwrap()).unwrap();
        let session = log.session.to_string();
        assert_eq!(
            json(),
            serde_json::json!({"event": "output", "session": session, "stream": "stdout", "line": "hi"})
        );
        assert_eq!(
            json(),
            serde_json::json!({"event": "state", "session": session, "state": "terminated"})
        );
        assert_eq!(
            json(),
            serde_json::json!({"event": "exit", "session": session, "code": 0, "signal": null})
        );
    }
}
