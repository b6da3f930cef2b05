//! Containment of a session's processes: acquired before the child is started, released after its
//! last descendant has ended.

use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::guardian::Guard;
use crate::configuration::Configuration;
use crate::containment::Containment;
use crate::error::SpawnError;
use crate::session_id::SessionId;
use crate::sys;

/// What contains a process tree besides parentage, process group, session and marker. Fields drop
/// in order: the guard exits before its group is removed.
#[derive(Debug, Default)]
pub(crate) struct ContainmentHandle {
    /// The parent of the child and of its orphans.
    pub(crate) guard: Option<Arc<Guard>>,
    /// The control group of the child.
    pub(crate) cgroup: Option<CgroupHandle>,
}

/// A control group below the parent group of this process. Fields drop in order: the group is
/// removed before its parent.
#[derive(Debug)]
pub(crate) struct CgroupHandle {
    group: sys::Group,
    _parent: Arc<CgroupParent>,
}

impl ContainmentHandle {
    pub(crate) fn level(&self) -> Containment {
        match (&self.cgroup, &self.guard) {
            (Some(_), _) => Containment::Cgroup,
            (None, Some(_)) if sys::ADOPTS_ORPHANS => Containment::Subreaper,
            (None, _) => Containment::Group,
        }
    }

    pub(crate) fn group(&self) -> Option<&sys::Group> {
        self.cgroup.as_ref().map(|handle| &handle.group)
    }

    pub(crate) fn guard(&self) -> Option<&Arc<Guard>> {
        self.guard.as_ref()
    }
}

/// Returns the program of the session's guard, if it has one.
pub(crate) fn guard_of(what: &Configuration) -> Option<&Path> {
    let is_allowed = what.containment != Some(Containment::Group);
    let guard = what.guard.as_deref();
    guard.filter(|_| is_allowed)
}

/// Creates the session's control group; returns `None` where there are none.
pub(crate) fn cgroup_of(
    id: SessionId,
    what: &Configuration,
) -> Result<Option<CgroupHandle>, SpawnError> {
    if !matches!(what.containment, None | Some(Containment::Cgroup)) {
        return Ok(None);
    }
    match cgroup_parent() {
        Ok(parent) => Ok(Some(enter(id, parent)?)),
        // Out of resources: control groups exist, but none can be created at present.
        Err(error) if is_full(&error) => Err(SpawnError::io("create a control group", error)),
        Err(error) => {
            tracing::debug!(%error, "control groups are unavailable");
            Ok(None)
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN)
    )
}

fn enter(id: SessionId, parent: Arc<CgroupParent>) -> Result<CgroupHandle, SpawnError> {
    let group = sys::Group::make(&parent.nest, &id.to_string())
        .map_err(|error| SpawnError::io("create a control group", error))?;
    Ok(CgroupHandle {
        group,
        _parent: parent,
    })
}

/// The parent directory of the control groups of all sessions of this process. Created with the
/// first session and removed with the last.
#[derive(Debug)]
struct CgroupParent {
    nest: sys::Nest,
    /// Pid of the creator. A forked copy of this process inherits the static and must not use it.
    owner: u32,
}

static CGROUP_PARENT: Mutex<Weak<CgroupParent>> = Mutex::new(Weak::new());

fn cgroup_parent() -> io::Result<Arc<CgroupParent>> {
    let mut shared = CGROUP_PARENT.lock();
    let owner = std::process::id();
    if let Some(parent) = shared.upgrade().filter(|parent| parent.owner == owner) {
        return Ok(parent);
    }
    let parent = Arc::new(CgroupParent {
        nest: sys::Nest::make()?,
        owner,
    });
    *shared = Arc::downgrade(&parent);
    Ok(parent)
}
