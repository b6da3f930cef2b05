//! The lower bound: a blocking read(2) into one buffer.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::child::own;

/// The buffer size of a session's reader.
pub(super) const BUFFER_BYTES: usize = 64 * 1024;

/// Reads to the end of a pipe or PTY.
pub(super) fn drain(from: &mut impl Read) -> io::Result<usize> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut all = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(all),
            Ok(count) => all += count,
            Err(error) if error.raw_os_error() == Some(EIO) => return Ok(all),
            Err(error) => return Err(error),
        }
    }
}

/// Error of a read from a PTY whose other side is closed (tty_ioctl(4)).
const EIO: i32 = 5;

pub(super) fn pipe(mode: &str, argument: &str) -> Result<(Child, File)> {
    let mut command = Command::new(own()?);
    command
        .args([mode, argument])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().context("stdout is a pipe")?;
    #[cfg(target_os = "linux")]
    rustix::pipe::fcntl_setpipe_size(&stdout, 1 << 20)?;
    Ok((child, OwnedFd::from(stdout).into()))
}

/// Starts a child on a PTY in raw mode.
pub(super) fn pty(mode: &str, argument: &str) -> Result<(Child, File)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    fcntl_setfd(&ours, FdFlags::CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = open(&*ptsname(&ours, Vec::new())?, flags, Mode::empty())?;
    let mut modes = tcgetattr(theirs.as_fd())?;
    modes.make_raw();
    tcsetattr(theirs.as_fd(), OptionalActions::Now, &modes)?;
    let mut command = Command::new(own()?);
    command.args([mode, argument]);
    command
        .stdin(theirs.try_clone()?)
        .stdout(theirs)
        .stderr(Stdio::null());
    let child = command.spawn()?;
    Ok((child, ours.into()))
}
