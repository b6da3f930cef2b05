//! Limits of what a session may use. At one, the session pauses and asks what to do. All of it is pure.

mod ledger;
mod limit;
mod request;

pub use ledger::BudgetUsage;
pub(crate) use ledger::{Ledger, SharedState};
pub use limit::{Budget, BudgetRecord, InvalidBudget, LimitKind, parse_time};
pub(crate) use limit::{ReachedLimit, Spent};
pub use request::LimitRequest;
pub(crate) use request::{LimitAnswer, OWN_TOOLS, USAGE_TOOL};
