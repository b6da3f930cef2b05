//! State shared by all API endpoints.

mod attached_hosts;
mod detach_timers;
mod event_readers;
mod fold_cache;
mod limits;
mod metrics;
mod page;
mod rate_limiter;

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use bowline_lifecycle::Policy;
use bowline_transport::SessionId;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::auth::{OneTimeTicket, RequestAuth, TicketStore};
use crate::conversations::Conversations;
use crate::inspection::IndexedSession;
use crate::other_runners::OtherRunners;
use crate::sessions::SessionStore;
pub(crate) use attached_hosts::AttachedHost;
use attached_hosts::AttachedHosts;
use detach_timers::DetachTimers;
pub(crate) use event_readers::{CountedReader, EventReaders};
pub(crate) use fold_cache::{CachedFold, FoldCache, FoldUse, IdleLimits};
pub use limits::ServeLimits;
pub(crate) use metrics::EndpointMetrics;
use metrics::Metrics;
pub(crate) use metrics::{MetricsFormat, OtherCounts};
pub(crate) use page::{OpenPage, PageListener};
pub(crate) use rate_limiter::{Quota, RateLimiter};

/// Wrong tokens per second from one address before responses are delayed.
const FAILED_LOGINS_PER_SECOND: u32 = 5;

/// Delay of the response to a wrong token above that rate.
const FAILED_LOGIN_DELAY: Duration = Duration::from_secs(1);

/// One reader scrubs through a long session, so that its fold is kept whatever its size.
const IDLE_PAST: IdleLimits = IdleLimits {
    sessions: 2,
    bytes: 256 << 20,
};

/// An index has 64 bytes for each line, and the content of the session in its checkpoints.
const IDLE_INDEXES: IdleLimits = IdleLimits {
    sessions: 8,
    bytes: 64 << 20,
};

/// State shared by all API endpoints.
#[derive(Debug)]
pub(crate) struct AppState {
    pub(crate) auth: RequestAuth,
    pub(crate) sessions: Arc<SessionStore>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) limits: ServeLimits,
    pub(crate) metrics: Metrics,
    pub(crate) detach_timers: DetachTimers,
    pub(crate) attached: AttachedHosts,
    pub(crate) transcripts: FoldCache,
    /// Transcripts as they were at an offset, continued while a reader steps forward.
    pub(crate) past: FoldCache,
    /// What the inspection of sessions needs beside their transcripts.
    pub(crate) indexes: FoldCache<IndexedSession>,
    pub(crate) page: PageListener,
    pub(crate) event_readers: EventReaders,
    /// Cancelled when the daemon stops.
    pub(crate) shutdown: CancellationToken,
    /// The sessions of other runners, of a member of a fleet.
    other_runners: OnceLock<Arc<dyn OtherRunners>>,
    tickets: Mutex<TicketStore>,
    failed_logins: Mutex<RateLimiter<Option<IpAddr>>>,
    attaches: Mutex<RateLimiter<SessionId>>,
    /// Every task that serves a client holds this state, so that the daemon can wait for all of
    /// them.
    _tracked: TaskTrackerToken,
}

impl AppState {
    pub(crate) fn new(
        auth: RequestAuth,
        page: PageListener,
        sessions: Arc<SessionStore>,
        (limits, policy): (ServeLimits, Policy),
        shutdown: CancellationToken,
        tracked: TaskTrackerToken,
    ) -> Self {
        let per_second = limits.attaches_per_second;
        let failed_logins = RateLimiter::new(FAILED_LOGINS_PER_SECOND, FAILED_LOGINS_PER_SECOND);
        let attaches = RateLimiter::new(per_second.saturating_mul(2), per_second);
        let conversations = Conversations::new(
            Arc::clone(&sessions),
            policy,
            shutdown.clone(),
            tracked.clone(),
        );
        Self {
            auth,
            sessions,
            conversations: Arc::new(conversations),
            limits,
            metrics: Metrics::default(),
            detach_timers: DetachTimers::default(),
            attached: AttachedHosts::default(),
            transcripts: FoldCache::default(),
            past: FoldCache::new(IDLE_PAST),
            indexes: FoldCache::new(IDLE_INDEXES),
            page,
            event_readers: EventReaders::default(),
            shutdown,
            other_runners: OnceLock::new(),
            tickets: Mutex::new(TicketStore::new(limits.ticket_life)),
            failed_logins: Mutex::new(failed_logins),
            attaches: Mutex::new(attaches),
            _tracked: tracked,
        }
    }

    /// Sets the sessions of other runners, once.
    pub(crate) fn set_other_runners(&self, runners: Arc<dyn OtherRunners>) {
        // The first ones stay.
        let _ = self.other_runners.set(runners);
    }

    /// Returns the sessions of other runners, of a member of a fleet.
    pub(crate) fn other_runners(&self) -> Option<&Arc<dyn OtherRunners>> {
        self.other_runners.get()
    }

    /// Stores a ticket under its secret.
    pub(crate) fn issue_ticket(&self, secret: &str, ticket: OneTimeTicket) {
        self.tickets.lock().issue(secret, ticket, Instant::now());
    }

    /// Consumes and returns a ticket, if the secret is valid.
    pub(crate) fn redeem_ticket(&self, secret: &str) -> Option<OneTimeTicket> {
        self.tickets
            .lock()
            .redeem(secret.as_bytes(), Instant::now())
    }

    /// Records a wrong token and returns the delay for its response.
    pub(crate) fn failed_login_delay(&self, address: Option<IpAddr>) -> Duration {
        match self.failed_logins.lock().acquire(address, Instant::now()) {
            Ok(()) => Duration::ZERO,
            Err(_) => FAILED_LOGIN_DELAY,
        }
    }

    /// Returns how often a session may still be attached to.
    pub(crate) fn attach_quota(&self, session: SessionId) -> Quota {
        self.attaches.lock().quota(&session, Instant::now())
    }

    /// Counts an attach against the session's rate limit.
    ///
    /// # Errors
    ///
    /// Returns the time to wait if the limit is reached.
    pub(crate) fn limit_attach(&self, session: SessionId) -> Result<(), Duration> {
        self.attaches.lock().acquire(session, Instant::now())
    }
}
