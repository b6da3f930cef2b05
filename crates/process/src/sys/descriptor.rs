//! Descriptors: made close-on-exec from birth, non-blocking on our side, watched by the runtime.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use bytes::BytesMut;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use tokio::io::unix::AsyncFd;

/// The size asked for the output's pipe: 1 MiB, the most that Linux grants without privilege
/// (pipe(7), `pipe-max-size`). The agent that exits with unread output leaves what fits in here.
pub(crate) const PIPE_BYTES: usize = 1 << 20;

/// A pipe that no other child can inherit. Returns (read end, write end).
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(not(target_vendor = "apple"))]
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    #[cfg(target_vendor = "apple")]
    let (read, write) = rustix::pipe::pipe()?;
    fcntl_setfd(&read, FdFlags::CLOEXEC)?;
    fcntl_setfd(&write, FdFlags::CLOEXEC)?;
    Ok((read, write))
}

/// Makes a descriptor non-blocking and has the runtime watch it.
pub(crate) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    ioctl_fionbio(&descriptor, true)?;
    register(descriptor)
}

/// Has the runtime watch a descriptor that needs no mode.
#[expect(unsafe_code, reason = "AsyncFd asks its caller for I/O safety")]
pub(super) fn register(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is valid until dropped, always answers the same number, and is not
    // replaced or closed while the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}

/// What one read(2) did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    /// Bytes that came; none at the end.
    pub(crate) bytes: usize,
    /// Fewer bytes came than there was place for: a pipe has no more now.
    pub(crate) is_short: bool,
}

/// One read(2) of at most `most` bytes to the end of `buffer`. Grows the buffer only when less
/// than a quarter of `most` is left in it, so small reads share one allocation.
#[expect(unsafe_code, reason = "reading into spare capacity saves zeroing it")]
pub(crate) fn read_into(
    descriptor: impl AsFd,
    buffer: &mut BytesMut,
    most: usize,
) -> io::Result<Filled> {
    if buffer.capacity() - buffer.len() < most.div_ceil(4) {
        buffer.reserve(most);
    }
    let spare = buffer.spare_capacity_mut();
    let most = most.min(spare.len());
    let (filled, _) = rustix::io::read(descriptor, &mut spare[..most])?;
    let filled = filled.len();
    // SAFETY: rustix says that the first `filled` bytes of the spare capacity are initialised.
    unsafe { buffer.set_len(buffer.len() + filled) };
    Ok(Filled {
        bytes: filled,
        is_short: filled < most,
    })
}

/// Whether a read would find bytes or an end now. Never waits.
pub(crate) fn readable(descriptor: impl AsFd) -> bool {
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
