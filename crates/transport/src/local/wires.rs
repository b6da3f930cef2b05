//! The descriptors between us and the child, opened before it exists.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::Wire;
use crate::configuration::{PtyMode, Stdio, WindowSize};
use crate::error::SpawnError;
use crate::sys;

/// Our ends.
pub(super) struct Wires {
    pub(super) input: Wire,
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
        input: Arc::new(sys::watch(input)?),
        output: Arc::new(sys::watch(output)?),
        errors: Some(Arc::new(sys::watch(errors)?)),
        console: None,
        peer: None,
    };
    Ok((wires, [stdin, stdout, stderr].into()))
}

fn pty(size: WindowSize, mode: PtyMode) -> io::Result<(Wires, Theirs)> {
    let (ours, theirs) = sys::open_pty(size, mode)?;
    let console = Arc::new(sys::watch(ours)?);
    let wires = Wires {
        input: Arc::clone(&console),
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
