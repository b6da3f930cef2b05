//! A file system of its own that loses what was not synced, as at a power failure.

use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::ioctl::{Setter, ioctl, opcode};

/// Size of the file system; its image is sparse.
const BYTES: u64 = 1 << 30;

/// `EXT4_IOC_SHUTDOWN` of linux/fs/ext4.
const SHUTDOWN: rustix::ioctl::Opcode = opcode::read::<u32>(b'X', 125);

/// Everything that is not on the disk yet is lost, the file system's own log too (`EXT4_GOING_FLAGS_NOLOGFLUSH`).
const NO_FLUSH: u32 = 2;

/// An ext4 file system in a file, mounted. Needs root and loop devices.
#[derive(Debug)]
pub(super) struct LoopDisk {
    image: PathBuf,
    at: PathBuf,
}

impl LoopDisk {
    /// Creates and mounts a file system in a folder.
    ///
    /// # Errors
    ///
    /// The system does not permit it.
    pub(super) fn new(folder: &Path, name: &str) -> Result<Self, String> {
        let disk = Self {
            image: folder.join(format!("{name}.img")),
            at: folder.join(format!("{name}.disk")),
        };
        let image = File::create(&disk.image).and_then(|it| it.set_len(BYTES));
        image.map_err(|error| error.to_string())?;
        fs::create_dir(&disk.at).map_err(|error| error.to_string())?;
        command(Command::new("mkfs.ext4").arg("-qF").arg(&disk.image))?;
        disk.mount()?;
        Ok(disk)
    }

    /// The folder where it is mounted.
    pub(super) fn path(&self) -> &Path {
        &self.at
    }

    /// Opens it for [`cut`].
    pub(super) fn open(&self) -> io::Result<OwnedFd> {
        File::open(&self.at).map(OwnedFd::from)
    }

    /// Mounts it, which repairs it.
    pub(super) fn mount(&self) -> Result<(), String> {
        let mut mount = Command::new("mount");
        command(mount.args(["-o", "loop"]).arg(&self.image).arg(&self.at))?;
        // A mount namespace that was made meanwhile holds the file system as it was.
        let probe = File::create(self.at.join("probe"));
        probe.map(drop).map_err(|error| {
            format!("{error} after a mount; repeat it in a mount namespace of its own (unshare -m)")
        })
    }

    /// Unmounts it. No process may use it.
    pub(super) fn unmount(&self) -> Result<(), String> {
        command(Command::new("umount").arg(&self.at))
    }
}

impl Drop for LoopDisk {
    fn drop(&mut self) {
        // A server that is exiting may still have a file open there.
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
    }
}

/// Cuts the power of a disk: every later access fails, and what was not synced is gone after the next mount.
#[expect(unsafe_code, reason = "the ioctl has no safe form")]
pub(super) fn cut(disk: &OwnedFd) -> io::Result<()> {
    // SAFETY: the kernel reads one u32 through the pointer, which `Setter` keeps valid during the call.
    let cut = unsafe { ioctl(disk, Setter::<SHUTDOWN, u32>::new(NO_FLUSH)) };
    cut.map_err(Into::into)
}

fn command(command: &mut Command) -> Result<(), String> {
    let done = command.output().map_err(|error| error.to_string())?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}
