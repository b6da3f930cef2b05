//! The master and the slave side of a terminal.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};
use parking_lot::Mutex;
use portable_pty::{MasterPty, PtyPair, PtySize};
use rustix::pty::ptsname;
use rustix::termios::tcgetpgrp;

use super::context::Context;
use crate::configuration::PtyMode;
use crate::error::SpawnError;
use crate::sys;

/// Opens a terminal. The context is that of the session that the terminal belongs to.
pub(super) fn open(size: PtySize, mode: PtyMode, context: Option<Context>) -> Result<PtyPair> {
    let opened = sys::open_pty(size.into(), mode);
    let (console, theirs) = opened.map_err(SpawnError::terminal)?;
    let is_writer_taken = AtomicBool::new(false);
    Ok(PtyPair {
        slave: Box::new(Slave {
            theirs,
            context: Mutex::new(context),
        }),
        master: Box::new(Master {
            console,
            is_writer_taken,
        }),
    })
}

pub(super) struct Slave {
    theirs: OwnedFd,
    /// Taken by the session's child, since the slave side is held for as long as that child lives.
    context: Mutex<Option<Context>>,
}

impl Slave {
    pub(super) fn take_context(&self) -> Option<Context> {
        self.context.lock().take()
    }

    /// Returns the child's three standard streams.
    pub(super) fn streams(&self) -> io::Result<[OwnedFd; 3]> {
        Ok([
            self.theirs.try_clone()?,
            self.theirs.try_clone()?,
            self.theirs.try_clone()?,
        ])
    }
}

#[derive(Debug)]
struct Master {
    console: OwnedFd,
    is_writer_taken: AtomicBool,
}

impl MasterPty for Master {
    fn resize(&self, size: PtySize) -> Result<()> {
        Ok(sys::resize(&self.console, size.into())?)
    }

    fn get_size(&self) -> Result<PtySize> {
        Ok(sys::window_size(&self.console)?.into())
    }

    fn try_clone_reader(&self) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(Reader(self.console.try_clone()?.into())))
    }

    fn take_writer(&self) -> Result<Box<dyn Write + Send>> {
        if self.is_writer_taken.swap(true, Ordering::Relaxed) {
            bail!("the writer was taken before, keep the first one");
        }
        // A plain file: dropping it closes the descriptor and writes nothing.
        Ok(Box::new(File::from(self.console.try_clone()?)))
    }

    fn process_group_leader(&self) -> Option<libc::pid_t> {
        let group = tcgetpgrp(&self.console).ok()?;
        Some(group.as_raw_nonzero().get())
    }

    fn as_raw_fd(&self) -> Option<RawFd> {
        Some(self.console.as_raw_fd())
    }

    fn tty_name(&self) -> Option<PathBuf> {
        let name = ptsname(&self.console, Vec::new()).ok()?;
        Some(std::ffi::OsStr::from_bytes(name.as_bytes()).into())
    }
}

/// Reads to the end of the output, which is EIO on Linux (pty(7)) and 0 elsewhere.
struct Reader(File);

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into) {
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(0),
            read => read,
        }
    }
}
