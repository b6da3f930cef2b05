//! What the agent asks a person, and what became of it.

mod answer;
mod record;

pub use self::answer::PermissionAnswer;
pub use self::record::{PermissionKind, PermissionRecord, Question, QuestionOption, RequestState};
