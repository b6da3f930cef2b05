//! The descriptors that connect a child with its parent, opened before the child is started.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use tokio::io::unix::AsyncFd;

use crate::child::ChildFds;
use crate::error::SpawnError;
use crate::pty_system::{HeldSlave, SharedMaster, TerminalEnds};
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
    /// `None` on pipes.
    pub(super) terminal: Option<Terminal>,
}

/// The parent's part of a terminal.
pub(super) struct Terminal {
    /// The master's descriptor, which is also input and output.
    pub(super) console: SharedFd,
    pub(super) master: Arc<SharedMaster>,
    pub(super) slave: HeldSlave,
}

pub(super) fn pipes() -> Result<(ParentFds, ChildFds), SpawnError> {
    open_pipes().map_err(|error| SpawnError::io("open the session's pipes", error))
}

fn open_pipes() -> io::Result<(ParentFds, ChildFds)> {
    let (stdin, input) = sys::pipe()?;
    let (output, stdout) = sys::pipe()?;
    let (errors, stderr) = sys::pipe()?;
    sys::grow_pipe(&stdout, sys::PIPE_BYTES);
    let parent_fds = ParentFds {
        input: Some(Arc::new(sys::watch(input)?)),
        output: Arc::new(sys::watch(output)?),
        errors: Some(Arc::new(sys::watch(errors)?)),
        terminal: None,
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
            terminal: None,
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

/// Registers the descriptor of a terminal's master side.
pub(super) fn console(master: OwnedFd) -> Result<SharedFd, SpawnError> {
    let console = sys::watch(master).map_err(SpawnError::terminal)?;
    Ok(Arc::new(console))
}

/// Returns the parent's ends of a session's terminal.
pub(super) fn terminal(console: SharedFd, ends: TerminalEnds) -> ParentFds {
    ParentFds {
        input: Some(Arc::clone(&console)),
        output: Arc::clone(&console),
        errors: None,
        terminal: Some(Terminal {
            console,
            master: Arc::new(ends.master),
            slave: ends.slave,
        }),
    }
}
