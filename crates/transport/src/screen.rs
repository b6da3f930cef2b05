//! A rendered terminal screen.

use bowline_process::WindowSize;
use bytes::Bytes;

/// A terminal screen as the bytes that draw it, whatever the state of the receiving terminal.
///
/// A runner sends one in place of output that it no longer has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Output offset at which the stream continues after this screen.
    pub offset: u64,
    /// Window size that the screen was rendered for.
    pub size: WindowSize,
    /// The bytes to write to a terminal.
    pub bytes: Bytes,
}
