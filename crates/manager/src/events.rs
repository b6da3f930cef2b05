//! The events of all sessions of a manager in one stream.

use std::sync::{Arc, Weak};

use bowline_shell::{SessionEvent, SessionEvents, SessionLog};
use tokio::sync::Notify;

use super::table::Table;

/// What all sessions tell, those to come included. A place in each session's history: keeps
/// nothing alive and holds nothing back; missed events are reported.
#[derive(Debug)]
pub struct ManagerEvents {
    table: Weak<Table>,
    bell: Arc<Notify>,
    /// How many of the manager's sessions are known here.
    births: u64,
    /// Number of sessions that were created and removed unseen, to be reported.
    missed: u64,
    sessions: Vec<SessionEvents>,
    /// Whose turn it is: one that talks much must not drown the others.
    turn: usize,
}

impl ManagerEvents {
    pub(super) fn new(table: &Arc<Table>) -> Self {
        Self {
            table: Arc::downgrade(table),
            bell: table.bell(),
            births: table.births(),
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

    /// The next event of any session; `None` when the manager is gone. Cancel safe.
    pub async fn next(&mut self) -> Option<SessionEvent> {
        let bell = Arc::clone(&self.bell);
        loop {
            // Made before the look, so that a ring in between is not lost.
            let rung = bell.notified();
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            self.table.upgrade()?;
            rung.await;
        }
    }

    /// The next event if there is one now.
    pub fn try_next(&mut self) -> Option<SessionEvent> {
        self.look_for_sessions();
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

    fn look_for_sessions(&mut self) {
        let Some(table) = self.table.upgrade() else {
            return;
        };
        let (logs, missed) = table.logs_since(self.births);
        self.births += logs.len() as u64 + missed;
        self.missed += missed;
        self.sessions
            .extend(logs.iter().map(SessionLog::subscribe_from_start));
    }
}
