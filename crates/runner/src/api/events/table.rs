//! The states of the sessions whose events are read, and the ticks of their publication; pure.
//!
//! A tick counts what was published, over all sessions. A reader that has had everything up to a tick continues with
//! the sessions that changed since. Where it was in each of them is known from marks, a few for each session, so that
//! its cursor is one number. A mark may be older than what the reader has: changes may be repeated, since each
//! is a new state.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bowline_transport::wire::SessionKind;
use bowline_transport::{SessionId, SessionSummary};

use super::cursor::Position;
use super::feed::SessionFeed;
use super::item::{Item, ItemKind, SessionHead};
use super::source::SessionState;

/// Maximum number of marks of a session.
const MAX_MARKS: usize = 64;

/// Maximum number of sessions that are kept after their end, and of those that are kept after their removal.
const MAX_GONE: usize = 256;

/// The sessions, and what was published of them.
#[derive(Debug, Default)]
pub(super) struct SessionTable {
    tick: u64,
    sessions: BTreeMap<SessionId, KnownSession>,
    removed: VecDeque<(u64, SessionId)>,
    /// What ended or was removed up to this tick is no longer known.
    forgotten: u64,
    /// When the open permission requests changed.
    permissions_changed: u64,
}

/// A session.
#[derive(Debug)]
struct KnownSession {
    summary: SessionSummary,
    created: u64,
    changed: u64,
    ended: Option<u64>,
    feed: Option<Arc<SessionFeed>>,
    state: Option<SessionState>,
    marks: Marks,
}

/// What a reader has to read of a session.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    pub(super) id: SessionId,
    /// The event that names the session, if the reader does not know it.
    pub(super) created: Option<Item>,
    pub(super) feed: Option<Arc<SessionFeed>>,
    /// Whether all of its log is reported, since it ended before this run of the daemon.
    pub(super) reads_log: bool,
    pub(super) state: Option<SessionState>,
    /// Where the reader continues if it does not know.
    pub(super) from: Position,
    /// Where it is to be at least.
    pub(super) until: Position,
    /// The event at its end, if it has ended.
    pub(super) ended: Option<Item>,
    /// The event of its removal, if it was removed.
    pub(super) removed: Option<Item>,
}

impl SessionTable {
    /// An empty one. A reader that has had nothing is at tick 0, and one that has seen that nothing is there at 1.
    pub(super) fn new() -> Self {
        Self {
            tick: 1,
            ..Self::default()
        }
    }

    pub(super) const fn tick(&self) -> u64 {
        self.tick
    }

    pub(super) const fn permissions_changed(&self) -> u64 {
        self.permissions_changed
    }

    pub(super) fn contains(&self, id: SessionId) -> bool {
        self.sessions.contains_key(&id)
    }

    /// Adds a session. Returns whether it is new.
    pub(super) fn create(&mut self, summary: SessionSummary) -> bool {
        if self.contains(summary.id) {
            return false;
        }
        self.tick += 1;
        let known = KnownSession {
            created: self.tick,
            changed: self.tick,
            ended: None,
            feed: None,
            state: None,
            marks: Marks::default(),
            summary,
        };
        self.sessions.insert(known.summary.id, known);
        true
    }

    /// Publishes the state of a session.
    pub(super) fn change(
        &mut self,
        feed: &Arc<SessionFeed>,
        state: SessionState,
        position: Position,
    ) {
        let Some(known) = self.sessions.get_mut(&feed.head.id) else {
            return;
        };
        self.tick += 1;
        let before = known.state.as_ref().map(|it| &it.permissions[..]);
        if before.unwrap_or_default() != state.permissions {
            self.permissions_changed = self.tick;
        }
        known.changed = self.tick;
        known.feed = Some(Arc::clone(feed));
        known.state = Some(state);
        known.marks.add(self.tick, position);
    }

    /// Publishes the end of a session.
    pub(super) fn end(&mut self, summary: SessionSummary) {
        let Some(known) = self.sessions.get_mut(&summary.id) else {
            return;
        };
        self.tick += 1;
        if known
            .state
            .as_ref()
            .is_some_and(|it| !it.permissions.is_empty())
        {
            self.permissions_changed = self.tick;
        }
        if let Some(state) = &mut known.state {
            state.permissions.clear();
        }
        known.summary = summary;
        known.changed = self.tick;
        known.ended = Some(self.tick);
        self.forget_ended();
    }

