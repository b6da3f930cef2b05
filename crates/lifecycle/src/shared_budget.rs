//! A budget of many sessions: each reports what it has used, and pauses when their sum reaches a limit.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::budget::{
    Budget, BudgetUsage, InvalidBudget, Ledger, LimitAnswer, LimitKind, SharedState, Spent,
};

/// A budget that many sessions use up together, as [`shared_budget`](crate::DialogueConfiguration::shared_budget) of
/// each. A cheap handle.
///
/// At a limit every session pauses at its next safe point, and asks once, as for a budget of its own. An answer to
/// one of the requests is an answer to all: the others are closed with it, except that `stop` ends only the session
/// that was asked. The time is that since the budget was made.
#[derive(Clone, Debug)]
pub struct SharedBudget(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    ledger: Mutex<Ledger>,
    state: watch::Sender<SharedState>,
    start: Instant,
}

impl SharedBudget {
    /// Makes a budget of which nothing is used.
    ///
    /// # Errors
    ///
    /// A limit is no positive number.
    pub fn new(budget: Budget) -> Result<Self, InvalidBudget> {
        budget.check()?;
        let ledger = Ledger::new(budget);
        let state = watch::Sender::new(ledger.state().clone());
        Ok(Self(Arc::new(Inner {
            ledger: Mutex::new(ledger),
            state,
            start: Instant::now(),
        })))
    }

    /// Returns the limits as they are now: answers raise and remove them.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.0.ledger.lock().state().budget
    }

    /// Sets the limits. Sessions that paused at one that is not reached any more continue.
    ///
    /// # Errors
    ///
    /// A limit is no positive number.
    pub fn set_budget(&self, budget: Budget) -> Result<(), InvalidBudget> {
        budget.check()?;
        self.update(|ledger| ledger.set_budget(budget, None));
        Ok(())
    }

    /// Returns what the sessions have used together, those that have ended included.
    #[must_use]
    pub fn usage(&self) -> BudgetUsage {
        self.update(|ledger| ledger.usage())
    }

    pub(crate) fn join(&self) -> BudgetMember {
        let session = self.update(Ledger::join);
        let mut state = self.0.state.subscribe();
        // A limit may be reached already.
        state.mark_changed();
        BudgetMember {
            shared: self.clone(),
            session,
            state,
            reported: Spent::default(),
        }
    }

    /// Changes the ledger, and publishes its state if that has changed.
    fn update<T>(&self, change: impl FnOnce(&mut Ledger) -> T) -> T {
        let mut ledger = self.0.ledger.lock();
        ledger.set_time(self.0.start.elapsed());
        let changed = change(&mut ledger);
        self.0.state.send_if_modified(|known| {
            let is_news = known != ledger.state();
            if is_news {
                known.clone_from(ledger.state());
            }
            is_news
        });
        changed
    }

    /// Returns the time until the limit of the time is reached, unless a limit is.
    fn time_left(&self) -> Option<Duration> {
        let ledger = self.0.ledger.lock();
        let state = ledger.state();
        let limit = state.budget.time.filter(|_| state.reached.is_none())?;
        Some(limit.saturating_sub(self.0.start.elapsed()))
    }
}

/// A session's part of a shared budget.
#[derive(Debug)]
pub(crate) struct BudgetMember {
    shared: SharedBudget,
    session: u64,
    state: watch::Receiver<SharedState>,
    reported: Spent,
}

impl BudgetMember {
    /// Sets what the session has used. Its own time does not count.
    pub(crate) fn report(&mut self, spent: Spent) {
        let spent = Spent { time: 0, ..spent };
        if self.reported != spent {
            self.reported = spent;
            let session = self.session;
            self.shared.update(|ledger| ledger.report(session, spent));
        }
    }

    /// Applies an answer to the session's request.
    pub(crate) fn answer(&self, limit: LimitKind, answer: LimitAnswer, by: Option<&str>) {
        self.shared
            .update(|ledger| ledger.answer(limit, answer, by));
    }

    /// Waits for a change of the state, and returns it. Cancel safe.
    pub(crate) async fn changed(&mut self) -> SharedState {
        loop {
            let left = self.shared.time_left();
            let due = async {
                match left {
                    Some(left) => sleep(left).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                // `shared` has the sender, so that waiting cannot fail.
                _ = self.state.changed() => return self.state.borrow_and_update().clone(),
                () = due => self.shared.update(|_| ()),
            }
        }
    }
}
