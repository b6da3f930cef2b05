//! The bundles of a build without them: none is written.

use super::Redaction;
use crate::core;
use crate::error::{BowlineError, Result};

pub(crate) fn create(_known: core::Diagnostics, path: &str, _: Redaction) -> Result<()> {
    Err(BowlineError::absent(&format!("write the bundle {path}")))
}
