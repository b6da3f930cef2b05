//! Permission requests: their text, the user's answers, and the policy without a user.

mod diff;
mod format;
mod prompt;
mod request;

pub(crate) use format::state_label;
pub(crate) use prompt::{PermissionPolicy, PermissionPrompt, has_user};
pub(crate) use request::OpenRequest;
