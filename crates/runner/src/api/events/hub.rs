//! Watches all sessions on behalf of the readers of events, from the first such request on.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bowline_transport::SessionId;
use bowline_transport::wire::SessionKind;
use parking_lot::Mutex;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex as AsyncMutex, OnceCell, broadcast, watch};
use tokio::time::{sleep, timeout};
use tracing::{Instrument as _, debug, info_span, warn};

use super::feed::{PACE, SessionFeed};
use super::item::SessionPermission;
use super::source::{SessionState, wait_for_exit};
use super::table::{SessionTable, Visit};
use crate::api::problem::Problem;
use crate::api::rest::read_record;
use crate::app_state::AppState;
use crate::session_fold::random_instance;
use crate::sessions::{SessionRecord, ShimStatus, StoreEvent, summary_of};

/// Pause before a session that could not be read is read again.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// How long the first request waits for the states of all sessions.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the events of a session are kept without a reader, for one that reconnects.
const KEPT_WITHOUT_READERS: Duration = Duration::from_secs(60);

/// All sessions, for the readers of events.
#[derive(Debug)]
pub(crate) struct EventHub {
    pub(super) app: Arc<AppState>,
    /// Distinguishes the ticks of this run from those of others.
    pub(super) instance: u64,
    table: Mutex<SessionTable>,
    tick: watch::Sender<u64>,
    started: OnceCell<()>,
    settled: OnceCell<()>,
    feeds: AsyncMutex<HashMap<SessionId, Weak<SessionFeed>>>,
}

impl EventHub {
    /// Returns a hub that watches nothing until [`start`](Self::start).
    pub(crate) fn new(app: Arc<AppState>) -> Arc<Self> {
        Arc::new(Self {
            app,
            instance: random_instance(),
            table: Mutex::new(SessionTable::new()),
            tick: watch::Sender::new(0),
            started: OnceCell::new(),
            settled: OnceCell::new(),
            feeds: AsyncMutex::default(),
        })
    }

    /// Watches all sessions from now on, if that has not begun. Returns once their states are known, or after 5 s.
    pub(super) async fn start(self: &Arc<Self>) {
        self.started.get_or_init(|| self.watch_all()).await;
        let settle = || async {
            let _ = timeout(START_TIMEOUT, self.all_have_states()).await;
        };
        self.settled.get_or_init(settle).await;
    }

    async fn all_have_states(&self) {
        let mut tick = self.tick.subscribe();
        while self.table.lock().without_state() > 0 {
            if tick.changed().await.is_err() {
                return;
            }
        }
    }

    async fn watch_all(self: &Arc<Self>) {
        // Before the list, so that no session is missed.
        let events = self.app.sessions.subscribe();
        self.add_all().await;
        let hub = Arc::clone(self);
        tokio::spawn(async move {
            tokio::select! {
                () = hub.follow_store(events) => {}
                () = hub.app.shutdown.cancelled() => {}
            }
        });
    }

    /// Adds the sessions that run and are not known.
    async fn add_all(self: &Arc<Self>) {
        match self.app.sessions.records().await {
            Ok(records) => {
                let running = records
                    .into_iter()
                    .filter(|it| it.shim == ShimStatus::Running);
                running.for_each(|record| self.add(record));
            }
            Err(error) => warn!(%error, "cannot list the sessions to watch"),
        }
    }

    async fn follow_store(self: &Arc<Self>, mut events: broadcast::Receiver<StoreEvent>) {
        loop {
            match events.recv().await {
                Ok(StoreEvent::Created(id)) => {
                    if let Ok(Some(record)) = self.app.sessions.record(id).await {
                        self.add(record);
                    }
                }
                Ok(StoreEvent::Removed(id)) => self.publish(|table| table.remove(id)),
                Err(RecvError::Lagged(_)) => self.add_all().await,
                Err(RecvError::Closed) => return,
            }
        }
    }

    /// Adds a session and watches it until its end.
    fn add(self: &Arc<Self>, record: SessionRecord) {
        let summary = summary_of(&record);
        let id = summary.id;
        let mut is_new = false;
        self.publish(|table| is_new = table.create(summary));
        if !is_new {
            return;
        }
        let hub = Arc::clone(self);
        let watch = async move {
            tokio::select! {
                () = hub.watch(record) => {}
                () = hub.app.shutdown.cancelled() => {}
            }
        };
        tokio::spawn(watch.instrument(info_span!("events", session.id = %id)));
    }

    fn publish(&self, change: impl FnOnce(&mut SessionTable)) {
        let tick = {
            let mut table = self.table.lock();
            change(&mut table);
            table.tick()
        };
        self.tick.send_if_modified(|it| {
            let is_newer = tick > *it;
            *it = tick.max(*it);
            is_newer
        });
    }

