//! The events of all sessions of a manager in one stream.

use std::sync::{Arc, Weak};

use bowline_shell::{SessionEvent, SessionEvents, SessionLog};
use tokio::sync::Notify;

use super::table::Table;

/// The events of all sessions of a manager, later sessions included, from
/// [`SessionManager::subscribe`](crate::SessionManager::subscribe).
///
/// It holds a position in the log of each session. It keeps no session alive and delays none; missed
/// events are reported.
#[derive(Debug)]
pub struct ManagerEvents {
    table: Weak<Table>,
    notify: Arc<Notify>,
    /// Number of the newest session that is known here.
    newest: u64,
    /// Number of sessions that were created and removed unseen, to be reported.
    missed: u64,
    sessions: Vec<SessionEvents>,
    /// Index of the session that was read last: sessions are read round robin.
    turn: usize,
}

impl ManagerEvents {
    pub(super) fn new(table: &Arc<Table>) -> Self {
        Self {
            table: Arc::downgrade(table),
            notify: table.notify(),
            newest: table.created(),
            missed: 0,
            sessions: table
                .logs_since(0)
                .0
                .iter()
                .map(SessionLog::subscribe)
                .collect(),
            turn: 0,
        }
    }

    /// Waits for the next event of any session. Returns `None` when the manager has been dropped.
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        let notify = Arc::clone(&self.notify);
        loop {
            // Created before the check, so that a notification in between is not lost.
            let notified = notify.notified();
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            self.table.upgrade()?;
            notified.await;
        }
    }

    /// Returns the next event if there is one.
    pub fn try_next(&mut self) -> Option<SessionEvent> {
        self.add_new_sessions();
        let sessions = std::mem::take(&mut self.missed);
        if sessions > 0 {
            return Some(SessionEvent::Missed { sessions });
        }
        for _ in 0..self.sessions.len() {
            self.turn = (self.turn + 1) % self.sessions.len().max(1);
            let session = self.sessions.get_mut(self.turn)?;
            if let Some(event) = session.try_next() {
                return Some(event);
            }
        }
        self.sessions.retain(|session| !session.is_over());
        None
    }

    fn add_new_sessions(&mut self) {
        let Some(table) = self.table.upgrade() else {
            return;
        };
        let (logs, missed) = table.logs_since(self.newest);
        self.newest += logs.len() as u64 + missed;
        self.missed += missed;
        self.sessions
            .extend(logs.iter().map(SessionLog::subscribe_from_start));
    }
}