    /// Forgets the sessions that ended first of too many.
    fn forget_ended(&mut self) {
        let ended = self.sessions.iter();
        let ended = ended.filter_map(|(id, it)| Some((it.ended?, *id)));
        let mut ended: Vec<_> = ended.collect();
        ended.sort_unstable();
        for (tick, id) in &ended[..ended.len().saturating_sub(MAX_GONE)] {
            self.sessions.remove(id);
            self.forgotten = self.forgotten.max(*tick);
        }
    }

    /// Publishes the removal of a session.
    pub(super) fn remove(&mut self, id: SessionId) {
        self.tick += 1;
        if let Some(known) = self.sessions.remove(&id)
            && known.state.is_some_and(|it| !it.permissions.is_empty())
        {
            self.permissions_changed = self.tick;
        }
        self.removed.push_back((self.tick, id));
        if self.removed.len() > MAX_GONE
            && let Some((tick, _)) = self.removed.pop_front()
        {
            self.forgotten = self.forgotten.max(tick);
        }
    }

    /// Returns whether a reader that has had everything up to a tick can continue there.
    pub(super) const fn can_continue(&self, tick: u64) -> bool {
        tick >= self.forgotten && tick <= self.tick
    }

    /// Returns what a reader has to read that has had everything up to a tick, in the order in which it was
    /// published; for 0 the sessions that have not ended.
    pub(super) fn visits(&self, since: u64) -> Vec<Visit> {
        let changed = self.sessions.values().filter(|it| it.changed > since);
        let mut visits: Vec<_> = changed
            .filter(|it| since > 0 || it.ended.is_none())
            .map(|it| (it.changed, it.visit(since)))
            .collect();
        let removed = self
            .removed
            .iter()
            .filter(|(tick, _)| since > 0 && *tick > since);
        visits.extend(removed.map(|(tick, id)| (*tick, Visit::of_removed(*id))));
        visits.sort_by_key(|(tick, _)| *tick);
        visits.into_iter().map(|(_, visit)| visit).collect()
    }

    /// Returns the states of the sessions.
    pub(super) fn states(&self) -> impl Iterator<Item = (SessionId, &SessionState)> {
        let states = self.sessions.iter();
        states.filter_map(|(id, known)| Some((*id, known.state.as_ref()?)))
    }

    /// Returns the sessions that run, and of which no state was published.
    pub(super) fn without_state(&self) -> usize {
        let sessions = self.sessions.values();
        let is_expected = |it: &&KnownSession| {
            it.state.is_none() && it.ended.is_none() && it.summary.kind == SessionKind::Dialogue
        };
        sessions.filter(is_expected).count()
    }
}

impl KnownSession {
    fn visit(&self, since: u64) -> Visit {
        let head = SessionHead::of(&self.summary);
        let is_new = self.created > since;
        let has_ended = self.ended.is_some_and(|tick| tick > since);
        Visit {
            id: head.id,
            created: is_new.then(|| head.item(ItemKind::Created, &self.summary)),
            feed: self.feed.clone(),
            reads_log: false,
            state: self.state.clone(),
            from: self.marks.before(since),
            until: self.marks.last(),
            ended: has_ended.then(|| head.item(ItemKind::Ended, &self.summary)),
            removed: None,
        }
    }
}

impl Visit {
    /// A session that ended before this run of the daemon.
    pub(super) fn of_ended(summary: &SessionSummary) -> Self {
        let head = SessionHead::of(summary);
        Self {
            created: Some(head.item(ItemKind::Created, summary)),
            reads_log: summary.kind == SessionKind::Dialogue,
            ended: Some(head.item(ItemKind::Ended, summary)),
            ..Self::nothing(head.id)
        }
    }

    fn of_removed(id: SessionId) -> Self {
        let head = SessionHead::anonymous(id);
        Self {
            removed: Some(head.item(ItemKind::Removed, &())),
            ..Self::nothing(id)
        }
    }

    const fn nothing(id: SessionId) -> Self {
        Self {
            id,
            created: None,
            feed: None,
            reads_log: false,
            state: None,
            from: Position::NONE,
            until: Position::NONE,
            ended: None,
            removed: None,
        }
    }
}

