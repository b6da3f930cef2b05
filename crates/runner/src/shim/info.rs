//! What the directory of a session records about it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bowline_transport::wire::{Epoch, ExitNotice, SessionKind, StdioKind};
use bowline_transport::{Containment, SessionId};
use serde::{Deserialize, Serialize};

use super::SessionSpec;

/// The record of a session (`info.json`), written by its shim at the start and at the end. It has
/// neither arguments nor variables, since they may contain secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// The session's id.
    pub id: SessionId,
    /// Its display name.
    pub name: Option<String>,
    /// Its kind.
    pub kind: SessionKind,
    /// The child's standard streams.
    pub stdio: StdioKind,
    /// The program that was started.
    pub program: String,
    /// The working directory; `None` is inherited.
    pub cwd: Option<PathBuf>,
    /// Labels set by the host, to find the session by.
    pub labels: BTreeMap<String, String>,
    /// The incarnation of the child.
    pub epoch: Epoch,
    /// Process id of the shim.
    pub shim_pid: u32,
    /// Process id of the child.
    pub pid: Option<u32>,
    /// How the child's process tree is contained.
    pub containment: Containment,
    /// Whether the directory has a journal.
    pub has_journal: bool,
    /// Time of the start, in milliseconds since 1970.
    pub started_ms: u64,
    /// Progress of the session.
    pub phase: SessionPhase,
    /// How the child ended, once it has.
    pub exit: Option<ExitNotice>,
    /// Time of the child's end, in milliseconds since 1970.
    pub ended_ms: Option<u64>,
}

/// Progress of a session, as recorded in its directory. A session that is recorded as running, but
/// whose socket refuses connections, was killed together with its process tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPhase {
    /// The child is running.
    Running,
    /// The child has ended; the shim retains its exit for clients.
    Exited,
    /// The shim has ended as well.
    #[serde(rename = "buried")]
    Closed,
}

/// Facts known once a child was started.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildStart {
    pub(super) epoch: Epoch,
    pub(super) pid: Option<u32>,
    pub(super) containment: Containment,
    pub(super) has_journal: bool,
    pub(super) started_ms: u64,
}

impl SessionInfo {
    /// Returns what is known of a session whose record is damaged.
    pub(crate) fn of_damaged(id: SessionId, has_journal: bool, started_ms: u64) -> Self {
        Self {
            id,
            name: None,
            kind: SessionKind::Terminal,
            stdio: StdioKind::Pty,
            program: String::new(),
            cwd: None,
            labels: BTreeMap::new(),
            epoch: Epoch(0),
            shim_pid: 0,
            pid: None,
            containment: Containment::Group,
            has_journal,
            started_ms,
            phase: SessionPhase::Running,
            exit: None,
            ended_ms: None,
        }
    }

    pub(super) fn new(spec: &SessionSpec, start: ChildStart) -> Self {
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
            epoch: start.epoch,
            shim_pid: std::process::id(),
            pid: start.pid,
            containment: start.containment,
            has_journal: start.has_journal,
            started_ms: start.started_ms,
            phase: SessionPhase::Running,
            exit: None,
            ended_ms: None,
        }
    }
}
