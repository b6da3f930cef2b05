//! All sessions, with their records, handles and leases.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_lifecycle::DialogueSession;
use bowline_shell::{ManagedId, SessionLog, SessionState, ShellSession};
use bowline_transport::TerminationReport;
use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;

use super::lease::ConversationLease;
use crate::{EndReason, ManagerError, SessionEnd, SessionInfo, Timestamp};

/// A session's handle.
#[derive(Clone)]
pub(super) enum Live {
    Shell(ShellSession),
    Dialogue(DialogueSession),
}

impl Live {
    fn pid(&self) -> Option<u32> {
        match self {
            Self::Shell(shell) => shell.pid(),
            Self::Dialogue(dialogue) => dialogue.pid(),
        }
    }

    pub(super) async fn terminate(&self) -> TerminationReport {
        match self {
            Self::Shell(shell) => shell.terminate().await,
            Self::Dialogue(dialogue) => dialogue.terminate().await.report,
        }
    }
}

/// A task that goes with what it follows.
#[derive(Debug)]
pub(super) struct Follower(pub(super) AbortHandle);

impl Drop for Follower {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A session of this run of the host.
pub(super) struct Running {
    pub(super) live: Live,
    pub(super) log: Arc<SessionLog>,
    /// Let go of when the session ends.
    pub(super) leases: Vec<ConversationLease>,
    pub(super) follower: Option<Follower>,
    /// Why it is being ended, if it is.
    pub(super) ending: Option<EndReason>,
}

struct Entry {
    info: SessionInfo,
    running: Option<Running>,
    /// Which of this run's sessions it is, from 1; 0 for one of an earlier run.
    born: u64,
}

/// Feeds of sessions that have left the list, kept for subscribers that have not looked since.
const DEPARTED: usize = 64;

impl Entry {
    fn is_alive(&self) -> bool {
        self.info.end.is_none()
    }

    fn info(&self) -> SessionInfo {
        let mut info = self.info.clone();
        if let (true, Some(running)) = (self.is_alive(), &self.running) {
            info.state = running.log.state();
            info.pid = running.live.pid();
        }
        info
    }
}

#[derive(Default)]
struct Entries {
    all: Vec<Entry>,
    /// How many sessions were made in this run.
    births: u64,
    departed: VecDeque<(u64, Arc<SessionLog>)>,
    /// Sessions that are being made.
    reserved: usize,
    is_closing: bool,
}

impl Entries {
    fn find(&mut self, id: ManagedId) -> Option<&mut Entry> {
        self.all.iter_mut().find(|entry| entry.info.id == id)
    }

    fn depart(&mut self, at: usize) -> Entry {
        let entry = self.all.remove(at);
        if let Some(running) = &entry.running {
            self.departed
                .push_back((entry.born, Arc::clone(&running.log)));
        }
        if self.departed.len() > DEPARTED {
            self.departed.pop_front();
        }
        entry
    }

    fn alive(&self) -> usize {
        self.all.iter().filter(|entry| entry.is_alive()).count()
    }
}

pub(super) struct Table {
    entries: Mutex<Entries>,
    max_sessions: usize,
    keep_ended: usize,
    version: watch::Sender<u64>,
    /// Notified when any session has an event, and when the table is dropped.
    bell: Arc<Notify>,
}

/// A place for one more session; given back unless it is filled.
pub(super) struct Place {
    table: Arc<Table>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.lock().reserved -= 1;
        self.table.bell.notify_waiters();
    }
}

