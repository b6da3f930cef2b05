//! The client of a build without runners: none is made.

use bytes::Bytes;
use serde_json::Value;

use super::{RunnerSession, RunnerSessionChange};
use crate::core;
use crate::error::{BowlineError, Result};

impl core::Remote {
    pub(super) async fn ask(
        &self,
        _method: &str,
        _path: &str,
        _body: Bytes,
    ) -> Result<(u16, Bytes)> {
        match *self {}
    }
}

impl RunnerSessionChange {
    pub(super) fn into_json(self) -> Result<Vec<u8>> {
        Err(BowlineError::absent("change a session at a runner"))
    }
}

impl RunnerSession {
    pub(super) fn parse(_: Value) -> Result<Self> {
        Err(BowlineError::absent("query a runner"))
    }
}
