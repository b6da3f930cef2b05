//! The descriptors between us and the child, opened before it exists.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::Wire;
use crate::configuration::{PtyMode, Stdio, WindowSize};
use crate::error::SpawnError;
use crate::sys;

/// Our ends.
pub(super) struct Wires {
    /// Absent if the child has nothing to read.
    pub(super) input: Option<Wire>,
    pub(super) output: Wire,
    /// Absent on a terminal.
    pub(super) errors: Option<Wire>,
    /// The terminal, which is the input and the output too.
    pub(super) console: Option<Wire>,
    /// The child's side of the terminal, where it must stay open until all is read.
    pub(super) peer: Option<OwnedFd>,
}

/// The child's ends. Dropped in this process as soon as the child has them, or no stream would ever
/// end.
pub(crate) struct Theirs {
    /// stdin, stdout and stderr.
    pub(crate) stdio: [OwnedFd; 3],
    /// One beside them.
    pub(crate) extra: Option<OwnedFd>,
}

impl From<[OwnedFd; 3]> for Theirs {
    fn from(stdio: [OwnedFd; 3]) -> Self {
        Self { stdio, extra: None }
    }
}

pub(super) fn open(stdio: Stdio) -> Result<(Wires, Theirs), SpawnError> {
    match stdio {
        Stdio::Pipes => pipes().map_err(|error| SpawnError::io("open the session's pipes", error)),
        Stdio::Pty { size, mode } => pty(size, mode).map_err(SpawnError::terminal),
    }
}

fn pipes() -> io::Result<(Wires, Theirs)> {
    let (stdin, input) = sys::pipe()?;
    let (output, stdout) = sys::pipe()?;
    let (errors, stderr) = sys::pipe()?;
    sys::grow_pipe(&stdout, sys::PIPE_BYTES);
    let wires = Wires {
        input: Some(Arc::new(sys::watch(input)?)),
        output: Arc::new(sys::watch(output)?),
        errors: Some(Arc::new(sys::watch(errors)?)),
        console: None,
        peer: None,
    };
    Ok((wires, [stdin, stdout, stderr].into()))
}

/// One pipe, for an answer; all else comes from nowhere and goes there.
pub(super) fn answering(on_stdout: bool) -> Result<(Wires, Theirs), SpawnError> {
    let open = || -> io::Result<_> {
        let null = || -> io::Result<OwnedFd> {
            let null = File::options().read(true).write(true).open("/dev/null")?;
            Ok(null.into())
        };
        let (output, answer) = sys::pipe()?;
        let wires = Wires {
            input: None,
            output: Arc::new(sys::watch(output)?),
            errors: None,
            console: None,
            peer: None,
        };
        let (stdout, extra) = match on_stdout {
            true => (answer, None),
            false => (null()?, Some(answer)),
        };
        let stdio = [null()?, stdout, null()?];
        Ok((wires, Theirs { stdio, extra }))
    };
    open().map_err(|error| SpawnError::io("open the pipe of an answer", error))
}

fn pty(size: WindowSize, mode: PtyMode) -> io::Result<(Wires, Theirs)> {
    let (ours, theirs) = sys::open_pty(size, mode)?;
    let console = Arc::new(sys::watch(ours)?);
    let wires = Wires {
        input: Some(Arc::clone(&console)),
        output: Arc::clone(&console),
        errors: None,
        console: Some(console),
        peer: if sys::KEEPS_OUTPUT {
            None
        } else {
            Some(theirs.try_clone()?)
        },
    };
    Ok((
        wires,
        [theirs.try_clone()?, theirs.try_clone()?, theirs].into(),
    ))
}
