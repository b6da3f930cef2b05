//! What a session tells: its newest lines, its state, its end.
//!
//! Subscribers are places in one history and not queues: the session never waits for them, and
//! each costs a few words. One that is too slow is told how many lines it has missed; the newest
//! state and the end are never missed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_transport::ExitStatus;
use serde::Serialize;
use tokio::sync::Notify;

use super::SessionState;
use crate::ManagedId;
use crate::line_buffer::Line;

/// Something that a session tells.
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
    /// Output was overwritten before lines were made of it.
    Gap {
        /// The session.
        session: ManagedId,
        /// How many bytes are missing here.
        bytes: u64,
    },
    /// This subscriber was too slow.
    Lagged {
        /// The session.
        session: ManagedId,
        /// How many lines (and gaps) it has missed here.
        lines: u64,
    },
    /// Sessions came and went before this subscriber looked. Of a manager's subscribers alone.
    Missed {
        /// How many.
        sessions: u64,
    },
    /// The session is in another state. Of several changes at once the last is told.
    State {
        /// The session.
        session: ManagedId,
        /// The state now.
        state: SessionState,
    },
    /// The session has ended. The last event.
    Exit {
        /// The session.
        session: ManagedId,
        /// How.
        #[serde(flatten)]
        exit: SessionExit,
    },
}

/// How a session's program ended. Both are absent if nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct SessionExit {
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, as the platform counts them.
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
    /// Bytes of all gaps so far, and of those that are not kept any more.
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
    bell: Arc<Notify>,
}

impl SessionLog {
    /// Creates the log of a running session. It keeps at most `max_entries` lines of `max_bytes` in
    /// all; `bell` is notified with every change, so that one task can watch many logs.
    pub fn new(
        session: ManagedId,
        max_entries: usize,
        max_bytes: usize,
        bell: Arc<Notify>,
    ) -> Arc<Self> {
        Arc::new(Self {
            session,
            max_entries: max_entries.max(1),
            max_bytes,
            history: Mutex::default(),
            grown: Notify::new(),
            end_notify: Notify::new(),
            bell,
        })
    }

    /// Appends a line. Readers are woken by [`notify`](Self::notify).
    pub fn push_line(&self, line: Line) {
        self.push(self.lock(), Entry::Line(line.text));
    }

    /// Appends a gap of so many bytes. Readers are woken by [`notify`](Self::notify).
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
        self.bell.notify_waiters();
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
            told: Some(history.state),
            is_over: false,
            log: Arc::clone(self),
        }
    }

    /// Returns a reader that begins with the oldest line kept.
    pub fn subscribe_from_start(self: &Arc<Self>) -> SessionEvents {
        SessionEvents {
            next: 0,
            lost: 0,
            told: None,
            is_over: false,
            log: Arc::clone(self),
        }
    }

    fn lock(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in what one session tells. Keeps nothing alive and holds nothing back.
#[derive(Debug)]
pub struct SessionEvents {
    log: Arc<SessionLog>,
    next: u64,
    /// Bytes of the gaps that it was told of.
    lost: u64,
    told: Option<SessionState>,
    is_over: bool,
}

impl SessionEvents {
    /// The next event; `None` after the end. Cancel safe.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        let log = Arc::clone(&self.log);
        loop {
            // Made before the look, so that a ring in between is not lost.
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

    /// The next event if there is one now.
    pub fn try_next(&mut self) -> Option<SessionEvent> {
        let history = self
            .log
            .history
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let session = self.log.session;
        // A gap among the entries that it has missed is no less a gap.
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
        if self.told != Some(history.state) {
            self.told = Some(history.state);
            return Some(SessionEvent::State {
                session,
                state: history.state,
            });
        }
        let exit = history.exit.filter(|_| !self.is_over)?;
        self.is_over = true;
        Some(SessionEvent::Exit { session, exit })
    }

    /// Whether the end was told.
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

    fn say(log: &SessionLog, text: &str) {
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
    fn a_slow_subscriber_is_told_what_it_missed_and_never_misses_the_end() {
        let log = log(2, 1 << 20);
        let mut slow = log.subscribe();
        for text in ["a", "b", "c", "d"] {
            say(&log, text);
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
    fn memory_is_bounded_by_bytes_too() {
        let log = log(1_000, 10);
        for _ in 0..100 {
            say(&log, "12345678");
        }
        let history = log.lock();
        assert_eq!(
            (history.entries.len(), history.bytes, history.first),
            (1, 8, 99)
        );
    }

    #[test]
    fn events_are_readable_json() {
        let log = log(9, 999);
        let mut events = log.subscribe_from_start();
        say(&log, "hi");
        log.end(SessionExit {
            code: Some(0),
            signal: None,
        });
        let mut told = std::iter::from_fn(|| events.try_next());
        let mut json = || serde_json::to_value(told.next().unwrap()).unwrap();
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
