//! Readers of events. Each has a position for itself and shares what was read; it holds one batch at a time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_transport::SessionId;
use tokio::time::{Instant, sleep, timeout_at};
use tracing::debug;

use super::cursor::{HubCursor, Position, SessionCursor};
use super::event::{Event, EventBatch, ItemInAll};
use super::feed::{Batch, Next, ReadFeed, SessionFeed};
use super::hub::EventHub;
use super::item::{Item, ItemKind, SessionHead};
use super::table::Visit;
use super::whole::WholeReader;
use crate::api::problem::Problem;
use crate::sessions::summary_of;

/// Pause before sessions that could not be read are read again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// How often a session is read before it is left for its next change.
const MAX_ATTEMPTS: u32 = 3;

/// How much earlier than its cursor a session may have ended and still be reported in the next run of the daemon.
const END_SLACK_MS: u64 = 10_000;

/// Reads the changes of one session.
#[derive(Debug)]
pub(super) struct SessionReader {
    hub: Arc<EventHub>,
    feed: ReadFeed,
    position: Position,
    /// The last batch, kept until the next read so that readers at the same position find it.
    last: Option<Arc<Batch>>,
    whole: Option<WholeReader>,
    is_paced: bool,
    is_over: bool,
}

impl SessionReader {
    pub(super) fn new(hub: Arc<EventHub>, feed: Arc<SessionFeed>, from: Position) -> Self {
        Self {
            hub,
            feed: ReadFeed::new(feed),
            position: from,
            last: None,
            whole: None,
            is_paced: false,
            is_over: false,
        }
    }

    /// Waits for the next events. `None` once the session has ended and all were returned.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Option<EventBatch>, Problem> {
        while !self.is_over {
            if self.is_paced {
                sleep(self.feed.pace()).await;
                self.is_paced = false;
            }
            if let Some(events) = self.next_part().await {
                return Ok(Some(events));
            }
            match self.read().await? {
                Next::Batch(batch) => {
                    self.is_paced = true;
                    return Ok(Some(self.advance(batch)));
                }
                Next::Whole(whole) => self.whole = Some(whole),
                Next::Nothing(growth) => self.feed.changed(self.position, growth).await,
                Next::End => return self.end().await,
            }
        }
        Ok(None)
    }

    async fn read(&mut self) -> Result<Next, Problem> {
        let next = self.feed.next(self.position).await;
        self.last = None;
        next
    }

    /// Returns the next part of a whole transcript, if it is being read.
    async fn next_part(&mut self) -> Option<EventBatch> {
        let whole = self.whole.as_mut()?;
        let feed = &self.feed;
        let part = whole.next_part(&feed.head, feed.recent_limit()).await;
        if part.is_last {
            self.position = whole.to();
            self.whole = None;
        }
        Some(part.written.events.clone())
    }

    /// Waits for the next events until a time. `None` if there are none by then, or the session has ended and all
    /// were returned.
    pub(super) async fn next_present(
        &mut self,
        until: Instant,
    ) -> Result<Option<EventBatch>, Problem> {
        while !self.is_over {
            if let Some(events) = self.next_part().await {
                return Ok(Some(events));
            }
            match self.read().await? {
                Next::Batch(batch) => return Ok(Some(self.advance(batch))),
                Next::Whole(whole) => self.whole = Some(whole),
                Next::Nothing(growth) => {
                    let changed = self.feed.changed(self.position, growth);
                    if timeout_at(until, changed).await.is_err() {
                        return Ok(None);
                    }
                }
                Next::End => {
                    self.is_over = true;
                    return Ok(Some(self.end_event()));
                }
            }
        }
        Ok(None)
    }

    /// Returns whether the last events are a part of a whole transcript, from whose middle no reader can continue.
    pub(super) const fn is_within_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Returns whether the session has ended and all was read.
    pub(super) const fn has_ended(&self) -> bool {
        self.is_over
    }

    fn end_event(&self) -> EventBatch {
        let cursor = SessionCursor {
            position: self.position,
            is_end: true,
        };
        let id = cursor.to_string();
        EventBatch::new(vec![Event { id, data: None }])
    }

    fn advance(&mut self, batch: Arc<Batch>) -> EventBatch {
        self.position = batch.to;
        let events = batch.written.events.clone();
        self.last = Some(batch);
        events
    }

    /// Ends, or continues with the fold of a new driver.
    async fn end(&mut self) -> Result<Option<EventBatch>, Problem> {
        let hub = &self.hub;
        let record = hub.app.sessions.record(self.feed.head.id).await;
        let record = record.map_err(Problem::internal)?;
        if hub.app.shutdown.is_cancelled() {
            self.is_over = true;
            return Ok(None);
        }
        if let Some(record) = record
            && !record.has_ended()
        {
            sleep(RETRY_PAUSE).await;
            self.feed = ReadFeed::new(hub.feed(&record).await?);
            return Ok(Some(EventBatch::new(Vec::new())));
        }
        self.is_over = true;
        Ok(Some(self.end_event()))
    }
}