impl Place {
    /// Fills the place. A session that has come back takes its old one. A session that comes too
    /// late, when no more are to be made, is handed back.
    pub(super) fn fill(&self, info: SessionInfo, running: Running) -> Result<SessionInfo, Live> {
        let live = running.live.clone();
        let mut entry = Entry {
            info,
            running: Some(running),
            born: 0,
        };
        let filled = entry.info();
        let mut entries = self.table.lock();
        if entries.is_closing {
            return Err(live);
        }
        entries.births += 1;
        entry.born = entries.births;
        let before = match entries.find(filled.id) {
            // Holders of its log keep it: the session has ended.
            Some(before) => Some(std::mem::replace(before, entry)),
            None => {
                entries.all.push(entry);
                None
            }
        };
        drop(entries);
        drop(before);
        self.table.changed();
        Ok(filled)
    }
}

impl Table {
    pub(super) fn new(
        known: Vec<SessionInfo>,
        max_sessions: usize,
        keep_ended: usize,
    ) -> Arc<Self> {
        let all = known
            .into_iter()
            .map(|info| Entry {
                info,
                running: None,
                born: 0,
            })
            .collect();
        let entries = Entries {
            all,
            ..Entries::default()
        };
        Arc::new(Self {
            entries: Mutex::new(entries),
            max_sessions,
            keep_ended,
            version: watch::Sender::new(0),
            bell: Arc::default(),
        })
    }

    pub(super) fn bell(&self) -> Arc<Notify> {
        Arc::clone(&self.bell)
    }

    /// Tells each change of what is kept on disk.
    pub(super) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub(super) fn version(&self) -> u64 {
        *self.version.borrow()
    }

