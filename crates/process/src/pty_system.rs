//! The same terminals behind the traits of portable-pty, for hosts that speak its vocabulary.
//!
//! What differs from its own Unix back end: every descriptor is close-on-exec from birth; a program
//! that cannot be run is an error (a [`SpawnError`](crate::SpawnError) inside the `anyhow::Error`)
//! and not a child; a working directory that is missing is one too; dropping the writer types
//! nothing and never blocks; `kill` ends the child's tree by the evidence of
//! [`Containment::Group`](crate::Containment::Group); nothing is allocated between fork and exec.

mod child;
mod command;
mod ends;

use anyhow::{Context as _, Result};
use portable_pty::{CommandBuilder, PtyPair, PtySize, PtySystem, SlavePty};

use crate::configuration::{PtyMode, WindowSize};
use crate::error::SpawnError;
use crate::sys;
use ends::{Master, Slave};

/// The terminals of this system: a [`HardenedPtySystem`] on Unix, portable-pty's ConPTY on Windows.
pub fn pty_system() -> Box<dyn PtySystem + Send> {
    #[cfg(unix)]
    return Box::new(HardenedPtySystem::default());
    #[cfg(not(unix))]
    return portable_pty::native_pty_system();
}

/// Makes terminals as [`Stdio::Pty`](crate::Stdio::Pty) sessions have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HardenedPtySystem {
    /// What the line discipline does to the bytes, set before a child exists.
    pub mode: PtyMode,
}

impl Default for HardenedPtySystem {
    /// Cooked, as a login has it.
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
    /// As portable-pty has it, but for `CommandBuilder::umask`, which cannot be read back and is
    /// left as the host's.
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
