//! Terminals through portable-pty's traits: the interface between sessions and their terminals, and
//! an implementation of it.
//!
//! Differences from portable-pty's Unix back end: every descriptor is created close-on-exec; a
//! program that cannot be run or a missing working directory is an error (a
//! [`SpawnError`](crate::SpawnError) inside the `anyhow::Error`) rather than a child that fails;
//! dropping the writer writes nothing and never blocks; `kill` ends the child's process tree as
//! [`Containment::Group`](crate::Containment::Group) does; nothing is allocated between fork(2) and
//! execve(2).

mod child;
mod command;
mod context;
mod ends;
mod session;

use anyhow::Result;
use portable_pty::{CommandBuilder, PtyPair, PtySize, PtySystem, SlavePty};

use crate::configuration::{PtyMode, WindowSize};
use ends::Slave;
pub(crate) use session::{HeldSlave, SessionTerminal, SharedMaster, TerminalEnds};

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
        ends::open(size, self.mode, None)
    }
}

impl SlavePty for Slave {
    /// Spawns the command as portable-pty does, except that `CommandBuilder::umask` is ignored,
    /// since it cannot be read back.
    fn spawn_command(
        &self,
        command: CommandBuilder,
    ) -> Result<Box<dyn portable_pty::Child + Send + Sync>> {
        let child = match self.take_context() {
            Some(context) => context.start(&command, self.streams()?)?,
            None => child::Child::start(&command::configuration(&command), self.streams()?)?,
        };
        Ok(Box::new(child))
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
