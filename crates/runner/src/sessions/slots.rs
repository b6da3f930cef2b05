//! The limit on concurrently running sessions.
//!
//! The folders of ended sessions stay until they are removed, so there may be many more folders
//! than running sessions. A session that has ended never runs again, so each folder is examined
//! only until then. A slot is reserved before a session is created, so that slow starts count. The
//! state folder is listed at most once per second while slots and ids are free, so that the cost of
//! a session does not grow with their number.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_transport::SessionId;
use parking_lot::Mutex;

use crate::shim::{StateDir, StateDirError};

/// How long a listing of the state folder is reused.
const LISTING_LIFE: Duration = Duration::from_secs(1);

/// Tracks the sessions of a state folder against the limit.
#[derive(Clone, Debug)]
pub(super) struct SessionSlots {
    limit: usize,
    table: Arc<Mutex<SlotTable>>,
}

#[derive(Debug, Default)]
struct SlotTable {
    sessions: HashMap<SessionId, SlotState>,
    /// When the state folder was last listed.
    listed: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotState {
    /// The session is being created.
    Reserved,
    /// The session existed at the last listing.
    Occupied,
    /// The session has ended; its folder exists.
    Ended,
}

/// A reserved slot, freed on drop unless it is [occupied](Self::occupy).
#[derive(Debug)]
pub(super) struct SlotReservation {
    id: SessionId,
    table: Arc<Mutex<SlotTable>>,
}

impl SessionSlots {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            table: Arc::default(),
        }
    }

    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    /// Reserves a slot; `None` if the limit is reached as far as known. Blocks on disk reads.
    ///
    /// # Errors
    ///
    /// Fails if the id is taken or the state folder cannot be listed.
    pub(super) fn reserve(
        &self,
        id: SessionId,
        state: &StateDir,
    ) -> Result<Option<SlotReservation>, StateDirError> {
        let mut table = self.table.lock();
        if table.sessions.get(&id) != Some(&SlotState::Reserved) {
            state.session(id).remove_if_abandoned();
        }
        let is_fresh = |at: Instant| at.elapsed() < LISTING_LIFE;
        let is_current = table.listed.is_some_and(is_fresh) && !table.sessions.contains_key(&id);
        if !is_current || table.in_use() >= self.limit {
            table.refresh(state)?;
        }
        // Another process may have created it since the listing.
        if table.sessions.contains_key(&id) || state.session(id).path().exists() {
            return Err(StateDirError::Exists { id });
        }
        if table.in_use() >= self.limit {
            return Ok(None);
        }
        table.sessions.insert(id, SlotState::Reserved);
        let table = Arc::clone(&self.table);
        Ok(Some(SlotReservation { id, table }))
    }

    /// Counts all sessions, including those that have ended. Blocks on disk reads.
    pub(super) fn count(&self, state: &StateDir) -> Result<usize, StateDirError> {
        let mut table = self.table.lock();
        table.refresh(state)?;
        Ok(table.sessions.len())
    }

    /// Returns the sessions that existed at the last listing and are not known to have ended.
    pub(super) fn not_known_to_have_ended(&self) -> Vec<SessionId> {
        let table = self.table.lock();
        let occupied = table.sessions.iter();
        let occupied = occupied.filter(|(_, slot)| **slot == SlotState::Occupied);
        occupied.map(|(id, _)| *id).collect()
    }

    /// Drops the entries of sessions that did not exist at the last listing.
    pub(super) fn retain_existing<T>(&self, entries: &mut HashMap<SessionId, T>) {
        let table = self.table.lock();
        entries.retain(|id, _| table.sessions.contains_key(id));
    }

    /// Frees the slot of a session that has ended.
    pub(super) fn free(&self, id: SessionId) {
        if let Some(slot) = self.table.lock().sessions.get_mut(&id)
            && *slot == SlotState::Occupied
        {
            *slot = SlotState::Ended;
        }
    }
}

impl SlotTable {
    fn in_use(&self) -> usize {
        let in_use = self.sessions.values();
        in_use.filter(|slot| **slot != SlotState::Ended).count()
    }

