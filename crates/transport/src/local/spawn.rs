//! From a configuration to a living child.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;

use rustix::process::Pid;

use super::tree::{self, MARKER};
use super::wires::Theirs;
use crate::configuration::{Configuration, Stdio};
use crate::error::SpawnError;
use crate::session::SessionId;
use crate::{program, sys};

/// What a terminal is called when the host has no name for it: the one that every system's terminal
/// database has and that all of today's terminals follow.
const DEFAULT_TERM: &str = "xterm-256color";

pub(super) fn spawn(
    id: SessionId,
    what: &Configuration,
    [stdin, stdout, stderr]: Theirs,
) -> Result<Pid, SpawnError> {
    let tty = matches!(what.stdio, Stdio::Pty { .. });
    let mut variables = what.env.resolve();
    if tty {
        variables
            .entry("TERM".into())
            .or_insert_with(|| DEFAULT_TERM.into());
    }
    let outer = variables.remove(OsStr::new(MARKER));
    variables.insert(MARKER.into(), tree::marker(outer, id));

    let directory = what
        .cwd
        .as_deref()
        .map(program::open_directory)
        .transpose()?;
    let search = variables.get(OsStr::new("PATH"));
    let path = program::find(&what.program, search, what.cwd.as_deref())?;
    let mut command = Command::new(&path);
    command
        .arg0(&what.program)
        .args(&what.args)
        .env_clear()
        .envs(variables);
    command.stdin(stdin).stdout(stdout).stderr(stderr);
    sys::spawn(command, directory, tty).map_err(|error| explain(error, path))
}

/// The file was there and executable a moment ago: what remains is about its contents.
fn explain(error: io::Error, path: PathBuf) -> SpawnError {
    if error.kind() == io::ErrorKind::InvalidInput && error.raw_os_error().is_none() {
        return SpawnError::NulByte;
    }
    match error.raw_os_error() {
        Some(libc::ENOENT) => SpawnError::MissingInterpreter { path },
        Some(libc::ENOEXEC) => SpawnError::BadFormat { path },
        Some(libc::EACCES | libc::EPERM | libc::EISDIR) => SpawnError::NotExecutable { path },
        _ => SpawnError::io("start the program", error),
    }
}