/// Where a session was at some ticks: the older, the fewer.
#[derive(Debug, Default)]
struct Marks(Vec<(u64, Position)>);

impl Marks {
    fn add(&mut self, tick: u64, position: Position) {
        // What another fold had is no place in this one.
        self.0.retain(|(_, it)| it.instance == position.instance);
        self.0.push((tick, position));
        if self.0.len() > MAX_MARKS {
            let older = MAX_MARKS / 2;
            let mut place = 0;
            self.0.retain(|_| {
                place += 1;
                place == 1 || place > older || place % 2 == 0
            });
        }
    }

    fn last(&self) -> Position {
        self.0.last().map(|(_, it)| *it).unwrap_or_default()
    }

    /// Returns a place at which the session was at a tick or before.
    fn before(&self, tick: u64) -> Position {
        let marks = self.0.iter().rev();
        let mut before = marks.filter(|(it, _)| *it <= tick);
        before.next().map(|(_, it)| *it).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(revision: u64) -> Position {
        Position {
            instance: 1,
            revision,
        }
    }

    #[test]
    fn mark_is_never_past_what_a_reader_has() {
        let mut marks = Marks::default();
        for n in 1..=10_000 {
            marks.add(10 * n, at(n));
        }
        assert!(marks.0.len() <= MAX_MARKS, "{}", marks.0.len());
        assert_eq!(marks.last(), at(10_000));
        for tick in (0..=100_000).step_by(7) {
            let place = marks.before(tick);
            assert!(place.revision <= tick / 10, "{tick}: {place:?}");
            // The first one is kept, so that no history is taken for lost.
            assert!(tick < 10 || place.instance == 1, "{tick}");
        }
        assert_eq!(marks.before(99_999), at(9_999), "recent ones are exact");
        marks.add(
            100_001,
            Position {
                instance: 2,
                revision: 3,
            },
        );
        assert_eq!(marks.before(100_000), Position::default());
    }

    fn summary(id: SessionId) -> SessionSummary {
        serde_json::from_value(serde_json::json!({
            "id": id, "name": null, "kind": "terminal", "stdio": "pty", "program": "/bin/sh", "cwd": null,
            "labels": {}, "state": "running", "epoch": "00000000000000000000000000000001", "pid": null,
            "started_ms": 0, "ended_ms": null, "exit": null,
        }))
        .unwrap()
    }

    fn names(visits: &[Visit]) -> Vec<(SessionId, Vec<ItemKind>)> {
        let kinds = |it: &Visit| {
            let items = [&it.created, &it.ended, &it.removed];
            items.into_iter().flatten().map(|it| it.kind).collect()
        };
        visits.iter().map(|it| (it.id, kinds(it))).collect()
    }

    #[test]
    fn reader_gets_what_was_published_after_its_tick() {
        let mut table = SessionTable::new();
        let (one, other) = (SessionId::random(), SessionId::random());
        assert!(table.create(summary(one)));
        let before = table.tick();
        assert!(table.create(summary(other)));
        assert!(!table.create(summary(other)));
        assert_eq!(
            names(&table.visits(before)),
            [(other, vec![ItemKind::Created])]
        );
        table.end(summary(one));
        let kinds = [
            (other, vec![ItemKind::Created]),
            (one, vec![ItemKind::Ended]),
        ];
        assert_eq!(names(&table.visits(before)), kinds);
        // A new reader is not interested in what has ended.
        assert_eq!(names(&table.visits(0)), [(other, vec![ItemKind::Created])]);
        table.remove(one);
        assert_eq!(
            names(&table.visits(before))[1],
            (one, vec![ItemKind::Removed])
        );
        assert!(table.visits(table.tick()).is_empty());
    }

    #[test]
    fn ended_sessions_are_bounded_and_their_loss_is_known() {
        let mut table = SessionTable::new();
        for _ in 0..MAX_GONE {
            let id = SessionId::random();
            table.create(summary(id));
            table.end(summary(id));
        }
        let before = table.tick();
        assert!(table.can_continue(1));
        let id = SessionId::random();
        table.create(summary(id));
        table.end(summary(id));
        assert_eq!(table.sessions.len(), MAX_GONE);
        assert!(!table.can_continue(1));
        assert!(table.can_continue(before));
        assert!(!table.can_continue(table.tick() + 1), "not of this run");
    }
}
