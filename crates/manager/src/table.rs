//! All sessions, with their records, handles and leases.

use std::collections::VecDeque;
use std::sync::Arc;

use bowline_shell::{ManagedId, SessionLog, SessionState};
use bowline_transport::{SessionId, TerminationReport};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch};

use crate::at_runner::Remote;
use crate::error::ManagerError;
use crate::info::{EndReason, SessionEnd, SessionInfo};
use crate::lease::ConversationLease;
use crate::running::{MonitorTask, Running, SessionHandle};
use crate::time::Timestamp;

/// Number of logs of removed sessions that are kept for subscribers that have not read them yet.
const MAX_REMOVED_LOGS: usize = 64;

struct Entry {
    info: SessionInfo,
    running: Option<Running>,
    /// Number of the session in the order of creation in this run, from 1; 0 for one of an earlier
    /// run.
    number: u64,
}

impl Entry {
    fn is_running(&self) -> bool {
        self.info.end.is_none()
    }

    /// Returns whether the session runs at a runner and has no handle here.
    fn is_detached(&self) -> bool {
        self.is_running() && self.running.is_none()
    }

    fn info(&self) -> SessionInfo {
        let mut info = self.info.clone();
        if let (true, Some(running)) = (self.is_running(), &self.running) {
            info.state = running.log.state();
            info.pid = running.handle.pid();
        }
        info
    }
}

#[derive(Default)]
struct Entries {
    all: Vec<Entry>,
    /// Number of sessions that were created in this run.
    created: u64,
    /// Logs of sessions that were removed from the list, with the sessions' numbers.
    removed_logs: VecDeque<(u64, Arc<SessionLog>)>,
    /// Number of sessions that are being created.
    reserved: usize,
    is_closing: bool,
}

impl Entries {
    fn find(&mut self, id: ManagedId) -> Option<&mut Entry> {
        self.all.iter_mut().find(|entry| entry.info.id == id)
    }

    fn remove_at(&mut self, at: usize) -> Entry {
        let entry = self.all.remove(at);
        self.keep_log(entry.number, entry.running.as_ref());
        entry
    }

    /// Keeps the log of a session that leaves the table.
    fn keep_log(&mut self, number: u64, running: Option<&Running>) {
        if let Some(running) = running {
            let log = Arc::clone(&running.log);
            self.removed_logs.push_back((number, log));
        }
        if self.removed_logs.len() > MAX_REMOVED_LOGS {
            self.removed_logs.pop_front();
        }
    }

    fn running(&self) -> usize {
        self.all.iter().filter(|entry| entry.is_running()).count()
    }

    /// Removes the sessions that ended first, except `kept`, until at most `keep_ended` are left.
    fn remove_oldest_ended(&mut self, keep_ended: usize, kept: ManagedId) -> Vec<Entry> {
        let mut surplus = (self.all.len() - self.running()).saturating_sub(keep_ended);
        let mut removed = Vec::new();
        let mut at = 0;
        while surplus > 0
            && let Some(entry) = self.all.get(at)
        {
            if entry.is_running() || entry.info.id == kept {
                at += 1;
            } else {
                removed.push(self.remove_at(at));
                surplus -= 1;
            }
        }
        removed
    }
}

pub(super) struct Table {
    entries: Mutex<Entries>,
    max_sessions: usize,
    keep_ended: usize,
    version: watch::Sender<u64>,
    /// Notified when any session has an event, and when the table is dropped.
    notify: Arc<Notify>,
}

/// A reservation of one session under the limit. Dropping it releases it.
pub(super) struct Reservation {
    table: Arc<Table>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.table.lock().reserved -= 1;
        self.table.notify.notify_waiters();
    }
}

impl Reservation {
    /// Adds the session to the table, in place of an earlier one with its id. If the manager is
    /// closing, the session is returned instead.
    pub(super) fn insert(
        &self,
        info: SessionInfo,
        running: Running,
    ) -> Result<SessionInfo, SessionHandle> {
        let handle = running.handle.clone();
        let mut entry = Entry {
            info,
            running: Some(running),
            number: 0,
        };
        let inserted = entry.info();
        let mut entries = self.table.lock();
        if entries.is_closing {
            return Err(handle);
        }
        entries.created += 1;
        entry.number = entries.created;
        let replaced = match entries.find(inserted.id) {
            // Readers of its log keep the log: that session has ended.
            Some(earlier) => Some(std::mem::replace(earlier, entry)),
            None => {
                entries.all.push(entry);
                None
            }
        };
        drop(entries);
        drop(replaced);
        self.table.changed();
        Ok(inserted)
    }
}