/// Which events a reader of all sessions wants.
pub(super) type Kinds = HashSet<ItemKind>;

/// Reads the events of all sessions.
#[derive(Debug)]
pub(super) struct HubReader {
    hub: Arc<EventHub>,
    kinds: Kinds,
    /// Everything up to this tick was returned.
    tick: u64,
    /// Sessions that ended after this time are reported at the beginning; 0 if none is.
    ended_since_ms: u64,
    positions: HashMap<SessionId, Position>,
    /// What remains to be read up to a tick.
    visits: VecDeque<Visit>,
    until: u64,
    whole: Option<WholeReader>,
    /// Whether the beginning is to be prepared.
    is_new: bool,
    /// How often the first of the visits failed.
    failures: u32,
}

impl HubReader {
    /// Begins at a cursor. One of another run, or that is too old, begins anew.
    pub(super) fn new(hub: Arc<EventHub>, kinds: Kinds, cursor: Option<HubCursor>) -> Self {
        let cursor = cursor.unwrap_or_default();
        let continues =
            cursor.tick > 0 && cursor.instance == hub.instance && hub.can_continue(cursor.tick);
        Self {
            hub,
            kinds,
            tick: if continues { cursor.tick } else { 0 },
            ended_since_ms: cursor.at_ms,
            positions: HashMap::new(),
            visits: VecDeque::new(),
            until: 0,
            whole: None,
            is_new: !continues,
            failures: 0,
        }
    }

