//! The directory of the fleet, without I/O: records, leases, ownership and claims.
//!
//! A record is changed by comparing its revision. Ownership of a session has a generation, which each takeover
//! increases. No record says that a runner or a session is dead: readers derive it from a lease that is gone.

mod choice;
mod claim;
mod index;
mod lease;
mod names;
mod ownership;
mod reach;
mod records;
#[cfg(test)]
mod tests;

pub use choice::{ChoiceError, choose_runner};
pub use claim::{ClaimDecision, ClaimRecord, decide_claim};
pub use index::{INDEX_STEP, LogIndex};
pub use lease::{Lease, LeaseReply, LeaseState, LeaseStep, RENEW_EVERY};
pub use names::{
    BadName, ConversationKey, RunnerId, file_name, link_subject, log_filter, log_subject,
    sessions_subject,
};
pub use ownership::{OwnershipDecision, decide_ownership, take_over};
pub use reach::{Reach, reach};
pub use records::{EarlierEpoch, GitState, LEASE_AGE, RunnerRecord, SessionRecord};
