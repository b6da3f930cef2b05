//! Permission requests of the agent: what was asked, how it was answered, and the one store of both.
//!
//! A session's state machine owns a [`PermissionStore`]. After each change the session publishes
//! [`Permissions`], an immutable copy that every reader shares: session handles, the registry of the
//! process, the command and the language bindings. No reader keeps a list of its own.

mod answer;
mod record;
mod store;

pub use self::answer::PermissionAnswer;
pub use self::record::{PermissionKind, PermissionRecord, Question, QuestionOption, RequestState};
pub use self::store::Permissions;
pub(crate) use self::store::{AnswerOrigin, AnswerOutcome, EncodedAnswer, PermissionStore};
