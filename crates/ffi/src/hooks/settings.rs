//! Hooks beside the settings that a host has already.

use crate::core;
use serde_json::Value;

use crate::error::{BowlineError, Outcome};
use crate::runtime::call;

/// Adds hooks, as [`HookServer::settings`](crate::HookServer::settings) gives them, to settings of the
/// agent, behind those that are there: the agent runs all of an event. Both are JSON objects, and so
/// is what comes of it.
///
/// # Errors
///
/// [`BowlineError::Configuration`] when one of them is not what the agent takes.
#[uniffi::export]
pub fn merge_settings(settings: String, hooks: String) -> Outcome<String> {
    call(|| {
        let (settings, hooks) = (json(&settings)?, json(&hooks)?);
        Ok(core::merge_settings(&settings, &hooks)?.to_string())
    })
}

fn json(text: &str) -> Outcome<Value> {
    serde_json::from_str(text).map_err(|error| BowlineError::Configuration {
        reason: format!("merge settings: {error}, give JSON objects"),
    })
}
