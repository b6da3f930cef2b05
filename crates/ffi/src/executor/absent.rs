//! The executor of a build without hooks: none starts.

use std::sync::Arc;

use super::{
    CommandOutcome, ExecutorCommand, ExecutorConfiguration, HostTerminal, TerminalExecutor,
    TerminalOutput,
};
use crate::core;
use crate::error::{BowlineError, Result};
use crate::hooks::HookReport;

/// A terminal of the host, which runs no command.
#[derive(Debug)]
pub(super) enum HostTerminalBridge {}

impl HostTerminalBridge {
    pub(super) fn command_ended(&self, _run: u64, _output: TerminalOutput) -> bool {
        match *self {}
    }
}

impl TerminalExecutor {
    pub(crate) async fn start(
        _configuration: ExecutorConfiguration,
        _agent: Option<String>,
        _terminal: Option<Arc<dyn HostTerminal>>,
    ) -> Result<Arc<Self>> {
        Err(BowlineError::absent("start an executor"))
    }

    pub(super) fn command(&self, _command: ExecutorCommand) -> Result<core::ExecutorCommand> {
        Err(BowlineError::absent(&format!("run {}", self.agent)))
    }
}

/// What an executor reports at its end.
pub(super) struct Cleanup {
    pub(super) hooks: HookReport,
}

impl core::TerminalExecutor {
    pub(super) fn conversation(&self) -> Option<String> {
        match *self {}
    }

    pub(super) fn subscribe(&self) -> Option<core::HookSubscription> {
        match *self {}
    }

    pub(super) fn questions(&self) -> Option<core::HookQuestions> {
        match *self {}
    }

    pub(super) async fn execute(&self, _command: core::ExecutorCommand) -> Result<CommandOutcome> {
        match *self {}
    }

    pub(super) async fn cleanup(&self) -> Cleanup {
        match *self {}
    }
}

impl core::PtyTerminal {
    pub(super) fn running(&self, _session: &str) -> Option<core::TerminalSession> {
        match *self {}
    }

    pub(super) fn raw_output(&self, _session: &str, _from: u64) -> core::RawOutput {
        match *self {}
    }

    pub(super) fn resize(&self, _session: &str, _size: core::WindowSize) {
        match *self {}
    }
}