    /// Waits for the next events.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Vec<Event>, Problem> {
        loop {
            if self.visits.is_empty() {
                self.prepare().await?;
            }
            let before = self.cursor();
            let items = self.step().await;
            if self.visits.is_empty() {
                self.tick = self.until;
            }
            let events = self.events(&items, &before);
            if !events.is_empty() {
                return Ok(events);
            }
        }
    }

    /// Waits for sessions to visit.
    async fn prepare(&mut self) -> Result<(), Problem> {
        if self.is_new {
            let ended = self.recently_ended().await?;
            self.is_new = false;
            self.visits.extend(ended);
        } else {
            self.hub.published_after(self.tick).await;
        }
        let (until, visits) = self.hub.visits(self.tick);
        self.until = until;
        self.visits.extend(visits);
        Ok(())
    }

    /// Returns the sessions that ended since the reader was connected to another run of the daemon.
    async fn recently_ended(&self) -> Result<Vec<Visit>, Problem> {
        if self.ended_since_ms == 0 {
            return Ok(Vec::new());
        }
        let since = self.ended_since_ms.saturating_sub(END_SLACK_MS);
        let records = self.hub.app.sessions.records().await;
        let records = records.map_err(Problem::internal)?;
        let ended = records.iter().filter(|it| it.has_ended());
        // The time of a kill is not recorded.
        let ended = ended.filter(|it| it.info.ended_ms.is_none_or(|at| at >= since));
        Ok(ended.map(|it| Visit::of_ended(&summary_of(it))).collect())
    }

    /// Reads the next part of the next session.
    async fn step(&mut self) -> Vec<ItemInAll> {
        let Some(visit) = self.visits.front_mut() else {
            return Vec::new();
        };
        let head = SessionHead::anonymous(visit.id);
        if let Some(created) = visit.created.take() {
            return shown(&head, [created]);
        }
        match self.read().await {
            Ok((items, false)) => items,
            Ok((items, true)) => [items, self.leave()].concat(),
            Err(problem) => self.failed(&problem).await,
        }
    }

    /// Ends the visit of a session, with its last events.
    fn leave(&mut self) -> Vec<ItemInAll> {
        self.failures = 0;
        let Some(visit) = self.visits.pop_front() else {
            return Vec::new();
        };
        if visit.ended.is_some() || visit.removed.is_some() {
            self.positions.remove(&visit.id);
        }
        let items = visit.ended.into_iter().chain(visit.removed);
        shown(&SessionHead::anonymous(visit.id), items)
    }

    /// Repeats a failed read later. Then the session is left for its next change, with which it begins anew.
    async fn failed(&mut self, problem: &Problem) -> Vec<ItemInAll> {
        debug!(
            code = problem.code,
            detail = problem.detail,
            "cannot read events"
        );
        let is_final = matches!(problem.code, "SESSION_NOT_FOUND" | "NO_LOG");
        self.failures += 1;
        if self.failures < MAX_ATTEMPTS && !is_final {
            sleep(RETRY_PAUSE).await;
            return Vec::new();
        }
        self.whole = None;
        if let Some(visit) = self.visits.front() {
            self.positions.insert(visit.id, Position::NONE);
        }
        self.leave()
    }

    /// Reads a batch of the session that is visited. Returns whether the reader is where the visit ends.
    async fn read(&mut self) -> Result<(Vec<ItemInAll>, bool), Problem> {
        let wants_changes = self.kinds.contains(&ItemKind::Change);
        let Some(visit) = self.visits.front_mut() else {
            return Ok((Vec::new(), true));
        };
        let (id, until) = (visit.id, visit.until);
        if visit.reads_log && wants_changes && visit.feed.is_none() {
            visit.feed = Some(self.hub.feed_of(id).await?);
        }
        let Some(feed) = &visit.feed else {
            return Ok((Vec::new(), true));
        };
        if let Some(whole) = &mut self.whole {
            let part = whole.next_part(&feed.head, feed.recent_limit()).await;
            if part.is_last {
                self.positions.insert(id, whole.to());
                self.whole = None;
            }
            return Ok((part.written.in_all(&feed.head).to_vec(), false));
        }
        let from = *self.positions.get(&id).unwrap_or(&visit.from);
        let reads_log = visit.reads_log;
        let is_there = |it: Position| {
            it.instance == until.instance && it.revision >= until.revision && !reads_log
        };
        if is_there(from) {
            return Ok((Vec::new(), true));
        }
        if from.instance != until.instance
            && !wants_changes
            && let Some(state) = &visit.state
        {
            // The reader did not request the content.
            let permissions = state.permissions.iter();
            let permissions = permissions.map(|it| feed.head.permission_item(it));
            let phase = feed.head.phase_item(&state.phase);
            let items = shown(&feed.head, permissions.chain([phase]));
            self.positions.insert(id, until);
            return Ok((items, true));
        }
        match feed.next(from).await? {
            Next::Batch(batch) => {
                self.positions.insert(id, batch.to);
                let items = batch.written.in_all(&feed.head).to_vec();
                Ok((items, is_there(batch.to)))
            }
            Next::Whole(whole) => {
                self.whole = Some(whole);
                Ok((Vec::new(), false))
            }
            Next::Nothing(_) | Next::End => Ok((Vec::new(), true)),
        }
    }

    fn cursor(&self) -> HubCursor {
        HubCursor {
            instance: self.hub.instance,
            tick: self.tick,
            at_ms: match self.tick {
                // The beginning is repeated as it was.
                0 => self.ended_since_ms,
                _ => now_ms(),
            },
        }
    }

    /// Returns the events that are wanted. A reader that loses its connection before the last one reads all of them
    /// again.
    fn events(&self, items: &[ItemInAll], before: &HubCursor) -> Vec<Event> {
        let wanted = items.iter().filter(|(_, kind)| self.kinds.contains(kind));
        let wanted: Vec<_> = wanted.map(|(data, _)| data.clone()).collect();
        let last = wanted.len().saturating_sub(1);
        let event = |(place, data)| Event {
            id: if place == last {
                self.cursor()
            } else {
                *before
            }
            .to_string(),
            data: Some(data),
        };
        wanted.into_iter().enumerate().map(event).collect()
    }
}

fn shown(head: &SessionHead, items: impl IntoIterator<Item = Item>) -> Vec<ItemInAll> {
    let items = items.into_iter();
    items.map(|it| (head.in_all(&it), it.kind)).collect()
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |it| it.as_millis() as u64)
}
