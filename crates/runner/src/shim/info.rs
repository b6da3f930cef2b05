//! What is known of a session without asking its shim.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bowline_transport::wire::{Epoch, ExitNotice, SessionKind, StdioKind};
use bowline_transport::{Containment, SessionId};
use serde::{Deserialize, Serialize};

use super::SessionSpec;

/// A session as its folder has it (`info.json`). Written by its shim at the start and at the end;
/// arguments and variables are not in it, since they may have secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// The session.
    pub id: SessionId,
    /// Its name for people.
    pub name: Option<String>,
    /// What it is for.
    pub kind: SessionKind,
    /// What the child's standard streams are.
    pub stdio: StdioKind,
    /// What was started.
    pub program: String,
    /// Where; `None` if nobody said.
    pub cwd: Option<PathBuf>,
    /// Whatever the host wants to find it by.
    pub labels: BTreeMap<String, String>,
    /// This incarnation of the child.
    pub epoch: Epoch,
    /// The shim's process.
    pub shim_pid: u32,
    /// The child's process.
    pub pid: Option<u32>,
    /// How tightly the child's tree is held.
    pub containment: Containment,
    /// Whether there is a journal in the folder.
    pub has_journal: bool,
    /// When it was started, in milliseconds since 1970.
    pub started_ms: u64,
    /// How far it has come.
    pub phase: SessionPhase,
    /// How the child ended, once it has.
    pub exit: Option<ExitNotice>,
    /// When the child ended, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
}

/// How far a session has come, as its folder has it. One that runs although nobody listens on its
/// socket was killed, and its tree with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPhase {
    /// The child runs.
    Running,
    /// The child has ended; the shim keeps the exit for whoever comes.
    Exited,
    /// The shim has ended, too: this is its tombstone.
    Buried,
}

/// What a child's birth gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    pub(super) epoch: Epoch,
    pub(super) pid: Option<u32>,
    pub(super) containment: Containment,
    pub(super) has_journal: bool,
    pub(super) started_ms: u64,
}

impl SessionInfo {
    pub(super) fn new(spec: &SessionSpec, birth: Birth) -> Self {
        Self {
            id: spec.id,
            name: spec.name.clone(),
            kind: spec.kind,
            stdio: if spec.is_on_terminal() {
                StdioKind::Pty
            } else {
                StdioKind::Pipes
            },
            program: spec.program.clone(),
            cwd: spec.cwd.clone(),
            labels: spec.labels.clone(),
            epoch: birth.epoch,
            shim_pid: std::process::id(),
            pid: birth.pid,
            containment: birth.containment,
            has_journal: birth.has_journal,
            started_ms: birth.started_ms,
            phase: SessionPhase::Running,
            exit: None,
            ended_ms: None,
        }
    }
}
