//! Permission requests: their text, the user's answers, and the policy without a user.

mod format;
mod prompt;
mod request;

pub(crate) use format::state_label;
pub(crate) use prompt::{PermissionPolicy, PermissionPrompt, has_user};