    /// Lists the state folder to find sessions that other processes created or removed.
    fn refresh(&mut self, state: &StateDir) -> Result<(), StateDirError> {
        let now = Instant::now();
        let found: HashSet<_> = state.sessions()?.into_iter().collect();
        self.sessions
            .retain(|id, slot| *slot == SlotState::Reserved || found.contains(id));
        for id in found {
            self.sessions.entry(id).or_insert(SlotState::Occupied);
        }
        self.listed = Some(now);
        Ok(())
    }
}

impl SlotReservation {
    /// Keeps the slot for as long as the session runs.
    pub(super) fn occupy(self) {
        let mut table = self.table.lock();
        table.sessions.insert(self.id, SlotState::Occupied);
    }
}

impl Drop for SlotReservation {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        if table.sessions.get(&self.id) == Some(&SlotState::Reserved) {
            table.sessions.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture {
        _folder: tempfile::TempDir,
        state: StateDir,
        slots: SessionSlots,
    }

    fn fixture(limit: usize) -> Fixture {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        Fixture {
            state: StateDir::at(folder.path().join("s")).unwrap(),
            _folder: folder,
            slots: SessionSlots::new(limit),
        }
    }

    impl Fixture {
        fn reserve(&self, id: SessionId) -> Result<Option<SlotReservation>, StateDirError> {
            self.slots.reserve(id, &self.state)
        }

        /// Creates a session's folder as another process does.
        fn create_elsewhere(&self) -> SessionId {
            let id = SessionId::random();
            let folder = self.state.session(id).path().to_owned();
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("info.json"), "{}").unwrap();
            id
        }
    }

    #[test]
    fn dropped_reservation_frees_slot() {
        let fixture = fixture(1);
        let (first, second) = (SessionId::random(), SessionId::random());
        let slot = fixture.reserve(first).unwrap().unwrap();
        assert!(fixture.reserve(second).unwrap().is_none());
        drop(slot);
        let slot = fixture.reserve(second).unwrap().unwrap();
        std::fs::create_dir(fixture.state.session(second).path()).unwrap();
        slot.occupy();
        assert!(fixture.reserve(first).unwrap().is_none());
        assert_eq!(fixture.slots.not_known_to_have_ended(), [second]);
        fixture.slots.free(second);
        assert!(fixture.reserve(first).unwrap().is_some());
    }

    #[test]
    fn found_sessions_count_until_they_end() {
        let fixture = fixture(2);
        let (one, other) = (fixture.create_elsewhere(), fixture.create_elsewhere());
        assert!(fixture.reserve(SessionId::random()).unwrap().is_none());
        fixture.slots.free(one);
        let _slot = fixture.reserve(SessionId::random()).unwrap().unwrap();
        assert!(fixture.reserve(SessionId::random()).unwrap().is_none());
        // Removing a session frees its slot and its id.
        std::fs::remove_dir_all(fixture.state.session(other).path()).unwrap();
        assert!(fixture.reserve(other).unwrap().is_some());
    }

    #[test]
    fn folder_is_listed_again_only_at_the_limit() {
        let fixture = fixture(3);
        let kept: Vec<_> = (0..2)
            .map(|_| fixture.reserve(SessionId::random()).unwrap().unwrap())
            .collect();
        fixture.create_elsewhere();
        let _third = fixture.reserve(SessionId::random()).unwrap().unwrap();
        assert!(fixture.reserve(SessionId::random()).unwrap().is_none());
        assert_eq!(fixture.slots.not_known_to_have_ended().len(), 1);
        drop(kept);
        assert!(fixture.reserve(SessionId::random()).unwrap().is_some());
    }

    #[test]
    fn id_is_unique() {
        let fixture = fixture(9);
        let id = SessionId::random();
        let slot = fixture.reserve(id).unwrap();
        let again = fixture.reserve(id);
        assert!(matches!(again, Err(StateDirError::Exists { .. })));
        drop(slot);
        assert!(fixture.reserve(id).unwrap().is_some());
        let found = fixture.create_elsewhere();
        fixture.reserve(SessionId::random()).unwrap();
        fixture.slots.free(found);
        let again = fixture.reserve(found);
        assert!(matches!(again, Err(StateDirError::Exists { .. })));
    }
}
