//! The terminal of a session. It is opened, resized and passed to the child through portable-pty's
//! traits, whichever back end implements them.
//!
//! Three things bypass the traits, which have no place for them. Reads and writes use a non-blocking
//! duplicate of the master's descriptor. The child's end is awaited by pidfd and reaped by
//! waitid(2), which returns the number of a signal. The child of a hardened terminal is downcast
//! for its containment.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use anyhow::Result;
use parking_lot::Mutex;
use portable_pty::{
    CommandBuilder, MasterPty, PtyPair, PtySize, PtySystem, SlavePty, native_pty_system,
};
use rustix::process::Pid;

use super::child::Child;
use super::context::Context;
use super::{command, ends};
use crate::child::{ContainmentHandle, Spawned, explain_exec};
use crate::configuration::{Configuration, PtyBackend, PtyMode, WindowSize};
use crate::error::SpawnError;
use crate::guard::Program;
use crate::session_id::SessionId;
use crate::sys::{self, Launched};

/// Opens hardened terminals whose children belong to a session.
struct SessionPtySystem {
    mode: PtyMode,
    context: Context,
}

impl PtySystem for SessionPtySystem {
    fn openpty(&self, size: PtySize) -> Result<PtyPair> {
        ends::open(size, self.mode, Some(self.context.clone()))
    }
}

/// A terminal whose child has not been started.
pub(crate) struct SessionTerminal {
    pair: PtyPair,
    command: CommandBuilder,
}

impl SessionTerminal {
    /// Opens a terminal with the configured back end. Returns it with a duplicate of the master's
    /// descriptor, for reads and writes.
    pub(crate) fn open(
        id: SessionId,
        what: &Configuration,
        program: &Program,
        (size, mode): (WindowSize, PtyMode),
    ) -> Result<(Self, OwnedFd), SpawnError> {
        let system: Box<dyn PtySystem> = match what.pty_backend {
            PtyBackend::Hardened => Box::new(SessionPtySystem {
                mode,
                context: Context::new(id, what, program),
            }),
            PtyBackend::Native => native_pty_system(),
        };
        let opened = system.openpty(size.clamped().into());
        let pair = opened.map_err(|error| typed(error, SpawnError::terminal))?;
        let console = sys::duplicate_master(&*pair.master).map_err(SpawnError::terminal)?;
        let mut cwd = what.cwd.clone();
        if what.pty_backend == PtyBackend::Native {
            sys::set_mode(&console, mode).map_err(SpawnError::terminal)?;
            // Without a directory, portable-pty's own back end uses the user's home.
            cwd = cwd.or_else(|| std::env::current_dir().ok());
        }
        let command = command::builder(program, cwd.as_deref());
        Ok((Self { pair, command }, console))
    }

    /// Starts the child, and returns it with the parent's part of the terminal.
    pub(crate) fn spawn(self) -> Result<(Spawned, TerminalEnds), SpawnError> {
        let path = self.command.get_argv().first().map(PathBuf::from);
        let started = self.pair.slave.spawn_command(self.command);
        let child: Box<dyn portable_pty::Child> = started
            .map_err(|error| typed(error, |error| explain_exec(error, path.unwrap_or_default())))?;
        let spawned = match child.downcast::<Child>() {
            Ok(child) => child.into_spawned(),
            Err(child) => child.process_id().and_then(of_native),
        };
        let ends = TerminalEnds {
            master: SharedMaster(Mutex::new(self.pair.master)),
            slave: HeldSlave {
                _slave: self.pair.slave,
            },
        };
        let unknown = || SpawnError::io("start the program", io::ErrorKind::InvalidData);
        Ok((spawned.ok_or_else(unknown)?, ends))
    }
}

/// Returns a child of portable-pty's own back end. This process is its parent, so it can be awaited
/// and reaped by pid.
fn of_native(pid: u32) -> Option<Spawned> {
    let child = Launched {
        pid: Pid::from_raw(pid.cast_signed())?,
        descriptor: None,
    };
    let handle = ContainmentHandle::default();
    Some(Spawned { child, handle })
}

/// Returns the typed error inside an error of a back end. portable-pty's own has the error of the
/// system, or only a text.
fn typed(error: anyhow::Error, of_system: impl FnOnce(io::Error) -> SpawnError) -> SpawnError {
    match error.downcast::<SpawnError>() {
        Ok(error) => error,
        Err(error) => of_system(system_error(error)),
    }
}

fn system_error(error: anyhow::Error) -> io::Error {
    error
        .downcast::<io::Error>()
        .unwrap_or_else(io::Error::other)
}

/// The parent's part of a terminal.
#[derive(Debug)]
pub(crate) struct TerminalEnds {
    pub(crate) master: SharedMaster,
    pub(crate) slave: HeldSlave,
}

/// The master side of a terminal.
pub(crate) struct SharedMaster(Mutex<Box<dyn MasterPty + Send>>);

impl SharedMaster {
    pub(crate) fn resize(&self, size: WindowSize) -> io::Result<()> {
        let master = self.0.lock();
        master.resize(size.clamped().into()).map_err(system_error)
    }
}

impl fmt::Debug for SharedMaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedMaster").finish_non_exhaustive()
    }
}

/// The slave side, held open: until it is dropped, the terminal neither hangs up nor, on macOS,
/// discards output.
pub(crate) struct HeldSlave {
    _slave: Box<dyn SlavePty + Send>,
}

impl fmt::Debug for HeldSlave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldSlave").finish_non_exhaustive()
    }
}
