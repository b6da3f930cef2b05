//! What many sessions have used together, against one budget.

use std::collections::HashMap;
use std::time::Duration;

use super::limit::{Budget, LimitKind, ReachedLimit, Spent};
use super::request::LimitAnswer;

/// What the sessions of a [`SharedBudget`](crate::SharedBudget) have used together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct BudgetUsage {
    /// The cost, in US dollars. `None` if an agent has not reported that of its turns.
    pub cost_usd: Option<f64>,
    /// Tokens of all models: input, output and writes to a cache.
    pub tokens: u64,
    /// Turns.
    pub turns: u64,
    /// The time since the budget was made.
    pub time: Duration,
}

/// What each session of a shared budget follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SharedState {
    /// The limit that is reached, with what was used when it was.
    pub(crate) reached: Option<ReachedLimit>,
    pub(crate) budget: Budget,
    /// Name of the client whose answer to a request set the budget.
    pub(crate) set_by: Option<String>,
    /// Number of times that the budget was set.
    pub(crate) generation: u64,
}

/// The use of a budget by many sessions.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    state: SharedState,
    /// What each session has used, those that have ended included.
    sessions: HashMap<u64, Spent>,
    /// Time since the budget was made, in milliseconds, at the last look.
    time: u64,
}

impl Ledger {
    pub(crate) fn new(budget: Budget) -> Self {
        let state = SharedState {
            budget,
            ..SharedState::default()
        };
        Self {
            state,
            ..Self::default()
        }
    }

    pub(crate) const fn state(&self) -> &SharedState {
        &self.state
    }

    /// Adds a session, and returns its number.
    pub(crate) fn join(&mut self) -> u64 {
        // Sessions are never removed.
        let number = self.sessions.len() as u64;
        self.sessions.insert(number, Spent::default());
        number
    }

    /// Sets what a session has used.
    pub(crate) fn report(&mut self, session: u64, spent: Spent) {
        self.sessions.insert(session, spent);
        self.look();
    }

    /// Sets the time since the budget was made.
    pub(crate) fn set_time(&mut self, time: Duration) {
        self.time = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.look();
    }

    pub(crate) fn set_budget(&mut self, budget: Budget, by: Option<&str>) {
        self.state.budget = budget;
        self.state.set_by = by.map(str::to_owned);
        self.state.generation += 1;
        self.look();
    }

    /// Takes an answer to the request of any session into account.
    pub(crate) fn answer(&mut self, limit: LimitKind, answer: LimitAnswer, by: Option<&str>) {
        let mut budget = self.state.budget;
        budget.apply(limit, answer);
        self.set_budget(budget, by);
    }

    pub(crate) fn usage(&self) -> BudgetUsage {
        let total = self.total();
        BudgetUsage {
            cost_usd: total.cost.map(LimitKind::usd),
            tokens: total.tokens,
            turns: total.turns,
            time: Duration::from_millis(total.time),
        }
    }

    fn look(&mut self) {
        let reached = self.state.budget.reached(&self.total());
        let same = |old: ReachedLimit| {
            reached.is_some_and(|it| (it.limit, it.allowed) == (old.limit, old.allowed))
        };
        // What was used continues to grow until all sessions have paused, which none of them needs to know.
        if !self.state.reached.is_some_and(same) {
            self.state.reached = reached;
        }
    }

    fn total(&self) -> Spent {
        let all = self.sessions.values();
        // A session without a turn has cost nothing so far.
        let cost = |it: &Spent| it.cost.or_else(|| (it.turns == 0).then_some(0));
        Spent {
            cost: all.clone().map(cost).sum(),
            tokens: all.clone().map(|it| it.tokens).sum(),
            turns: all.map(|it| it.turns).sum(),
            time: self.time,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Budget = Budget {
        cost_usd: Some(5.0),
        tokens: Some(1000),
        turns: None,
        time: Some(Duration::from_secs(60)),
    };

    fn spent(cost: Option<u64>, tokens: u64) -> Spent {
        Spent {
            cost,
            tokens,
            turns: 1,
            time: 0,
        }
    }

    fn reached(ledger: &Ledger) -> Option<(LimitKind, u64, Option<u64>)> {
        let reached = ledger.state().reached?;
        Some((reached.limit, reached.allowed, reached.spent))
    }

    #[test]
    fn sum_of_all_sessions_reaches_limit() {
        let mut ledger = Ledger::new(BUDGET);
        let [one, two] = [ledger.join(), ledger.join()];
        ledger.report(one, spent(Some(3_000_000), 10));
        ledger.report(two, spent(Some(1_900_000), 10));
        assert_eq!(reached(&ledger), None);
        ledger.report(two, spent(Some(2_000_000), 10));
        let five = (LimitKind::Cost, 5_000_000, Some(5_000_000));
        assert_eq!(reached(&ledger), Some(five));
        // A session that ends meanwhile changes nothing that others follow.
        let before = ledger.state().clone();
        ledger.report(one, spent(Some(3_500_000), 10));
        assert_eq!(*ledger.state(), before);
        let usage = ledger.usage();
        assert_eq!(
            (usage.cost_usd, usage.tokens, usage.turns),
            (Some(5.5), 20, 2)
        );
        // A raise below what was used is reached again, and asked about again.
        ledger.answer(
            LimitKind::Cost,
            LimitAnswer::Raise(5_200_000),
            Some("phone"),
        );
        let again = (LimitKind::Cost, 5_200_000, Some(5_500_000));
        assert_eq!(reached(&ledger), Some(again));
        ledger.answer(LimitKind::Cost, LimitAnswer::GoOn, Some("phone"));
        assert_eq!(reached(&ledger), None);
        assert_eq!(ledger.state().set_by.as_deref(), Some("phone"));
        ledger.report(two, spent(Some(9_000_000), 990));
        let tokens = (LimitKind::Tokens, 1000, Some(1000));
        assert_eq!(reached(&ledger), Some(tokens));
    }

    #[test]
    fn unknown_cost_of_one_session_is_unknown_in_sum() {
        let mut ledger = Ledger::new(BUDGET);
        let [one, two] = [ledger.join(), ledger.join()];
        ledger.report(one, spent(Some(1), 1));
        assert_eq!(reached(&ledger), None, "the other one has no turn");
        ledger.report(two, spent(None, 1));
        assert_eq!(reached(&ledger), Some((LimitKind::Cost, 5_000_000, None)));
        assert_eq!(ledger.usage().cost_usd, None);
    }

    #[test]
    fn time_is_that_of_the_budget() {
        let mut ledger = Ledger::new(BUDGET);
        ledger.set_time(Duration::from_millis(59_999));
        assert_eq!(reached(&ledger), None);
        ledger.set_time(Duration::from_secs(61));
        assert_eq!(
            reached(&ledger),
            Some((LimitKind::Time, 60_000, Some(61_000)))
        );
    }
}
