//! Containment of a session's processes: acquired before the child is started, released after its
//! last descendant has ended.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::guardian::{self, Guard};
use crate::configuration::Configuration;
use crate::containment::Containment;
use crate::error::SpawnError;
use crate::guard::Order;
use crate::session_id::SessionId;
use crate::sys;

/// Mechanism that contains a process tree.
#[derive(Debug)]
pub(crate) enum ContainmentHandle {
    /// Parentage, process group, session and marker only.
    Scan,
    /// A guard that is the parent of the child.
    Guard(Arc<Guard>),
    /// A control group.
    Group(CgroupHandle),
}

/// A control group below the parent group of this process. Fields drop in order: the group is
/// removed before its parent.
#[derive(Debug)]
pub(crate) struct CgroupHandle {
    pub(crate) group: sys::Group,
    _parent: Arc<CgroupParent>,
}

impl ContainmentHandle {
    pub(crate) fn level(&self) -> Containment {
        match self {
            Self::Scan => Containment::Group,
            Self::Guard(_) => Containment::Subreaper,
            Self::Group(_) => Containment::Cgroup,
        }
    }

    pub(crate) fn group(&self) -> Option<&sys::Group> {
        match self {
            Self::Group(handle) => Some(&handle.group),
            _ => None,
        }
    }

    pub(crate) fn guard(&self) -> Option<&Arc<Guard>> {
        match self {
            Self::Guard(guard) => Some(guard),
            _ => None,
        }
    }
}

/// Returns the strongest containment that needs no guard per session; `None` if the session uses
/// its own guard.
pub(crate) fn choose(
    id: SessionId,
    what: &Configuration,
) -> Result<Option<ContainmentHandle>, SpawnError> {
    let most = what.containment.unwrap_or(Containment::Cgroup);
    if most == Containment::Cgroup {
        match cgroup_parent() {
            Ok(parent) => return Ok(Some(enter(id, parent, what.guard.as_deref())?)),
            // Out of resources: control groups exist, but none can be created at present.
            Err(error) if is_full(&error) => {
                return Err(SpawnError::io("create a control group", error));
            }
            Err(error) => tracing::debug!(%error, "control groups are unavailable"),
        }
    }
    let has_own_guard = cfg!(target_os = "linux") && what.guard.is_some();
    Ok((most == Containment::Group || !has_own_guard).then_some(ContainmentHandle::Scan))
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN)
    )
}

fn enter(
    id: SessionId,
    parent: Arc<CgroupParent>,
    guard: Option<&Path>,
) -> Result<ContainmentHandle, SpawnError> {
    if let Some(guard) = guard {
        parent.ensure_guard(guard)?;
    }
    let group = sys::Group::make(&parent.nest, &id.to_string())
        .map_err(|error| SpawnError::io("create a control group", error))?;
    Ok(ContainmentHandle::Group(CgroupHandle {
        group,
        _parent: parent,
    }))
}

/// The parent directory of the control groups of all sessions of this process, and its guard.
/// Created with the first session and removed with the last. Fields drop in order: the guard stops
/// first.
#[derive(Debug)]
struct CgroupParent {
    guard: Mutex<Option<Guard>>,
    nest: sys::Nest,
    /// Pid of the creator. A forked copy of this process inherits the static and must not use it.
    owner: u32,
}

static CGROUP_PARENT: Mutex<Weak<CgroupParent>> = Mutex::new(Weak::new());

fn cgroup_parent() -> io::Result<Arc<CgroupParent>> {
    let mut shared = CGROUP_PARENT.lock().unwrap_or_else(PoisonError::into_inner);
    let owner = std::process::id();
    if let Some(parent) = shared.upgrade().filter(|parent| parent.owner == owner) {
        return Ok(parent);
    }
    let parent = Arc::new(CgroupParent {
        guard: Mutex::new(None),
        nest: sys::Nest::make()?,
        owner,
    });
    *shared = Arc::downgrade(&parent);
    Ok(parent)
}

impl CgroupParent {
    /// Starts a guard if none is running. The guard is ready before a child is started.
    fn ensure_guard(&self, program: &Path) -> Result<(), SpawnError> {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.as_ref().is_some_and(Guard::is_alive) {
            return Ok(());
        }
        let order = Order::Watch {
            nest: self.nest.path().into(),
        };
        let place =
            guardian::null_place().map_err(|error| SpawnError::io("start a guard", error))?;
        let (started, _) = Guard::start(program, place, &order)?;
        *guard = Some(started);
        Ok(())
    }
}
