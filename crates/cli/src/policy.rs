//! The policy of `bowline run` and `bowline serve`.

use std::path::Path;

use bowline_lifecycle::{Policy, default_policy_path, read_policy};

use crate::failure::Failure;

/// Reads the policy in a file, or else that of the user, if there is one.
pub(crate) fn policy(path: Option<&Path>) -> Result<Policy, Failure> {
    let own = || path.is_none().then(default_policy_path).flatten();
    let Some(path) = path.map(Path::to_owned).or_else(own) else {
        return Ok(Policy::default());
    };
    read_policy(&path).map_err(|error| Failure::usage(bowline_lifecycle::error_chain(&error)))
}
