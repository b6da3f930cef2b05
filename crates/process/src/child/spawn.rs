//! Starts a child from its configuration.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::Pid;

use super::containment_handle::{self, CgroupHandle, ContainmentHandle};
use super::guardian::Guard;
use super::tree;
use crate::configuration::{Configuration, Stdio};
use crate::environment;
use crate::error::SpawnError;
use crate::guard::{Order, Program};
use crate::program;
use crate::session_id::SessionId;
use crate::sys::{self, ExitDescriptor, Image, Launched, MARKER, Place, Refusal, Step};

/// Default of `TERM`: present in every system's terminal database and compatible with current
/// terminals.
const DEFAULT_TERM: &str = "xterm-256color";

/// The child's ends. Closed in this process once the child has them; otherwise no stream would end.
pub(crate) struct ChildFds {
    /// stdin, stdout and stderr.
    pub(crate) stdio: [OwnedFd; 3],
    /// An additional descriptor.
    pub(crate) extra: Option<OwnedFd>,
}

impl From<[OwnedFd; 3]> for ChildFds {
    fn from(stdio: [OwnedFd; 3]) -> Self {
        Self { stdio, extra: None }
    }
}

/// A started child and its containment.
pub(crate) struct Spawned {
    pub(crate) child: Launched,
    pub(crate) handle: ContainmentHandle,
}

/// Starts the program with the working directory and the containment of `what`.
pub(crate) fn spawn(
    id: SessionId,
    what: &Configuration,
    program: Program,
    child_fds: ChildFds,
) -> Result<Spawned, SpawnError> {
    let directory = open_directory(what)?;
    let tty = matches!(what.stdio, Stdio::Pty { .. });
    let place = place(child_fds, directory, tty);
    let cgroup = containment_handle::cgroup_of(id, what)?;
    match containment_handle::guard_of(what) {
        Some(guard) => spawn_by_guard(guard, program, place, cgroup),
        None => spawn_directly(program, place, cgroup),
    }
}

fn place(child_fds: ChildFds, cwd: Option<OwnedFd>, tty: bool) -> Place {
    Place {
        stdio: child_fds.stdio,
        extra: child_fds.extra,
        cwd,
        tty,
        dies_with_us: false,
        oom_score: sys::score_of_child(),
    }
}

fn open_directory(what: &Configuration) -> Result<Option<OwnedFd>, SpawnError> {
    what.cwd.as_deref().map(program::open_directory).transpose()
}

/// Checks the working directory, and resolves the program's path, arguments and environment.
pub(crate) fn resolve(id: SessionId, what: &Configuration) -> Result<Program, SpawnError> {
    open_directory(what)?;
    let mut env = what.env.resolve();
    if matches!(what.stdio, Stdio::Pty { .. }) {
        env.entry("TERM".into())
            .or_insert_with(|| DEFAULT_TERM.into());
    }
    let outer = env.remove(OsStr::new(MARKER));
    env.insert(MARKER.into(), tree::marker(outer, id));
    let search = env.get(OsStr::new("PATH"));
    let path = program::find(&what.program, search, what.cwd.as_deref())?;
    let name = what.arg0.as_ref().unwrap_or(&what.program);
    let args = [name].into_iter().chain(&what.args).cloned().collect();
    Ok(Program { path, args, env })
}

fn spawn_directly(
    program: Program,
    place: Place,
    cgroup: Option<CgroupHandle>,
) -> Result<Spawned, SpawnError> {
    let handle = ContainmentHandle {
        guard: None,
        cgroup,
    };
    let args = program.args.iter().map(AsRef::as_ref);
    let image = Image::new(&program.path, args, &program.env).map_err(|_| SpawnError::NulByte)?;
    let group = handle.group().map(sys::Group::directory).transpose();
    let group =
        group.map_err(|error| SpawnError::io("enter the session's control group", error))?;
    let group = group.as_ref().map(AsFd::as_fd);
    let child =
        sys::launch(&image, place, group).map_err(|refusal| explain(refusal, program.path))?;
    Ok(Spawned { child, handle })
}

/// Starts the child through a guard, which receives the child's streams and working directory and
/// passes them on.
fn spawn_by_guard(
    guard: &Path,
    program: Program,
    place: Place,
    cgroup: Option<CgroupHandle>,
) -> Result<Spawned, SpawnError> {
    let path = program.path.clone();
    let tty = place.tty;
    let place = Place {
        tty: false,
        // The guard itself must not be killed early; it applies the score to the child.
        oom_score: None,
        ..place
    };
    let has_nul = |text: &OsStr| text.as_encoded_bytes().contains(&0);
    let variables = program.env.iter().flat_map(|(name, value)| [name, value]);
    if program
        .args
        .iter()
        .chain(variables)
        .any(|text| has_nul(text))
    {
        return Err(SpawnError::NulByte);
    }
    let mut handle = ContainmentHandle {
        guard: None,
        cgroup,
    };
    let order = Order {
        program,
        tty,
        group: handle.group().map(|group| group.path().into()),
    };
    let (guard, child) = Guard::start(guard, place, &order)?;
    let pid = child.map_err(|refusal| explain(refusal, path))?;
    let pid = Pid::from_raw(pid).ok_or_else(|| watch_failed(io::ErrorKind::InvalidData.into()))?;
    // The guard writes to its link when the child ends, so the link serves as the exit descriptor.
    let child = Launched {
        pid,
        descriptor: Some(ExitDescriptor::Link(guard.link().share())),
    };
    handle.guard = Some(Arc::new(guard));
    Ok(Spawned { child, handle })
}

fn watch_failed(error: io::Error) -> SpawnError {
    SpawnError::io("watch a guard", error)
}

fn explain(Refusal { step, error }: Refusal, path: PathBuf) -> SpawnError {
    match step {
        Step::Prepare => SpawnError::io("prepare a process", error),
        Step::Fork => SpawnError::io("start a process", error),
        Step::Group => SpawnError::io("enter the session's control group", error),
        Step::Session => SpawnError::io("give the process its session and streams", error),
        Step::Directory => SpawnError::io("enter the working directory", error),
        Step::Exec => explain_exec(error, path),
    }
}

/// The file existed and was executable when checked, so the error concerns its contents
/// (execve(2)).
pub(crate) fn explain_exec(error: io::Error, path: PathBuf) -> SpawnError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => SpawnError::MissingInterpreter { path },
        Some(libc::ENOEXEC) => SpawnError::BadFormat { path },
        Some(code) if sys::BAD_PROGRAM.contains(&code) => SpawnError::BadFormat { path },
        Some(errno @ (libc::EACCES | libc::EPERM | libc::EISDIR)) => {
            SpawnError::denied(path, errno, environment::is_sandboxed())
        }
        Some(libc::ETXTBSY) => SpawnError::Busy { path },
        Some(libc::ELOOP) => SpawnError::TooManyLinks { path },
        Some(libc::ENAMETOOLONG) => SpawnError::NameTooLong { path },
        _ => SpawnError::io("start the program", error),
    }
}
