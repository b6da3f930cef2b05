//! Terminals: opened and configured before the child is started.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};

use portable_pty::MasterPty;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr, tcsetwinsize,
};

use super::platform;
use crate::configuration::{PtyMode, WindowSize};
use crate::terminal_state::TerminalState;

/// Longest line, without its terminator, that a terminal in canonical mode delivers completely.
/// Measured: Linux silently truncates a longer line to 4,095 bytes (termios(3)); macOS keeps 1,024
/// including the terminator.
const LINE_LIMIT: usize = if cfg!(target_os = "linux") {
    4095
} else {
    1023
};

/// Lowest number of a duplicate: the numbers of the standard streams stay free for them.
const FIRST_NUMBER: RawFd = 3;

/// Returns (master side, slave side) of a new terminal, both close-on-exec.
pub(crate) fn open_pty(size: WindowSize, mode: PtyMode) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | platform::OPENPT_CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = platform::open_peer(&ours)?;
    set_mode(&theirs, mode)?;
    resize(&theirs, size)?;
    Ok((ours, theirs))
}

/// Returns a duplicate of the descriptor of a master side.
#[expect(unsafe_code, reason = "the trait returns a number")]
pub(crate) fn duplicate_master(master: &dyn MasterPty) -> io::Result<OwnedFd> {
    let number = master.as_raw_fd().ok_or(io::ErrorKind::Unsupported)?;
    // SAFETY: the descriptor is open while the master exists, which outlives this call.
    let master = unsafe { BorrowedFd::borrow_raw(number) };
    Ok(fcntl_dupfd_cloexec(master, FIRST_NUMBER)?)
}

/// Returns the terminal's size.
pub(crate) fn window_size(terminal: impl AsFd) -> io::Result<WindowSize> {
    let size = tcgetwinsize(terminal)?;
    Ok(WindowSize {
        rows: size.ws_row,
        cols: size.ws_col,
        width: size.ws_xpixel,
        height: size.ws_ypixel,
    })
}

/// Sets the terminal's size; the kernel sends SIGWINCH to the foreground group if it differs.
pub(crate) fn resize(terminal: impl AsFd, size: WindowSize) -> io::Result<()> {
    let size = size.clamped();
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.cols,
        ws_xpixel: size.width,
        ws_ypixel: size.height,
    };
    Ok(tcsetwinsize(terminal, size)?)
}

/// Returns the longest line that can be typed now; `None` if the terminal is not in canonical mode.
pub(crate) fn line_limit(terminal: impl AsFd) -> Option<usize> {
    let modes = tcgetattr(terminal).ok()?;
    modes
        .local_modes
        .contains(LocalModes::ICANON)
        .then_some(LINE_LIMIT)
}

/// Returns the terminal's state, queried through the master side.
pub(crate) fn terminal_state(ours: &OwnedFd) -> TerminalState {
    let foreground = tcgetpgrp(ours).ok();
    TerminalState {
        line_limit: line_limit(ours),
        foreground: foreground.map(|group| group.as_raw_nonzero().get().cast_unsigned()),
        unread: platform::unread(ours),
    }
}

/// Sets the mode of the line discipline, through either side.
pub(crate) fn set_mode(terminal: &OwnedFd, mode: PtyMode) -> io::Result<()> {
    let mut modes = tcgetattr(terminal)?;
    match mode {
        PtyMode::Raw => modes.make_raw(),
        PtyMode::Cooked => {
            modes
                .input_modes
                .remove(InputModes::IXON | InputModes::IXOFF);
            #[cfg(any(target_os = "linux", target_vendor = "apple"))]
            modes.input_modes.insert(InputModes::IUTF8);
        }
    }
    Ok(tcsetattr(terminal, OptionalActions::Now, &modes)?)
}
