//! How tightly a session's processes are held, and what this machine can do about it.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use crate::sys;

/// How tightly a session's processes are held. Each level also does what those below it do. The
/// order is that of strength: `Group < Subreaper < Cgroup`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Containment {
    /// By evidence: parentage, process group, session, and on Linux the variable
    /// [`MARKER`](crate::MARKER) that every descendant inherits. A process that sheds all of it at
    /// once is out of reach.
    Group,
    /// By a guard process of the session, which every orphan of the tree falls to
    /// (`PR_SET_CHILD_SUBREAPER`, prctl(2)): parentage alone finds everyone. Linux, with
    /// [`Configuration::guard`](crate::Configuration::guard).
    Subreaper,
    /// By the kernel: a control group (cgroups(7), version 2) that every descendant is born into,
    /// and that is killed as one. Linux, where our own group may have children.
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

/// What [`probe`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainmentProbe {
    /// The strongest level that a session gets without a guard.
    pub level: Containment,
    /// The strongest level that a session gets with one.
    pub guarded: Containment,
    /// Why it is not [`Containment::Cgroup`], as a lowercase fragment; `None` if it is.
    pub lacking: Option<String>,
}

/// Tries out which levels of containment this process can give its sessions. Leaves nothing behind.
pub fn probe() -> ContainmentProbe {
    let lacking = sys::Nest::make().err().map(|error| why(&error));
    let subreaper = if cfg!(target_os = "linux") {
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
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported => "no cgroup v2 is mounted".into(),
        io::ErrorKind::PermissionDenied => "our cgroup is not delegated to this user".into(),
        io::ErrorKind::ReadOnlyFilesystem => "the cgroups are mounted read-only".into(),
        _ => error.to_string(),
    }
}
