//! Whether there is a place for one more session.
//!
//! A runner keeps what sessions left until somebody removes it, so there may be many more folders
//! than sessions. Each folder is looked into once more than it changes: a session that has ended
//! stays so. No place is waited for: who makes a session takes one first, and others may be slow.
//! The list of all folders is read anew at most once a second while there are places and names are
//! free, so that making sessions costs the same however many there are.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bowline_transport::SessionId;

use crate::shim::{StateDir, StateDirError};

/// For how long a list of all folders is good enough to count by.
const FRESH: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Names {
    all: HashMap<SessionId, Known>,
    /// When all folders were last listed.
    looked: Option<Instant>,
}

/// The sessions that may be there at the same time.
#[derive(Clone, Debug)]
pub(super) struct Places {
    most: usize,
    known: Arc<Mutex<Names>>,
}

/// What is known of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// The session is being made.
    UnderWay,
    /// It was there when it was last looked for.
    There,
    /// It has ended, and its folder is what is left.
    Gone,
}

/// A session's place, given back when it is dropped before the session is there.
#[derive(Debug)]
pub(super) struct Place {
    id: SessionId,
    known: Arc<Mutex<Names>>,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            known: Arc::default(),
        }
    }

    pub(super) const fn most(&self) -> usize {
        self.most
    }

    /// Takes a place; `None` if as many sessions as may be are there for all that is known. Reads
    /// the folder of all sessions, so it belongs where disks are waited for.
    pub(super) fn take(
        &self,
        id: SessionId,
        state: &StateDir,
    ) -> Result<Option<Place>, StateDirError> {
        let mut known = lock(&self.known);
        let is_fresh = |at: Instant| at.elapsed() < FRESH;
        let is_good = known.looked.is_some_and(is_fresh) && !known.all.contains_key(&id);
        if !is_good || known.taken() >= self.most {
            known.look(state)?;
        }
        // Somebody else may have made it since.
        if known.all.contains_key(&id) || state.session(id).path().exists() {
            return Err(StateDirError::Exists { id });
        }
        if known.taken() >= self.most {
            return Ok(None);
        }
        known.all.insert(id, Known::UnderWay);
        let known = Arc::clone(&self.known);
        Ok(Some(Place { id, known }))
    }

    /// How many sessions there are, those that have ended too. Reads the folder of all sessions.
    pub(super) fn count(&self, state: &StateDir) -> Result<usize, StateDirError> {
        let mut known = lock(&self.known);
        known.look(state)?;
        Ok(known.all.len())
    }

    /// The sessions that were there when they were last looked for.
    pub(super) fn there(&self) -> Vec<SessionId> {
        let known = lock(&self.known);
        let there = known.all.iter();
        let there = there.filter(|(_, what)| **what == Known::There);
        there.map(|(id, _)| *id).collect()
    }

    /// Drops what is kept of sessions that were not there when they were last looked for, not even
    /// ended.
    pub(super) fn retain<T>(&self, kept: &mut HashMap<SessionId, T>) {
        let known = lock(&self.known);
        kept.retain(|id, _| known.all.contains_key(id));
    }

    /// A session has ended.
    pub(super) fn bury(&self, id: SessionId) {
        if let Some(what) = lock(&self.known).all.get_mut(&id)
            && *what == Known::There
        {
            *what = Known::Gone;
        }
    }
}

impl Names {
    /// The places that are taken.
    fn taken(&self) -> usize {
        let taken = self.all.values().filter(|what| **what != Known::Gone);
        taken.count()
    }

    /// Learns of sessions that others have made or removed.
    fn look(&mut self, state: &StateDir) -> Result<(), StateDirError> {
        let now = Instant::now();
        let found: HashSet<_> = state.sessions()?.into_iter().collect();
        let all = &mut self.all;
        all.retain(|id, what| *what == Known::UnderWay || found.contains(id));
        for found in found {
            all.entry(found).or_insert(Known::There);
        }
        self.looked = Some(now);
        Ok(())
    }
}

impl Place {
    /// The session is there and has its place for as long as it lives.
    pub(super) fn keep(self) {
        lock(&self.known).all.insert(self.id, Known::There);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut known = lock(&self.known);
        if known.all.get(&self.id) == Some(&Known::UnderWay) {
            known.all.remove(&self.id);
        }
    }
}

fn lock(known: &Mutex<Names>) -> MutexGuard<'_, Names> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Shelf {
        _folder: tempfile::TempDir,
        state: StateDir,
        places: Places,
    }

    fn shelf(most: usize) -> Shelf {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        Shelf {
            state: StateDir::at(folder.path().join("s")).unwrap(),
            _folder: folder,
            places: Places::new(most),
        }
    }

    impl Shelf {
        fn take(&self, id: SessionId) -> Result<Option<Place>, StateDirError> {
            self.places.take(id, &self.state)
        }

        /// The folder of a session that somebody else has made.
        fn find(&self) -> SessionId {
            let id = SessionId::random();
            std::fs::create_dir(self.state.session(id).path()).unwrap();
            id
        }
    }

    #[test]
    fn a_place_is_given_back_unless_it_is_kept() {
        let shelf = shelf(1);
        let (first, second) = (SessionId::random(), SessionId::random());
        let place = shelf.take(first).unwrap().unwrap();
        assert!(shelf.take(second).unwrap().is_none());
        drop(place);
        let place = shelf.take(second).unwrap().unwrap();
        std::fs::create_dir(shelf.state.session(second).path()).unwrap();
        place.keep();
        assert!(shelf.take(first).unwrap().is_none());
        assert_eq!(shelf.places.there(), [second]);
        shelf.places.bury(second);
        assert!(shelf.take(first).unwrap().is_some());
    }

    #[test]
    fn what_is_found_counts_until_it_is_known_to_have_ended() {
        let shelf = shelf(2);
        let (one, other) = (shelf.find(), shelf.find());
        assert!(shelf.take(SessionId::random()).unwrap().is_none());
        shelf.places.bury(one);
        let _place = shelf.take(SessionId::random()).unwrap().unwrap();
        assert!(shelf.take(SessionId::random()).unwrap().is_none());
        // What is removed makes room, too, and its name is free.
        std::fs::remove_dir(shelf.state.session(other).path()).unwrap();
        assert!(shelf.take(other).unwrap().is_some());
    }

    #[test]
    fn the_folder_is_not_read_for_each_session() {
        let shelf = shelf(3);
        let kept: Vec<_> = (0..2)
            .map(|_| shelf.take(SessionId::random()).unwrap().unwrap())
            .collect();
        // What others make meanwhile is learned when there seems to be no place, or in a second.
        shelf.find();
        let _third = shelf.take(SessionId::random()).unwrap().unwrap();
        assert!(shelf.take(SessionId::random()).unwrap().is_none());
        assert_eq!(shelf.places.there().len(), 1);
        drop(kept);
        assert!(shelf.take(SessionId::random()).unwrap().is_some());
    }

    #[test]
    fn a_name_is_taken_once() {
        let shelf = shelf(9);
        let id = SessionId::random();
        let place = shelf.take(id).unwrap().unwrap();
        let again = shelf.take(id);
        assert!(matches!(again, Err(StateDirError::Exists { .. })));
        drop(place);
        assert!(shelf.take(id).unwrap().is_some());
        let found = shelf.find();
        shelf.take(SessionId::random()).unwrap();
        shelf.places.bury(found);
        let again = shelf.take(found);
        assert!(matches!(again, Err(StateDirError::Exists { .. })));
    }
}
