//! Descriptors: created close-on-exec, non-blocking on the parent's side, registered with the
//! runtime.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use bytes::BytesMut;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use tokio::io::unix::AsyncFd;

/// Requested capacity of the output pipe: 1 MiB, the maximum for an unprivileged process on Linux
/// (pipe(7), `pipe-max-size`). Output that fits is kept when the agent exits before it was read.
pub(crate) const PIPE_BYTES: usize = 1 << 20;

/// Returns (read end, write end) of a pipe that other children do not inherit.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    #[cfg(not(target_vendor = "apple"))]
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    #[cfg(target_vendor = "apple")]
    let (read, write) = rustix::pipe::pipe()?;
    fcntl_setfd(&read, FdFlags::CLOEXEC)?;
    fcntl_setfd(&write, FdFlags::CLOEXEC)?;
    Ok((read, write))
}

/// Makes a descriptor non-blocking and registers it with the runtime.
pub(crate) fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    ioctl_fionbio(&descriptor, true)?;
    register(descriptor)
}

/// Registers a descriptor with the runtime without changing its mode.
#[expect(unsafe_code, reason = "AsyncFd asks its caller for I/O safety")]
fn register(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is valid until dropped, always returns the same number, and is not
    // replaced or closed while the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}

/// A descriptor that becomes readable when a process ends.
#[derive(Debug)]
pub(crate) enum ExitDescriptor {
    /// Of the process itself.
    Process(OwnedFd),
    /// The link to the guard, which reports the end. Shared, since a duplicate would cost each session one
    /// more descriptor.
    Link(Arc<UnixStream>),
}

impl AsRawFd for ExitDescriptor {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Process(descriptor) => descriptor.as_raw_fd(),
            Self::Link(link) => link.as_raw_fd(),
        }
    }
}

/// Registers the descriptor of a process's end with the runtime without changing its mode.
#[expect(unsafe_code, reason = "AsyncFd asks its caller for I/O safety")]
pub(super) fn register_exit(descriptor: ExitDescriptor) -> io::Result<AsyncFd<ExitDescriptor>> {
    // SAFETY: both kinds own their descriptor, alone or with others, so that it is valid until they are
    // dropped. They always return the same number, and neither is replaced while the `AsyncFd` owns it.
    Ok(unsafe { AsyncFd::register(descriptor) }?)
}

/// Result of one read(2).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filled {
    /// Number of bytes read; 0 at the end.
    pub(crate) bytes: usize,
    /// Whether fewer bytes were read than requested: a pipe is empty now.
    pub(crate) is_short: bool,
}

/// Appends at most `most` bytes to `buffer` with one read(2). Grows the buffer only when less than
/// a quarter of `most` is spare, so that small reads share an allocation.
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
    // SAFETY: rustix guarantees that the first `filled` bytes of the spare capacity are
    // initialised.
    unsafe { buffer.set_len(buffer.len() + filled) };
    Ok(Filled {
        bytes: filled,
        is_short: filled < most,
    })
}

/// Returns whether a read would return bytes or the end now. Does not block.
pub(crate) fn readable(descriptor: impl AsFd) -> bool {
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}
