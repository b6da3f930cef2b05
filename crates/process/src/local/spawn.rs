//! From a configuration to a living child.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::Pid;

use super::guardian::Guard;
use super::hold::{self, Hold};
use super::tree::{self, MARKER};
use super::wires::Theirs;
use crate::configuration::{Configuration, Stdio};
use crate::error::SpawnError;
use crate::guard::{Order, Program};
use crate::program;
use crate::session_id::SessionId;
use crate::sys::{self, Image, Launched, Place, Refusal, Step};

/// What a terminal is called when the host has no name for it: the one that every system's terminal
/// database has and that all of today's terminals follow.
const DEFAULT_TERM: &str = "xterm-256color";

/// A child that was born.
pub(crate) struct Born {
    pub(crate) child: Launched,
    pub(crate) hold: Hold,
}

pub(crate) fn spawn(
    id: SessionId,
    what: &Configuration,
    theirs: Theirs,
) -> Result<Born, SpawnError> {
    let directory = what
        .cwd
        .as_deref()
        .map(program::open_directory)
        .transpose()?;
    let program = resolve(id, what)?;
    let tty = matches!(what.stdio, Stdio::Pty { .. });
    let place = place(theirs, directory, tty);
    match hold::choose(id, what)? {
        Some(hold) => by_ourselves(program, place, hold),
        None => by_guard(what, program, place),
    }
}

fn place(theirs: Theirs, cwd: Option<OwnedFd>, tty: bool) -> Place {
    Place {
        stdio: theirs.stdio,
        extra: theirs.extra,
        cwd,
        tty,
        dies_with_us: false,
        oom_score: sys::score_of_child(),
    }
}

/// The file to run, and what it is told.
fn resolve(id: SessionId, what: &Configuration) -> Result<Program, SpawnError> {
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

fn by_ourselves(program: Program, place: Place, hold: Hold) -> Result<Born, SpawnError> {
    let args = program.args.iter().map(AsRef::as_ref);
    let image = Image::new(&program.path, args, &program.env).map_err(|_| SpawnError::NulByte)?;
    let group = hold.group().map(sys::Group::directory).transpose();
    let group =
        group.map_err(|error| SpawnError::io("enter the session's control group", error))?;
    let group = group.as_ref().map(AsFd::as_fd);
    let child =
        sys::launch(&image, place, group).map_err(|refusal| explain(refusal, program.path))?;
    Ok(Born { child, hold })
}

/// The guard is given the child's streams and directory, and hands them on.
fn by_guard(what: &Configuration, program: Program, place: Place) -> Result<Born, SpawnError> {
    let path = program.path.clone();
    let tty = place.tty;
    let guard = what.guard.as_deref().unwrap_or_else(|| "".as_ref());
    let place = Place {
        tty: false,
        // The guard has to stay, and gives it to the child itself.
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
    let (guard, child) = Guard::start(guard, place, &Order::Keep { program, tty })?;
    let pid = child.map_err(|refusal| explain(refusal, path))?;
    let pid = Pid::from_raw(pid).ok_or_else(|| odd(io::ErrorKind::InvalidData.into()))?;
    let watched = guard.link().watched().map_err(odd)?;
    // The guard speaks when the child has ended, so its link tells as the child itself would.
    let child = Launched {
        pid,
        descriptor: Some(watched),
    };
    let hold = Hold::Guard(Arc::new(guard));
    Ok(Born { child, hold })
}

fn odd(error: io::Error) -> SpawnError {
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

/// The file was there and executable a moment ago: what remains is about its contents (execve(2)).
fn explain_exec(error: io::Error, path: PathBuf) -> SpawnError {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => SpawnError::MissingInterpreter { path },
        Some(libc::ENOEXEC | libc::EINVAL) => SpawnError::BadFormat { path },
        Some(libc::EACCES | libc::EPERM | libc::EISDIR) => SpawnError::NotExecutable { path },
        Some(libc::ETXTBSY) => SpawnError::Busy { path },
        Some(libc::ELOOP) => SpawnError::TooManyLinks { path },
        Some(libc::ENAMETOOLONG) => SpawnError::NameTooLong { path },
        _ => SpawnError::io("start the program", error),
    }
}