impl Table {
    pub(super) fn new(
        known: Vec<SessionInfo>,
        max_sessions: usize,
        keep_ended: usize,
    ) -> Arc<Self> {
        let known = known.into_iter().map(|info| Entry {
            info,
            running: None,
            number: 0,
        });
        let entries = Entries {
            all: known.collect(),
            ..Entries::default()
        };
        Arc::new(Self {
            entries: Mutex::new(entries),
            max_sessions,
            keep_ended,
            version: watch::Sender::new(0),
            notify: Arc::default(),
        })
    }

    pub(super) fn notify(&self) -> Arc<Notify> {
        Arc::clone(&self.notify)
    }

    /// Returns a watch of the version of the list. Each change of what is kept on disk increments
    /// it.
    pub(super) fn versions(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub(super) fn version(&self) -> u64 {
        *self.version.borrow()
    }

    pub(super) fn changed(&self) {
        self.version.send_modify(|version| *version += 1);
        self.notify.notify_waiters();
    }

    /// Reserves one session under the limit.
    pub(super) fn reserve(self: &Arc<Self>) -> Result<Reservation, ManagerError> {
        let mut entries = self.lock();
        if entries.is_closing {
            return Err(ManagerError::ShuttingDown);
        }
        if entries.running() + entries.reserved >= self.max_sessions {
            let limit = self.max_sessions;
            return Err(ManagerError::MaxSessions { limit });
        }
        entries.reserved += 1;
        Ok(Reservation {
            table: Arc::clone(self),
        })
    }

    /// Adds the handle of a session that is in the list as detached. If it is not any more, or the manager is
    /// closing, the handle is returned instead.
    #[cfg(feature = "remote")]
    pub(super) fn attach(
        &self,
        id: ManagedId,
        running: Running,
    ) -> Result<SessionInfo, SessionHandle> {
        let mut entries = self.lock();
        let (is_closing, number) = (entries.is_closing, entries.created + 1);
        let entry = entries
            .find(id)
            .filter(|it| it.is_detached() && !is_closing);
        let Some(entry) = entry else {
            return Err(running.handle);
        };
        entry.running = Some(running);
        entry.number = number;
        let info = entry.info();
        entries.created = number;
        drop(entries);
        self.changed();
        Ok(info)
    }

    /// Returns the sessions that run at runners and that this host is not attached to.
    #[cfg(feature = "remote")]
    pub(super) fn detached(&self) -> Vec<SessionInfo> {
        let entries = self.lock();
        let detached = entries.all.iter().filter(|entry| entry.is_detached());
        detached.map(Entry::info).collect()
    }

    /// Returns the runner of a session and its id there, if this host is attached to it.
    pub(super) fn runner_of(
        &self,
        id: ManagedId,
    ) -> Result<Option<(Remote, SessionId)>, ManagerError> {
        let mut entries = self.lock();
        let entry = entries.find(id).ok_or(ManagerError::NotFound { id })?;
        let remote = entry.running.as_ref().and_then(|it| it.remote.clone());
        Ok(remote.zip(entry.info.runner.as_ref().map(|it| it.session)))
    }

    /// Returns the handles of the running sessions at runners, and the ids of the local ones.
    pub(super) fn by_place(&self) -> (Vec<SessionHandle>, Vec<ManagedId>) {
        let entries = self.lock();
        let (mut remote, mut local) = (Vec::new(), Vec::new());
        for entry in entries.all.iter().filter(|entry| entry.is_running()) {
            match &entry.running {
                Some(running) if running.remote.is_some() => remote.push(running.handle.clone()),
                Some(_) => local.push(entry.info.id),
                None => {}
            }
        }
        (remote, local)
    }

    /// Records the end of a session that this host is not attached to.
    #[cfg(feature = "remote")]
    pub(super) fn note_end_at_runner(&self, id: ManagedId, end: SessionEnd) {
        let mut entries = self.lock();
        let Some(entry) = entries.find(id).filter(|entry| entry.is_detached()) else {
            return;
        };
        entry.info.state = SessionState::Terminated;
        entry.info.end = Some(end);
        let removed = entries.remove_oldest_ended(self.keep_ended, id);
        drop(entries);
        self.changed();
        drop(removed);
    }

    pub(super) fn info(&self, id: ManagedId) -> Option<SessionInfo> {
        self.lock().find(id).map(|entry| entry.info())
    }

    pub(super) fn infos(&self) -> Vec<SessionInfo> {
        self.lock().all.iter().map(Entry::info).collect()
    }

    /// Returns the number of sessions that were created in this run.
    pub(super) fn created(&self) -> u64 {
        self.lock().created
    }

    /// Returns the logs of the sessions with a number above `number`, and how many more of those
    /// were removed together with their logs.
    pub(super) fn logs_since(&self, number: u64) -> (Vec<Arc<SessionLog>>, u64) {
        let entries = self.lock();
        let listed = entries
            .all
            .iter()
            .filter_map(|entry| Some((entry.number, &entry.running.as_ref()?.log)));
        let removed = entries
            .removed_logs
            .iter()
            .map(|(number, log)| (*number, log));
        let newer = listed.chain(removed).filter(|(it, _)| *it > number);
        let logs: Vec<_> = newer.map(|(_, log)| Arc::clone(log)).collect();
        let missed = (entries.created - number).saturating_sub(logs.len() as u64);
        (logs, missed)
    }

    pub(super) fn running_ids(&self) -> Vec<ManagedId> {
        let entries = self.lock();
        let running = entries.all.iter().filter(|entry| entry.is_running());
        running.map(|entry| entry.info.id).collect()
    }

    pub(super) fn handle(&self, id: ManagedId) -> Result<SessionHandle, ManagerError> {
        let mut entries = self.lock();
        let entry = entries.find(id).ok_or(ManagerError::NotFound { id })?;
        match &entry.running {
            Some(running) => Ok(running.handle.clone()),
            None if entry.is_detached() => Err(ManagerError::NotAttached { id }),
            None => Err(ManagerError::Ended { id }),
        }
    }

    pub(super) fn set_label(&self, id: ManagedId, label: String) -> Result<(), ManagerError> {
        let mut entries = self.lock();
        let entry = entries.find(id).ok_or(ManagerError::NotFound { id })?;
        entry.info.label = label;
        drop(entries);
        self.changed();
        Ok(())
    }

    /// Records that the session has entered a conversation, and keeps its lease.
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

    /// Keeps the monitor of a session until the session is removed.
    pub(super) fn set_monitor(&self, id: ManagedId, monitor: MonitorTask) {
        let mut entries = self.lock();
        if let Some(running) = entries.find(id).and_then(|entry| entry.running.as_mut()) {
            running.monitor = Some(monitor);
        }
    }

    /// Sets the reason that a session's end will have. The first reason counts.
    pub(super) fn set_end_reason(&self, id: ManagedId, reason: EndReason) {
        let mut entries = self.lock();
        if let Some(running) = entries.find(id).and_then(|entry| entry.running.as_mut()) {
            running.end_reason.get_or_insert(reason);
        }
    }

    /// Records the end of a session from its log, releases its leases, and removes the sessions that
    /// ended first if there are too many.
    pub(super) fn note_end(&self, id: ManagedId) {
        let mut entries = self.lock();
        let Some(entry) = entries.find(id).filter(|entry| entry.is_running()) else {
            return;
        };
        let Some(running) = &mut entry.running else {
            return;
        };
        running.leases.clear();
        if running.handle.is_detached() {
            entry.info.state = SessionState::Detached;
            let left = entry.running.take();
            let number = entry.number;
            entries.keep_log(number, left.as_ref());
            drop(entries);
            self.changed();
            // Without the lock, as below.
            drop(left);
            return;
        }
        entry.info.state = SessionState::Terminated;
        entry.info.end = Some(SessionEnd {
            at: Timestamp::now(),
            exit: running.log.exit().unwrap_or_default(),
            reason: running.end_reason.clone().unwrap_or(EndReason::Exited),
        });
        let removed = entries.remove_oldest_ended(self.keep_ended, id);
        drop(entries);
        self.changed();
        // Without the lock: dropping a handle may end a session, which locks the table.
        drop(removed);
    }

    /// Ends a session and waits until its end is recorded. Returns `None` for a session of an earlier
    /// run.
    pub(super) async fn end(
        &self,
        id: ManagedId,
        reason: EndReason,
    ) -> Result<Option<TerminationReport>, ManagerError> {
        let (handle, log) = {
            let mut entries = self.lock();
            let entry = entries.find(id).ok_or(ManagerError::NotFound { id })?;
            let is_detached = entry.is_detached();
            let Some(running) = &mut entry.running else {
                return match is_detached {
                    true => Err(ManagerError::NotAttached { id }),
                    false => Ok(None),
                };
            };
            if entry.info.end.is_none() {
                running.end_reason.get_or_insert(reason);
            }
            (running.handle.clone(), Arc::clone(&running.log))
        };
        let report = handle.terminate().await;
        log.ended().await;
        self.note_end(id);
        Ok(Some(report))
    }

    pub(super) fn remove(&self, id: ManagedId) -> Option<SessionInfo> {
        let mut entries = self.lock();
        let at = entries.all.iter().position(|entry| entry.info.id == id)?;
        let entry = entries.remove_at(at);
        drop(entries);
        self.changed();
        Some(entry.info())
    }

    /// Refuses new sessions from now on, and waits until those that are being created are in the
    /// table or have failed.
    pub(super) async fn close(&self) {
        self.lock().is_closing = true;
        loop {
            let notified = self.notify.notified();
            if self.lock().reserved == 0 {
                return;
            }
            notified.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.notify.notify_waiters();
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table")
            .field("sessions", &self.infos())
            .finish_non_exhaustive()
    }
}