    pub(super) fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
        self.bell.notify_waiters();
    }

    /// A place for one more session, if there is one.
    pub(super) fn reserve(self: &Arc<Self>) -> Result<Place, ManagerError> {
        let mut entries = self.lock();
        if entries.is_closing {
            return Err(ManagerError::ShuttingDown);
        }
        if entries.alive() + entries.reserved >= self.max_sessions {
            let limit = self.max_sessions;
            return Err(ManagerError::MaxSessions { limit });
        }
        entries.reserved += 1;
        Ok(Place {
            table: Arc::clone(self),
        })
    }

    pub(super) fn info(&self, id: ManagedId) -> Option<SessionInfo> {
        self.lock().find(id).map(|entry| entry.info())
    }

    pub(super) fn infos(&self) -> Vec<SessionInfo> {
        self.lock().all.iter().map(Entry::info).collect()
    }

    /// How many sessions were made in this run.
    pub(super) fn births(&self) -> u64 {
        self.lock().births
    }

    /// The logs of the sessions that were made after so many, and how many more were made and have
    /// left since.
    pub(super) fn logs_since(&self, births: u64) -> (Vec<Arc<SessionLog>>, u64) {
        let entries = self.lock();
        let listed = entries
            .all
            .iter()
            .filter_map(|entry| Some((entry.born, &entry.running.as_ref()?.log)));
        let departed = entries.departed.iter().map(|(born, log)| (*born, log));
        let newer = listed.chain(departed).filter(|(born, _)| *born > births);
        let logs: Vec<_> = newer.map(|(_, log)| Arc::clone(log)).collect();
        let missed = (entries.births - births).saturating_sub(logs.len() as u64);
        (logs, missed)
    }

    pub(super) fn living(&self) -> Vec<ManagedId> {
        let entries = self.lock();
        let living = entries.all.iter().filter(|entry| entry.is_alive());
        living.map(|entry| entry.info.id).collect()
    }

    pub(super) fn live(&self, id: ManagedId) -> Result<Live, ManagerError> {
        let mut entries = self.lock();
        let entry = entries.find(id).ok_or(ManagerError::NotFound { id })?;
        let running = entry.running.as_ref().ok_or(ManagerError::Ended { id })?;
        Ok(running.live.clone())
    }

    pub(super) fn set_label(&self, id: ManagedId, label: String) -> Result<(), ManagerError> {
        let mut entries = self.lock();
        let entry = entries.find(id).ok_or(ManagerError::NotFound { id })?;
        entry.info.label = label;
        drop(entries);
        self.changed();
        Ok(())
    }

    /// The session has entered a conversation, and holds its lease.
    pub(super) fn note_conversation(
        &self,
        id: ManagedId,
        conversation: &str,
        lease: Option<ConversationLease>,
    ) {
        let mut entries = self.lock();
        let Some(entry) = entries.find(id) else {
            return;
        };
        entry
            .info
            .conversations
            .retain(|known| known != conversation);
        entry.info.conversations.push(conversation.to_owned());
        if let Some(running) = &mut entry.running {
            running.leases.extend(lease);
        }
        drop(entries);
        self.changed();
    }

    /// The task that follows a session goes with it.
    pub(super) fn follow(&self, id: ManagedId, follower: Follower) {
        let mut entries = self.lock();
        if let Some(running) = entries.find(id).and_then(|entry| entry.running.as_mut()) {
            running.follower = Some(follower);
        }
    }

    /// From now on the session's end has this reason; the first one counts.
    pub(super) fn note_ending(&self, id: ManagedId, reason: EndReason) {
        let mut entries = self.lock();
        if let Some(running) = entries.find(id).and_then(|entry| entry.running.as_mut()) {
            running.ending.get_or_insert(reason);
        }
    }

    /// The session has ended: its log says how. Lets go of what it held, and of the oldest that
    /// ended before.
    pub(super) fn note_end(&self, id: ManagedId) {
        let mut entries = self.lock();
        let Some(entry) = entries.find(id).filter(|entry| entry.is_alive()) else {
            return;
        };
        let Some(running) = &mut entry.running else {
            return;
        };
        running.leases.clear();
        entry.info.state = SessionState::Terminated;
        entry.info.end = Some(SessionEnd {
            at: Timestamp::now(),
            exit: running.log.exit().unwrap_or_default(),
            reason: running.ending.clone().unwrap_or(EndReason::Exited),
        });
        let ended = entries.all.len() - entries.alive();
        let mut surplus = ended.saturating_sub(self.keep_ended);
        let mut gone = Vec::new();
        let mut at = 0;
        while surplus > 0 && at < entries.all.len() {
            let is_surplus = entries
                .all
                .get(at)
                .is_some_and(|it| !it.is_alive() && it.info.id != id);
            if is_surplus {
                gone.push(entries.depart(at));
                surplus -= 1;
            } else {
                at += 1;
            }
        }
        drop(entries);
        self.changed();
        // Handles are let go of without the lock: what ends with them may come back here.
        drop(gone);
    }

    /// Ends a session and waits for its end to be noted. Nothing is left to do for one that has
    /// ended before.
    pub(super) async fn end(
        &self,
        id: ManagedId,
        reason: EndReason,
    ) -> Result<Option<TerminationReport>, ManagerError> {
        let (live, log) = {
            let mut entries = self.lock();
            let entry = entries.find(id).ok_or(ManagerError::NotFound { id })?;
            let Some(running) = &mut entry.running else {
                return Ok(None);
            };
            if entry.info.end.is_none() {
                running.ending.get_or_insert(reason);
            }
            (running.live.clone(), Arc::clone(&running.log))
        };
        let report = live.terminate().await;
        log.ended().await;
        self.note_end(id);
        Ok(Some(report))
    }

    pub(super) fn remove(&self, id: ManagedId) -> Option<SessionInfo> {
        let mut entries = self.lock();
        let at = entries.all.iter().position(|entry| entry.info.id == id)?;
        let entry = entries.depart(at);
        drop(entries);
        self.changed();
        Some(entry.info())
    }

    /// No session is made from now on. Waits for those that are being made: they come to nothing,
    /// or are in the table.
    pub(super) async fn close(&self) {
        self.lock().is_closing = true;
        loop {
            let rung = self.bell.notified();
            if self.lock().reserved == 0 {
                return;
            }
            rung.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.bell.notify_waiters();
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("sessions", &self.infos())
            .finish_non_exhaustive()
    }
}
