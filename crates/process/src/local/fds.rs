//! The descriptors that connect a child with its parent, opened before the child is started.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::unix::AsyncFd;

use crate::child::ChildFds;
use crate::configuration::{PtyMode, Stdio, WindowSize};
use crate::error::SpawnError;
use crate::sys;

/// A descriptor registered with the runtime. Shared by the tasks that use it; closed when the last
/// reference is dropped.
pub(super) type SharedFd = Arc<AsyncFd<OwnedFd>>;

/// The parent's ends.
pub(super) struct ParentFds {
    /// `None` if the child has no input.
    pub(super) input: Option<SharedFd>,
    pub(super) output: SharedFd,
    /// `None` on a terminal.
    pub(super) errors: Option<SharedFd>,
    /// The master side of the terminal, which is also input and output.
    pub(super) console: Option<SharedFd>,
    /// The slave side of the terminal, on systems where it must stay open until all output is read.
    pub(super) peer: Option<OwnedFd>,
}

pub(super) fn open(stdio: Stdio) -> Result<(ParentFds, ChildFds), SpawnError> {
    match stdio {
        Stdio::Pipes => pipes().map_err(|error| SpawnError::io("open the session's pipes", error)),
        Stdio::Pty { size, mode } => pty(size, mode).map_err(SpawnError::terminal),
    }
}

fn pipes() -> io::Result<(ParentFds, ChildFds)> {
    let (stdin, input) = sys::pipe()?;
    let (output, stdout) = sys::pipe()?;
    let (errors, stderr) = sys::pipe()?;
    sys::grow_pipe(&stdout, sys::PIPE_BYTES);
    let parent_fds = ParentFds {
        input: Some(Arc::new(sys::watch(input)?)),
        output: Arc::new(sys::watch(output)?),
        errors: Some(Arc::new(sys::watch(errors)?)),
        console: None,
        peer: None,
    };
    Ok((parent_fds, [stdin, stdout, stderr].into()))
}

/// Opens a single pipe for the answer of a child; its other streams are `/dev/null`.
pub(super) fn answering(on_stdout: bool) -> Result<(ParentFds, ChildFds), SpawnError> {
    let open = || -> io::Result<_> {
        let null = || -> io::Result<OwnedFd> {
            let null = File::options().read(true).write(true).open("/dev/null")?;
            Ok(null.into())
        };
        let (output, answer) = sys::pipe()?;
        let parent_fds = ParentFds {
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
        Ok((parent_fds, ChildFds { stdio, extra }))
    };
    open().map_err(|error| SpawnError::io("open the pipe of an answer", error))
}

fn pty(size: WindowSize, mode: PtyMode) -> io::Result<(ParentFds, ChildFds)> {
    let (ours, theirs) = sys::open_pty(size, mode)?;
    let console = Arc::new(sys::watch(ours)?);
    let parent_fds = ParentFds {
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
        parent_fds,
        [theirs.try_clone()?, theirs.try_clone()?, theirs].into(),
    ))
}