    /// Publishes what happens to a session until it has ended.
    async fn watch(self: &Arc<Self>, mut record: SessionRecord) {
        let id = record.info.id;
        loop {
            let watched = match record.info.kind {
                SessionKind::Dialogue => self.watch_dialogue(&record).await,
                SessionKind::Terminal => {
                    wait_for_exit(&record.session).await;
                    Ok(())
                }
            };
            if let Err(problem) = watched {
                debug!(
                    code = problem.code,
                    detail = problem.detail,
                    "cannot read a session"
                );
            }
            match self.app.sessions.record(id).await {
                // Its removal is published by the store.
                Ok(None) => return,
                Ok(Some(latest)) if latest.has_ended() => {
                    return self.publish(|table| table.end(summary_of(&latest)));
                }
                Ok(Some(latest)) => record = latest,
                Err(error) => debug!(%error, "cannot read the record of a session"),
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Publishes the state of a dialogue whenever it changes, until its fold has ended.
    async fn watch_dialogue(self: &Arc<Self>, record: &SessionRecord) -> Result<(), Problem> {
        let feed = self.feed(record).await?;
        let mut last = None;
        loop {
            let (state, position, has_ended, growth) = feed.state().await?;
            if last != Some(position) {
                self.publish(|table| table.change(&feed, state, position));
                last = Some(position);
            }
            if has_ended {
                return Ok(());
            }
            sleep(PACE).await;
            feed.changed(position, growth).await;
        }
    }

    /// Returns the events of a session, the same for all readers while its fold lasts.
    pub(super) async fn feed(
        self: &Arc<Self>,
        record: &SessionRecord,
    ) -> Result<Arc<SessionFeed>, Problem> {
        let mut feeds = self.feeds.lock().await;
        feeds.retain(|_, feed| feed.strong_count() > 0);
        let id = record.info.id;
        if let Some(feed) = feeds.get(&id).and_then(Weak::upgrade)
            && !feed.is_outdated(record)
        {
            return Ok(feed);
        }
        drop(feeds);
        let opened = Arc::new(SessionFeed::open(&self.app, record).await?);
        let mut feeds = self.feeds.lock().await;
        if let Some(feed) = feeds.get(&id).and_then(Weak::upgrade)
            && !feed.has_ended()
        {
            return Ok(feed);
        }
        feeds.insert(id, Arc::downgrade(&opened));
        if !record.has_ended() {
            self.keep_without_readers(Arc::clone(&opened));
        }
        Ok(opened)
    }

    /// Keeps the events of a session while it has readers, and for a minute afterwards.
    fn keep_without_readers(&self, feed: Arc<SessionFeed>) {
        let shutdown = self.app.shutdown.clone();
        tokio::spawn(async move {
            let unused = async {
                while Arc::strong_count(&feed) > 1 && !feed.has_ended() {
                    sleep(KEPT_WITHOUT_READERS).await;
                }
            };
            tokio::select! {
                () = async { sleep(KEPT_WITHOUT_READERS).await; unused.await } => {}
                () = shutdown.cancelled() => {}
            }
        });
    }

    /// Returns the events of a session by its id.
    pub(super) async fn feed_of(
        self: &Arc<Self>,
        id: SessionId,
    ) -> Result<Arc<SessionFeed>, Problem> {
        let record = read_record(&self.app, id).await?;
        self.feed(&record).await
    }

    /// Waits until something is published after a tick.
    pub(super) async fn published_after(&self, tick: u64) {
        let mut newest = self.tick.subscribe();
        if newest.wait_for(|it| *it > tick).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Returns the present tick, and what a reader has to read that has had everything up to `since`.
    pub(super) fn visits(&self, since: u64) -> (u64, Vec<Visit>) {
        let table = self.table.lock();
        (table.tick(), table.visits(since))
    }

    pub(super) fn can_continue(&self, tick: u64) -> bool {
        self.table.lock().can_continue(tick)
    }

    /// Returns the open permission requests of all sessions, and the tick of their last change.
    pub(super) fn permissions(&self) -> (u64, Vec<SessionPermission>) {
        let table = self.table.lock();
        let open = table.states().flat_map(|(_, it)| it.permissions.clone());
        let mut open: Vec<_> = open.collect();
        open.sort_by_key(|it| it.request.at_ms());
        (table.permissions_changed(), open)
    }

    /// Waits until the open permission requests change after a tick.
    pub(super) async fn permissions_changed_after(&self, tick: u64) {
        let mut seen = self.table.lock().tick();
        while self.table.lock().permissions_changed() == tick {
            self.published_after(seen).await;
            seen = self.table.lock().tick();
        }
    }

    /// Returns the states of all sessions, and the present tick.
    pub(super) fn states(&self) -> (u64, Vec<(SessionId, SessionState)>) {
        let table = self.table.lock();
        let states = table.states().map(|(id, state)| (id, state.clone()));
        (table.tick(), states.collect())
    }
}
