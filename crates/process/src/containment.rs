//! Containment levels of a session's processes, and the probe for the levels that this machine
//! permits.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use crate::sys;

/// Mechanism that finds all processes of a session. Each level includes those below it, and the
/// order is by strength: `Group < Subreaper < Cgroup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// Finds descendants by parentage, process group and session, and on Linux by the inherited
    /// variable [`MARKER`](crate::MARKER). A process that changes all of them at once is not found.
    Group,
    /// Finds descendants by parentage alone: orphans are reparented to the session's guard
    /// (`PR_SET_CHILD_SUBREAPER`, prctl(2)). Requires Linux and
    /// [`Configuration::guard`](crate::Configuration::guard).
    Subreaper,
    /// Finds and kills descendants by a control group that each of them is created in (cgroups(7),
    /// version 2). Requires Linux and permission to create groups below the host's own.
    Cgroup,
}

impl fmt::Display for Containment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Group => "group",
            Self::Subreaper => "subreaper",
            Self::Cgroup => "cgroup",
        })
    }
}

/// Result of [`probe`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainmentProbe {
    /// Strongest level available without a guard.
    pub level: Containment,
    /// Strongest level available with a guard.
    pub guarded: Containment,
    /// Reason why [`Containment::Cgroup`] is not available, as a lowercase fragment; `None` if it
    /// is available.
    pub lacking: Option<String>,
}

/// Returns the containment levels that this process can use. Creates and removes a control group.
pub fn probe() -> ContainmentProbe {
    let lacking = sys::Nest::make().err().map(|error| why(&error));
    let subreaper = if sys::ADOPTS_ORPHANS {
        Containment::Subreaper
    } else {
        Containment::Group
    };
    let (level, guarded) = match lacking {
        None => (Containment::Cgroup, Containment::Cgroup),
        Some(_) => (Containment::Group, subreaper),
    };
    ContainmentProbe {
        level,
        guarded,
        lacking,
    }
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        _ if !cfg!(target_os = "linux") => "control groups exist on Linux only".into(),
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported => "no cgroup v2 is mounted".into(),
        io::ErrorKind::PermissionDenied => "our cgroup is not delegated to this user".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the cgroups are mounted read-only".into(),
        _ => error.to_string(),
    }
}
