//! An implementation of portable-pty's traits on top of this crate's terminals.
//!
//! Differences from portable-pty's Unix back end: every descriptor is created close-on-exec; a
//! program that cannot be run or a missing working directory is an error (a
//! [`SpawnError`](crate::SpawnError) inside the `anyhow::Error`) rather than a child that fails;
//! dropping the writer writes nothing and never blocks; `kill` ends the child's process tree as
//! [`Containment::Group`](crate::Containment::Group) does; nothing is allocated between fork(2) and
//! execve(2).

mod child;
mod command;
mod ends;

use anyhow::{Context as _, Result};
use portable_pty::{CommandBuilder, PtyPair, PtySize, PtySystem, SlavePty};

use crate::configuration::{PtyMode, WindowSize};
use crate::error::SpawnError;
use crate::sys;
use ends::{Master, Slave};

/// Returns the PTY system of this platform: a [`HardenedPtySystem`] on Unix, portable-pty's ConPTY
/// on Windows.
pub fn pty_system() -> Box<dyn PtySystem + Send> {
    #[cfg(unix)]
    return Box::new(HardenedPtySystem::default());
    #[cfg(not(unix))]
    return portable_pty::native_pty_system();
}

/// Opens terminals with the same settings as [`Stdio::Pty`](crate::Stdio::Pty).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardenedPtySystem {
    /// Mode of the line discipline, set before the child starts.
    pub mode: PtyMode,
}

impl Default for HardenedPtySystem {
    /// Returns a system with [`PtyMode::Cooked`].
    fn default() -> Self {
        Self {
            mode: PtyMode::Cooked,
        }
    }
}

impl PtySystem for HardenedPtySystem {
    fn openpty(&self, size: PtySize) -> Result<PtyPair> {
        let opened = sys::open_pty(size.into(), self.mode);
        let (ours, theirs) = opened.map_err(SpawnError::terminal)?;
        Ok(PtyPair {
            slave: Box::new(Slave::new(theirs)),
            master: Box::new(Master::new(ours)),
        })
    }
}

impl SlavePty for Slave {
    /// Spawns the command as portable-pty does, except that `CommandBuilder::umask` is ignored,
    /// since it cannot be read back.
    fn spawn_command(
        &self,
        command: CommandBuilder,
    ) -> Result<Box<dyn portable_pty::Child + Send + Sync>> {
        let configuration = command::configuration(&command);
        let child = child::Child::start(&configuration, self.streams()?);
        Ok(Box::new(child.context("failed to start the program")?))
    }
}

impl From<PtySize> for WindowSize {
    fn from(size: PtySize) -> Self {
        Self {
            rows: size.rows,
            cols: size.cols,
            width: size.pixel_width,
            height: size.pixel_height,
        }
    }
}

impl From<WindowSize> for PtySize {
    fn from(size: WindowSize) -> Self {
        Self {
            rows: size.rows,
            cols: size.cols,
            pixel_width: size.width,
            pixel_height: size.height,
        }
    }
}
