//! What a session's processes are held by: chosen before the child exists, let go after the last of
//! them is gone.

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

/// What holds the tree.
#[derive(Debug)]
pub(crate) enum Hold {
    /// Nothing but evidence.
    Evidence,
    /// A guard that the child is a child of.
    Guard(Arc<Guard>),
    /// A control group.
    Group(GroupHold),
}

/// A group in the shelter of this process. The group goes first.
#[derive(Debug)]
pub(crate) struct GroupHold {
    pub(super) group: sys::Group,
    _shelter: Arc<Shelter>,
}

impl Hold {
    pub(super) fn level(&self) -> Containment {
        match self {
            Self::Evidence => Containment::Group,
            Self::Guard(_) => Containment::Subreaper,
            Self::Group(_) => Containment::Cgroup,
        }
    }

    pub(super) fn group(&self) -> Option<&sys::Group> {
        match self {
            Self::Group(hold) => Some(&hold.group),
            _ => None,
        }
    }

    pub(super) fn guard(&self) -> Option<&Arc<Guard>> {
        match self {
            Self::Guard(guard) => Some(guard),
            _ => None,
        }
    }
}

/// The strongest hold for a session that needs no guard of its own; `None` if it is to have one.
pub(super) fn choose(id: SessionId, what: &Configuration) -> Result<Option<Hold>, SpawnError> {
    let most = what.containment.unwrap_or(Containment::Cgroup);
    if most == Containment::Cgroup {
        match shelter() {
            Ok(shelter) => return Ok(Some(enter(id, shelter, what.guard.as_deref())?)),
            // That there is no place now does not mean that there is no such hold.
            Err(error) if is_full(&error) => return Err(SpawnError::io("make a nest", error)),
            Err(error) => tracing::debug!(%error, "no control group for a session"),
        }
    }
    let has_own = cfg!(target_os = "linux") && what.guard.is_some();
    Ok((most == Containment::Group || !has_own).then_some(Hold::Evidence))
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM | libc::EAGAIN)
    )
}

fn enter(id: SessionId, shelter: Arc<Shelter>, guard: Option<&Path>) -> Result<Hold, SpawnError> {
    if let Some(guard) = guard {
        shelter.see_guarded(guard)?;
    }
    let group = sys::Group::make(&shelter.nest, &id.to_string())
        .map_err(|error| SpawnError::io("make a control group", error))?;
    Ok(Hold::Group(GroupHold {
        group,
        _shelter: shelter,
    }))
}

/// The directory that holds the groups of all sessions of this process, and who watches over it.
/// Made with the first session, removed with the last. The guard goes first.
#[derive(Debug)]
struct Shelter {
    guard: Mutex<Option<Guard>>,
    nest: sys::Nest,
    /// A forked copy of this process finds the shelter of its parent here.
    owner: u32,
}

static SHELTER: Mutex<Weak<Shelter>> = Mutex::new(Weak::new());

fn shelter() -> io::Result<Arc<Shelter>> {
    let mut shared = SHELTER.lock().unwrap_or_else(PoisonError::into_inner);
    let owner = std::process::id();
    if let Some(shelter) = shared.upgrade().filter(|shelter| shelter.owner == owner) {
        return Ok(shelter);
    }
    let shelter = Arc::new(Shelter {
        guard: Mutex::new(None),
        nest: sys::Nest::make()?,
        owner,
    });
    *shared = Arc::downgrade(&shelter);
    Ok(shelter)
}

impl Shelter {
    /// Sees to it that a guard watches. It is ready before a child exists.
    fn see_guarded(&self, program: &Path) -> Result<(), SpawnError> {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.as_ref().is_some_and(Guard::is_alive) {
            return Ok(());
        }
        let order = Order::Watch {
            nest: self.nest.path().into(),
        };
        let place = guardian::nowhere().map_err(|error| SpawnError::io("start a guard", error))?;
        let (started, _) = Guard::start(program, place, &order)?;
        *guard = Some(started);
        Ok(())
    }
}
