//! What the client sends to a runner, and what it reads from there.

use serde_json::Value;

use super::{RunnerSession, RunnerSessionChange, RunnerSessionState, format_error};
use crate::core;
use crate::error::Result;
use crate::manager::SessionKind;

impl RunnerSessionChange {
    pub(super) fn into_json(self) -> Result<Vec<u8>> {
        let update = core::SessionUpdate {
            name: self.name.map(non_empty),
            metadata: self.metadata.map(non_empty),
            labels: self.labels.into_iter().collect(),
        };
        serde_json::to_vec(&update).map_err(|error| format_error(&error.to_string()))
    }
}

impl RunnerSession {
    pub(super) fn parse(it: Value) -> Result<Self> {
        let json = it.to_string();
        let summary: core::SessionSummary =
            serde_json::from_value(it).map_err(|error| format_error(&error.to_string()))?;
        let exit = summary.exit;
        Ok(Self {
            id: summary.id.to_string(),
            name: summary.name,
            kind: match summary.kind {
                core::RemoteSessionKind::Dialogue => SessionKind::Dialogue,
                core::RemoteSessionKind::Terminal => SessionKind::Shell,
            },
            program: summary.program,
            cwd: summary.cwd,
            labels: summary.labels.into_iter().collect(),
            metadata: summary.metadata,
            state: match summary.state {
                core::SessionSummaryState::Running => RunnerSessionState::Running,
                core::SessionSummaryState::Lost => RunnerSessionState::Lost,
                _ => RunnerSessionState::Exited,
            },
            pid: summary.pid,
            started_ms: summary.started_ms,
            ended_ms: summary.ended_ms,
            code: exit.and_then(|it| it.code),
            signal: exit.and_then(|it| it.signal),
            is_out_of_memory: exit.is_some_and(|it| it.oom),
            json,
        })
    }
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|it| !it.is_empty())
}
