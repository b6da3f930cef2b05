//! Terminals: opened, sized and set before the child exists.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::pty::{OpenptFlags, grantpt, openpt, unlockpt};
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, Winsize, tcgetattr, tcgetpgrp, tcgetwinsize,
    tcsetattr, tcsetwinsize,
};

use super::platform;
use crate::configuration::{PtyMode, WindowSize};
use crate::tty::Tty;

/// The longest line, without its end, that a terminal in canonical mode hands over whole. Measured:
/// Linux keeps 4,095 bytes of a longer one and says nothing; macOS keeps 1,024 with the end.
const LINE_LIMIT: usize = if cfg!(target_os = "linux") {
    4095
} else {
    1023
};

/// Returns (our side, the child's side), both close-on-exec.
pub(crate) fn open_pty(size: WindowSize, mode: PtyMode) -> io::Result<(OwnedFd, OwnedFd)> {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | platform::OPENPT_CLOEXEC)?;
    grantpt(&ours)?;
    unlockpt(&ours)?;
    let theirs = platform::open_peer(&ours)?;
    set_mode(&theirs, mode)?;
    resize(&theirs, size)?;
    Ok((ours, theirs))
}

/// The terminal's size.
pub(crate) fn window_size(terminal: impl AsFd) -> io::Result<WindowSize> {
    let size = tcgetwinsize(terminal)?;
    Ok(WindowSize {
        rows: size.ws_row,
        cols: size.ws_col,
        width: size.ws_xpixel,
        height: size.ws_ypixel,
    })
}

/// Sets the size; the kernel tells the foreground group if it differs.
pub(crate) fn resize(terminal: impl AsFd, size: WindowSize) -> io::Result<()> {
    let size = Winsize {
        ws_row: size.rows,
        ws_col: size.cols,
        ws_xpixel: size.width,
        ws_ypixel: size.height,
    };
    Ok(tcsetwinsize(terminal, size)?)
}

/// The longest line that can be typed now; `None` if the terminal does not collect lines.
pub(crate) fn line_limit(terminal: impl AsFd) -> Option<usize> {
    let modes = tcgetattr(terminal).ok()?;
    modes
        .local_modes
        .contains(LocalModes::ICANON)
        .then_some(LINE_LIMIT)
}

/// What the terminal is doing now, seen from our side of it.
pub(crate) fn tty(ours: &OwnedFd) -> Tty {
    let foreground = tcgetpgrp(ours).ok();
    Tty {
        line_limit: line_limit(ours),
        foreground: foreground.map(|group| group.as_raw_nonzero().get().cast_unsigned()),
        unread: platform::unread(ours),
    }
}

fn set_mode(terminal: &OwnedFd, mode: PtyMode) -> io::Result<()> {
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
