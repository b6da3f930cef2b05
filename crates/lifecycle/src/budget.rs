//! Limits of what a session may use. At one, the session pauses and asks what to do. All of it is pure.

mod limit;
mod request;

pub(crate) use limit::Spent;
pub use limit::{Budget, BudgetRecord, InvalidBudget, LimitKind, parse_time};
pub use request::LimitRequest;
pub(crate) use request::{LimitAnswer, OWN_TOOLS, USAGE_TOOL};
